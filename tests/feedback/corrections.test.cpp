// SPDX-License-Identifier: MIT
// Labelled failures: from a run to a line of a file and back.
#include "triage/corrections.hpp"

#include "support/kit.hpp"
#include "support/program.hpp"
#include "support/result.hpp"

#include <csignal>
#include <fstream>
#include <thread>

#include <sys/resource.h>

using namespace triage;
using namespace triage::test;

namespace {

Correction correction(const std::string& text) {
  return {.failure = {.text = text,
                      .exception_type = "ToolError",
                      .http_status = 404,
                      .json_rpc_code = -32601,
                      .grpc_status = 5,
                      .headers = {{"X-Request", "7"}},
                      .causes = {{"std::runtime_error", "the outer one"}, {"ToolError", ""}}},
          .type = FailureType::wrong_tool_called,
          .given = FailureType::schema_mismatch,
          .reason = "tool_not_found",
          .origin = "crawler",
          .who = "ana",
          .run = "run-1",
          .when = WallTime(std::chrono::milliseconds(1'700'000'000'000))};
}

std::size_t lines_of(const std::string& path) {
  const std::string text = read_text(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a correction that was appended is read back as it was", "[corrections]") {
  const TempFolder folder;
  const Corrections file(folder.file("c.jsonl"));
  REQUIRE_OK(file.append(correction("no tool \"x\"\nin the list")));
  REQUIRE_OK(file.append(correction("caf\xE9")));  // Not UTF-8.
  const auto reading = file.read();
  REQUIRE_OK(reading);
  CHECK(reading.value().problems.empty());
  REQUIRE(reading.value().rows.size() == 2);
  CHECK(reading.value().rows[1].line == 2);
  CHECK(reading.value().rows[1].correction.failure.text == "caf\xEF\xBF\xBD");
  const Correction& one = reading.value().rows[0].correction;
  const Correction wanted = correction("no tool \"x\"\nin the list");
  CHECK(one.failure.text == wanted.failure.text);
  CHECK(one.failure.exception_type == wanted.failure.exception_type);
  CHECK(one.failure.http_status == wanted.failure.http_status);
  CHECK(one.failure.json_rpc_code == wanted.failure.json_rpc_code);
  CHECK(one.failure.grpc_status == wanted.failure.grpc_status);
  CHECK(one.failure.headers == wanted.failure.headers);
  REQUIRE(one.failure.causes.size() == 2);
  CHECK(one.failure.causes[0].exception_type == "std::runtime_error");
  CHECK(one.failure.causes[0].text == "the outer one");
  CHECK(one.failure.causes[1].exception_type == "ToolError");
  CHECK(one.type == wanted.type);
  CHECK(one.given == wanted.given);
  CHECK(one.reason == wanted.reason);
  CHECK(one.origin == wanted.origin);
  CHECK(one.who == wanted.who);
  CHECK(one.run == wanted.run);
  CHECK(one.when == wanted.when);
}

TEST_CASE("a row has the fields of the corpus", "[corrections]") {
  const TempFolder folder;
  REQUIRE_OK(Corrections(folder.file("c.jsonl")).append(correction("x")));
  const Json row = Json::parse(read_text(folder.file("c.jsonl")));
  CHECK(row["text"] == "x");
  CHECK(row["label"] == "wrong_tool_called");
  CHECK(row["kind"] == "correction");
  CHECK(row["codes"]["http_status"] == 404);
  CHECK(row["when"] == "2023-11-14T22:13:20Z");
}

TEST_CASE("what nothing can be learned from, or has no proper origin, is refused",
          "[corrections]") {
  const TempFolder folder;
  const Corrections file(folder.file("c.jsonl"));
  Correction silent = correction(" \n");
  silent.failure = {.text = " \n"};
  CHECK_ERRC(Errc::invalid_argument, file.append(silent));
  for (const std::string& origin :
       std::vector<std::string>{"", "Agent", "-a", "a b", std::string(65, 'a')}) {
    INFO(origin);
    Correction bad = correction("x");
    bad.origin = origin;
    CHECK_ERRC(Errc::invalid_argument, file.append(bad));
  }
  CHECK_FALSE(std::filesystem::exists(file.path()));
  CHECK_ERRC(Errc::not_found, file.read());
  CHECK_ERRC(Errc::not_found, Corrections("/nowhere/c.jsonl").append(correction("x")));
  CHECK_ERRC(Errc::io, Corrections("/dev/null").append(correction("x")));
}

TEST_CASE("a bad line is named, and the rest is not lost", "[corrections]") {
  const TempFolder folder;
  const std::string path = folder.file("c.jsonl");
  const std::string good = R"({"text": "x", "origin": "a", "label": "crashed"})";
  std::ofstream(path)
      << good << "\n{\n[]\n"
      << R"({"text": "x", "origin": "a"})"
      << "\n\n"
      << R"({"text": "x", "origin": "a", "label": "broken"})"
      << "\n"
      << R"({"text": 3, "origin": "a", "label": "crashed"})"
      << "\n"
      << R"({"text": "x", "origin": "A", "label": "crashed"})"
      << "\n"
      << R"({"text": "x", "origin": "a", "label": "crashed", "codes": {"http_status": "x"}})"
      << "\n"
      << R"({"text": "x", "origin": "a", "label": "crashed", "causes": {"text": "y"}})"
      << "\n"
      << R"({"text": "x", "origin": "a", "label": "crashed", "when": "9999-12-31T23:59:59Z"})"
      << "\n"
      << R"({"text": "x", "origin": "a", "label": "crashed", "codes": {"http_status": 18446744073709551615}})"
      << "\n"
      << std::string(100'000, '[') << "\n"
      << good;
  const auto reading = Corrections(path).read();
  REQUIRE_OK(reading);
  CHECK(reading.value().rows.size() == 3);  // An invalid time counts as not given.
  CHECK(reading.value().rows.back().line == 14);
  const auto& problems = reading.value().problems;
  REQUIRE(problems.size() == 10);
  CHECK_THAT(problems[0].detail, ContainsSubstring("line 2: is not valid JSON"));
  CHECK_THAT(problems[1].detail, ContainsSubstring("line 3: is not a JSON object"));
  CHECK_THAT(problems[2].detail, ContainsSubstring("line 4: has no label; allowed are wrong_tool"));
  CHECK_THAT(problems[3].detail, ContainsSubstring("line 6: label is \"broken\"; allowed are"));
  CHECK_THAT(problems[4].detail, ContainsSubstring("line 7: text is \"3\""));
  CHECK_THAT(problems[5].detail, ContainsSubstring("line 8: origin is \"A\"; allowed are"));
  CHECK_THAT(problems[6].detail, ContainsSubstring("line 9: codes.http_status"));
  CHECK_THAT(problems[7].detail, ContainsSubstring("line 10: causes is"));
  CHECK_THAT(problems[8].detail, ContainsSubstring("line 12: codes.http_status"));
  CHECK(problems[9].line == 13);
}

TEST_CASE("what a dying process left of a line stays a line of its own", "[corrections]") {
  const TempFolder folder;
  const Corrections file(folder.file("c.jsonl"));
  std::ofstream(file.path()) << R"({"text": "half)";
  REQUIRE_OK(file.append(correction("x")));
  const auto reading = file.read();
  REQUIRE_OK(reading);
  CHECK(reading.value().problems.size() == 1);
  CHECK(reading.value().rows.size() == 1);
}

TEST_CASE("a line that cannot be written in full is taken back", "[corrections]") {
  const TempFolder folder;
  const Corrections file(folder.file("c.jsonl"));
  REQUIRE_OK(file.append(correction("x")));
  const std::string before = read_text(file.path());
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limits{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limits) == 0);
  const rlimit tight{before.size() + 100, limits.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const auto appended = file.append(correction(std::string(1000, 'y')));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limits) == 0);
  std::signal(SIGXFSZ, ignored);
  CHECK_ERRC(Errc::io, appended);
  CHECK(read_text(file.path()) == before);
}

// A lock belongs to an open file, so threads that each open it compete like processes.
TEST_CASE("several may append at once, and no line is torn", "[corrections]") {
  const TempFolder folder;
  const std::string path = folder.file("c.jsonl");
  constexpr std::size_t writers = 4;
  constexpr std::size_t each = 25;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < writers; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t n = 0; n < each; ++n) {
        const std::string text(100 + 999 * n, static_cast<char>('a' + i));
        if (!Corrections(path).append(correction(text))) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto reading = Corrections(path).read();
  REQUIRE_OK(reading);
  CHECK(reading.value().problems.empty());
  CHECK(reading.value().rows.size() == writers * each);
  CHECK(lines_of(path) == writers * each);
}

TEST_CASE("a run's failures are found with their codes, the newest first", "[corrections]") {
  Kit kit;
  const TriageAgent agent{
      [](const std::string&, Attempt& attempt) -> Result<int> {
        if (attempt.number() == 1) {
          return attempt.fail({.text = "HTTP 503", .http_status = 503});
        }
        attempt.record_step({.action = "call", .error = "no such tool", .json_rpc_code = -32601});
        if (attempt.number() == 2) return attempt.fail({.text = "it broke"});
        return attempt.fail({});
      },
      answers({RecoveryAction::retry(), RecoveryAction::retry(), RecoveryAction::escalate()}),
      [&] {
        AgentOptions options = kit.options();
        options.name = "Web_Crawler:v2";
        return options;
      }()};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "run-1"}));
  const JournalReading reading = kit.store->read("run-1", {}).value();
  const auto first = correction_of(reading, 1);
  REQUIRE_OK(first);
  CHECK(first.value().failure.text == "HTTP 503");
  CHECK(first.value().failure.http_status == 503);
  CHECK(first.value().given == FailureType::external_fault);
  CHECK(first.value().origin == "web-crawler-v2");
  CHECK(first.value().run == "run-1");
  const auto second = correction_of(reading, 2);
  REQUIRE_OK(second);
  CHECK(second.value().failure.text == "it broke");
  CHECK(second.value().failure.json_rpc_code == -32601);
  const auto newest = correction_of(reading);
  REQUIRE_OK(newest);
  CHECK(newest.value().failure.text == "no such tool");
  CHECK(newest.value().given == FailureType::unknown);
  const auto none = correction_of(reading, 4);
  CHECK_ERRC(Errc::not_found, none);
  CHECK_THAT(none.error().detail, ContainsSubstring("no failure 4; allowed are 1 to 3"));
}

