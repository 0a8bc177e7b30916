// SPDX-License-Identifier: MIT
#include "triage/observers/json_lines.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/testing/testing.hpp"
#include "triage/triage.hpp"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

using namespace triage;

namespace {

const auto fails_once = [](const std::string&, Attempt& attempt) -> Result<int> {
  attempt.record_step({.action = "fetch \xff", .tool_called = "http_get", .http_status = 503});
  if (attempt.number() == 1) return attempt.fail({.text = "busy", .http_status = 503});
  return 1;
};

}  // namespace

TEST_CASE("every event is one line of JSON with its time and what it carries", "[observers]") {
  std::vector<Json> lines;
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const TriageAgent agent{
      fails_once,
      FailurePolicy().otherwise(retry({.delay = std::chrono::hours(1)})),
      {.observer = json_lines([&](std::string_view line) { lines.push_back(Json::parse(line)); }),
       .clock = clock}};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  const auto line = [&](std::string_view event) {
    for (const Json& one : lines) {
      if (one["event"] == event) return one;
    }
    return Json();
  };
  const Json decided = line("recovery_chosen");
  CHECK(decided["run"] == "r");
  CHECK(decided["attempt"] == 1);
  CHECK(decided["failure"]["type"] == "external_fault");
  CHECK(decided["action"]["kind"] == "retry");
  CHECK(line("step_recorded")["step"]["http_status"] == 503);
  CHECK(line("wait_started")["time"].get<std::string>().ends_with("Z"));
  CHECK(line("wait_started")["time"] < line("wait_ended")["time"]);
}

TEST_CASE("events are appended to a file that only its owner can read", "[observers]") {
  const test::TempFolder folder;
  const std::string path = folder.file("events.jsonl");
  for (int i = 0; i < 2; ++i) {
    const auto observer = json_lines_file(path);
    REQUIRE_OK(observer);
    const TriageAgent agent{
        fails_once, FailurePolicy().otherwise(retry()), {.observer = observer.value()}};
    REQUIRE_OK(agent.run("x"));
  }
  std::ifstream file(path);
  int finished = 0;
  for (std::string line; std::getline(file, line);) {
    if (Json::parse(line)["event"] == "run_finished") ++finished;
  }
  CHECK(finished == 2);
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms(0077)) ==
        std::filesystem::perms::none);
  CHECK_ERRC(Errc::io, json_lines_file(folder.file("none") + "/events.jsonl"));
}

TEST_CASE("a line that was cut off costs no other line", "[observers]") {
  const test::TempFolder folder;
  const std::string path = folder.file("events.jsonl");
  const auto observer = json_lines_file(path);
  REQUIRE_OK(observer);
  const auto run_with = [](std::shared_ptr<Observer> told) {
    const TriageAgent agent{
        fails_once, FailurePolicy().otherwise(retry()), {.observer = std::move(told)}};
    REQUIRE_OK(agent.run("x"));
  };
  rlimit limits{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limits) == 0);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{20, limits.rlim_max};  // The disk is full in the middle of a line.
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  run_with(observer.value());
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limits) == 0);
  std::signal(SIGXFSZ, before);
  run_with(observer.value());
  std::vector<Json> wanted;
  run_with(
      json_lines([&](std::string_view line) { wanted.push_back(Json::parse(line).at("event")); }));
  std::vector<Json> told;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json read = Json::parse(line, nullptr, false);
    if (read.is_object()) told.push_back(read.at("event"));
  }
  CHECK(told == wanted);
}
