// SPDX-License-Identifier: MIT
// What is kept of a stream, and the error found in its lines.
#include "supervise/process/tail.hpp"

#include "supervise/process/leftovers.hpp"
#include "supervise/process/loop.hpp"
#include "support/catch.hpp"

#include <unistd.h>

using namespace triage;
using namespace triage::supervise;

TEST_CASE("the tail of a stream is its newest lines, whatever the pieces", "[supervise]") {
  Tail tail;
  std::string all;
  for (int i = 0; i < 40'000; ++i) {
    const std::string piece = std::to_string(i) + "\n";
    tail.add(piece);
    all += piece;
  }
  const std::size_t line = all.find('\n', all.size() - Tail::longest) + 1;
  CHECK(tail.text() == all.substr(line));
  CHECK(tail.seen() == all.size());
  std::string much(3 * Tail::longest, 'x');
  much += "end";
  tail.add(much);
  CHECK(tail.text().empty());  // Half a line, which cannot be interpreted.
}

TEST_CASE("of a single line whose beginning is lost the broken word is left out", "[supervise]") {
  Tail tail;
  tail.add("token=" + std::string(2 * Tail::longest, 'x') + "\tnot valid: HTTP 401");
  CHECK(tail.text() == "not valid: HTTP 401");
}

TEST_CASE("the newest JSON error counts, with its codes", "[supervise]") {
  const auto found = last_json_error(
      "{\"error\": \"old\"}\n"
      "{\"error\": {\"type\": \"overloaded_error\", \"message\": \"busy\", \"status\": 529}}\n"
      "{\"result\": 1}\nplain text {\n");
  REQUIRE(found);
  CHECK(found->text == "busy");
  CHECK(found->http_status == 529);
  CHECK(found->exception_type == "overloaded_error");
  CHECK(last_json_error("{\"type\": \"error\", \"message\": \"lost\"}")->text == "lost");
  CHECK(last_json_error("{\"error\": \"HTTP 503\", \"code\": \"503\"}")->http_status == 503);
  CHECK_FALSE(last_json_error("{\"error\": null}\n{broken\n[1]\n"));
  CHECK_FALSE(last_json_error(""));
}

TEST_CASE("a process is known again by its start and its boot", "[supervise]") {
  auto mark = mark_of(::getpid());
  REQUIRE(mark);
  mark.value().token = "01ARZ";
  const auto read = parse_mark(to_label(mark.value()));
  REQUIRE(read);
  CHECK(read->pid == ::getpid());
  CHECK(read->start == mark.value().start);
  CHECK(read->session == mark.value().session);
  CHECK(read->boot == mark.value().boot);
  CHECK(read->token == "01ARZ");
  for (const char* wrong :
       {"", "triage/process", "triage/process x", "triage/process 1 session 1 start 1 boot b",
        "planned", "triage/process 12 session 1 start x boot b"}) {
    CHECK_FALSE(parse_mark(wrong));
  }
}

TEST_CASE("a limit of centuries does not lie in the past", "[tail]") {
  using triage::supervise::later;
  const TimePoint now(std::chrono::hours(30));
  CHECK(later(now, Duration::max()) == TimePoint::max());
  CHECK(later(now, std::chrono::seconds(1)) == now + std::chrono::seconds(1));
}
