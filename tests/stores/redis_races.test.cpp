// SPDX-License-Identifier: MIT
// What another process does to a Redis store between two questions of this one.
#include "stores/lost_answers.hpp"
#include "stores/read_while_compacted.hpp"
#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/needs_server.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/stores/redis.hpp"

#include <chrono>
#include <string>
#include <string_view>

using namespace triage;
using namespace triage::test;

TEST_CASE("a run whose start dies is listed, whatever takes names off the list meanwhile",
          "[stores][redis][faults]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const bool expired = GENERATE(true, false);
  INFO((expired ? "listing forgets an expired run" : "a run of the same name is erased"));
  const auto other = RedisStore::open(server.url(), {.ttl = std::chrono::hours(1)}).value();
  REQUIRE_OK(other->release(other->start({.id = "run-1"}, {}).value()));
  // What its time to live does.
  if (expired) REQUIRE_OK(server.ask({"DEL", "triage:{run-1}", "triage:{run-1}:log"}));
  FaultProxy proxy(server.port());
  bool met = false;
  proxy.answer_with([&](std::string_view question) {
    // The script that makes the run: listed already, and about to exist.
    const bool starts = question.find("second-start") != question.npos;
    if (starts && !met) {
      met = expired ? other->runs({}).value().empty() : other->erase("run-1").has_value();
      proxy.cut_nth(1, FaultProxy::Cut::question, false);  // Nothing that it says afterwards.
    }
    return std::string();
  });
  const auto starter = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()),
                                        {.timeout = std::chrono::milliseconds(50)});
  REQUIRE_OK(starter);
  CHECK_ERRC(Errc::io, starter.value()->start({.id = "run-1", .agent = "second-start"}, {}));
  CHECK(met);
  REQUIRE_OK(other->run("run-1"));
  CHECK(other->runs({}).value().size() == 1);
}

TEST_CASE("a call to Redis whose outcome nobody knows leaves no run busy",
          "[stores][redis][faults]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto direct = RedisStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  const auto open = [&] {
    return RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()),
                            {.timeout = std::chrono::milliseconds(300)})
        .value();
  };
  strand_nothing(proxy, open, *direct);
  start_again(proxy, *open(), *direct);
}

TEST_CASE("the name of an erased run is forgotten at once, and of a start that failed later",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url()).value();
  const auto has_names = [&](const std::string& count) {
    const std::string script = "assert(redis.call('SCARD', KEYS[1]) == " + count + ")";
    return server.ask({"EVAL", script, "1", "triage:runs"}).has_value();
  };
  const auto erase = [&](const char* run) {
    REQUIRE_OK(store->release(store->acquire(run).value()));
    REQUIRE_OK(store->erase(run));
  };
  const std::string mark = "triage:{triage:runs}:starting:run-1";
  REQUIRE_OK(store->release(store->start({.id = "run-1"}, {}).value()));
  // It lives longer than a start may take.
  REQUIRE_OK(server.ask({"EVAL", "assert(redis.call('PTTL', KEYS[1]) > 60000)", "1", mark}));
  erase("run-1");
  CHECK(has_names("0"));
  REQUIRE_OK(store->release(store->start({.id = "run-1"}, {}).value()));
  CHECK_ERRC(Errc::conflict, store->start({.id = "run-1"}, {}));
  erase("run-1");  // The second start might still be on its way.
  CHECK(store->runs({}).value().empty());
  CHECK(has_names("1"));
  // What its time to live does.
  REQUIRE_OK(server.ask({"DEL", mark}));
  CHECK(store->runs({}).value().empty());
  CHECK(has_names("0"));
}

TEST_CASE("a run in Redis that is compacted between two pages of its reading is read whole",
          "[stores][redis][compaction]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto owner = RedisStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  BeforeNth questions;
  tell_questions(proxy, questions);
  const auto reader = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  REQUIRE_OK(reader);
  read_while_compacted(questions, "r", *owner, *reader.value(), 10);
}

TEST_CASE("a run in Redis that is replaced before each question is read in one page",
          "[stores][redis][compaction]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto owner = RedisStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  const auto reader = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  REQUIRE_OK(reader);
  const Lease lease = long_run(*owner, "r", 1);
  auto& compacts = dynamic_cast<CompactsRuns&>(*owner);
  Sequence seq = 400;  // What is left fits into a page.
  proxy.answer_with([&](std::string_view) {
    const std::vector<SequenceRange> ranges{{2, ++seq}};
    CHECK(compacts.replace(lease, ranges, page_of(seq, 1)));
    return std::string();
  });
  const auto reading = reader.value()->read("r", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().records.size() == 603 - seq);
}

TEST_CASE("a run in Redis stays whole if the server drops the records that would take its place",
          "[stores][redis][compaction]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const int dropped = GENERATE(2, 3);  // Before the second script that fills, or the exchange.
  const auto owner = RedisStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  int scripts = 0;
  proxy.answer_with([&](std::string_view question) {
    const bool fills = question.find("local function copy(") != question.npos;
    const bool exchanges = question.find("'RENAME'") != question.npos;
    // What a policy "volatile-…" does, or an hour without the owner.
    if ((fills || exchanges) && ++scripts == dropped) {
      CHECK(server.ask(
          {"EVAL", "assert(redis.call('DEL', KEYS[1]) == 1)", "1", "triage:{r}:log:new:1"}));
    }
    return std::string();
  });
  const auto through = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  REQUIRE_OK(through);
  const Lease lease = long_run(*through.value(), "r", 1);
  // More than one script takes.
  std::vector<Record> instead = page_of(2, std::size_t{5} << 20U);
  instead.push_back(page_of(3, 1).front());
  auto& compacts = dynamic_cast<CompactsRuns&>(*through.value());
  const auto replaced = compacts.replace(lease, std::vector<SequenceRange>{{2, 3}}, instead);
  CHECK_ERRC(Errc::io, replaced);
  CHECK(replaced.error().detail.find("dropped") != std::string::npos);
  CHECK(scripts == dropped);
  const auto reading = owner->read("r", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().records.size() == 601);
}

TEST_CASE("a run in Redis that is written to while it is read ends where its facts say",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto owner = RedisStore::open(server.url()).value();
  const Lease lease = long_run(*owner, "r", 1);
  FaultProxy proxy(server.port());
  bool met = false;
  proxy.answer_with([&](std::string_view question) {
    if (!met && question.find("257-0") != question.npos) {  // The second page.
      met = true;
      CHECK(owner->append(lease, page_of(602, 1), RunStatus::finished));
    }
    return std::string();
  });
  const auto reader = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  REQUIRE_OK(reader);
  const auto reading = reader.value()->read("r", {});
  REQUIRE_OK(reading);
  CHECK(met);
  CHECK(reading.value().records.back().seq() == reading.value().info.last);
}