TEST_CASE("what caused a failure is in its correction, the innermost causes", "[corrections]") {
  Kit kit;
  const auto nested = [](auto&& self, int depth) -> int {
    try {
      if (depth == 0) throw std::runtime_error("no tool \"fetsh\"" + std::string(9'000, '.'));
      return self(self, depth - 1);
    } catch (...) {
      std::throw_with_nested(std::logic_error("level " + std::to_string(depth)));
    }
  };
  const TriageAgent agent{[&](const std::string&) { return nested(nested, 6); },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "run-1"}));
  const auto correction = correction_of(kit.store->read("run-1", {}).value());
  REQUIRE_OK(correction);
  const std::vector<Cause>& causes = correction.value().failure.causes;
  REQUIRE(causes.size() == 4);
  CHECK(causes[0].text == "level 2");
  CHECK(causes[3].text.starts_with("no tool \"fetsh\""));
  CHECK(causes[3].text.size() == 4'000);
  CHECK(causes[3].exception_type == "std::runtime_error");
  // The same if somebody adds them by hand.
  const TempFolder folder;
  std::ofstream(folder.file("c.jsonl"))
      << R"({"text": "x", "origin": "a", "label": "crashed", "causes": [{"text": "1"}, {"text": "2"},)"
      << R"( {"text": "3"}, {"text": "4"}, {"text": "5"}, {"text": "6"}]})";
  const auto reading = Corrections(folder.file("c.jsonl")).read();
  REQUIRE_OK(reading);
  REQUIRE(reading.value().rows.size() == 1);
  const std::vector<Cause>& read = reading.value().rows[0].correction.failure.causes;
  REQUIRE(read.size() == 4);
  CHECK(read.front().text == "3");
}

TEST_CASE("a run without a failure has nothing to correct", "[corrections]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt&) { return 1; },
                          answers({RecoveryAction::escalate()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "run-1"}));
  const auto none = correction_of(kit.store->read("run-1", {}).value());
  CHECK_ERRC(Errc::not_found, none);
  CHECK_THAT(none.error().detail, ContainsSubstring("run \"run-1\" has no failure"));
}
