// SPDX-License-Identifier: MIT
// Values that terminals or JSON cannot represent, as the command shows them.
#include "cli/stores.hpp"

#include <limits>

using namespace triage;
using namespace triage::test;

namespace {

Json nested(int levels) {
  Json value = 1;
  for (int i = 0; i < levels; ++i) value = Json{{"k", std::move(value)}};
  return value;
}

}  // namespace

TEST_CASE("one odd step does not hide a run from show --json", "[cli]") {
  const TempFolder folder;
  {
    const TriageAgent agent{
        [](const std::string&, Attempt& attempt) -> std::string {
          attempt.record_step(
              {.action = "measure", .tool_output = std::numeric_limits<double>::quiet_NaN()});
          attempt.record_step({.action = "look", .tool_output = nested(max_json_depth)});
          return "done";
        },
        FailurePolicy(),
        {.name = "a", .store = SqliteStore::open(folder.file("a.db")).value()}};
    REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  }
  const Printed shown =
      triage_command({"checkpoint", "show", folder.file("a.db"), "r", "--json", "--steps", "all"});
  CHECK(shown.status == 0);
  const Json document = json_of(shown);
  REQUIRE(document["steps"].size() == 2);
  CHECK(document["steps"][0]["tool_output"] == "NaN");
  CHECK(document["steps"][1]["tool_output"] == nested(max_json_depth));
}

TEST_CASE("reasons, signals and names from a store cannot steer the terminal", "[cli]") {
  const TempFolder folder;
  const std::string evil =
      "\x1b]0;owned\x07 \xc2\x9b"
      "31m";
  {
    const auto store = SqliteStore::open(folder.file("a.db")).value();
    Journal journal("r");
    std::vector<Record> records;
    const auto add = [&](RecordKind kind, Json body) {
      records.push_back(journal.add(kind, WallTime(std::chrono::milliseconds(1)), std::move(body)));
    };
    add(RecordKind::run_started, Json{{"task", "t"}});
    add(RecordKind::signal_received, Json{{"name", evil}, {"value", 1}});
    add(RecordKind::signal_received, Json{{"name", evil}});
    add(RecordKind::failure_classified, Json{{"type", evil}, {"reason", evil}, {"text", evil}});
    add(RecordKind::resumed, Json{{"to", 0}, {"reason", evil}, {"action", evil}, {"by", evil}});
    add(RecordKind::forked, Json{{"parent", evil}, {"who", evil}});
    add(RecordKind::stopped, Json{{"status", evil}, {"detail", evil}});
    REQUIRE_OK(store->start({.id = "r", .agent = evil, .label = evil}, records));
  }
  for (const auto& arguments :
       {std::vector<std::string>{"checkpoint", "show", folder.file("a.db"), "r"},
        std::vector<std::string>{"checkpoint", "list", folder.file("a.db")},
        std::vector<std::string>{"checkpoint", "verify", folder.file("a.db")}}) {
    const Printed shown = triage_command(arguments);
    INFO(arguments[1]);
    CHECK((shown.out + shown.error).find('\x1b') == std::string::npos);
    CHECK((shown.out + shown.error).find("\xc2\x9b") == std::string::npos);
  }
  const Printed shown = triage_command({"checkpoint", "show", folder.file("a.db"), "r"});
  CHECK_THAT(shown.out, ContainsSubstring("Signal \"\\x1b]0;owned\\x07"));
}

TEST_CASE("numbers from a store that their fields cannot hold are not shown", "[cli]") {
  const TempFolder folder;
  {
    const auto store = SqliteStore::open(folder.file("a.db")).value();
    Journal journal("r");
    std::vector<Record> records;
    const auto add = [&](RecordKind kind, Json body) {
      records.push_back(journal.add(kind, WallTime(std::chrono::milliseconds(1)), std::move(body)));
    };
    add(RecordKind::run_started, Json{{"task", "t"}});
    add(RecordKind::failure_classified, Json{{"type", "timeout"},
                                             {"text", "reset"},
                                             {"critical_step", -1},
                                             {"retry_after_ns", 1e300}});
    add(RecordKind::rolled_back, Json{{"to", 1e300}});
    add(RecordKind::suspended, Json{{"message", "later"}, {"until_ms", 1e300}});
    REQUIRE_OK(store->start({.id = "r", .status = RunStatus::suspended}, records));
  }
  const Printed shown = triage_command({"explain", "r", "--store", folder.file("a.db")});
  INFO(shown.out << shown.error);
  CHECK_THAT(shown.out, ContainsSubstring("failed: timeout."));
  CHECK_THAT(shown.out, !ContainsSubstring("asked for a wait"));
  CHECK_THAT(shown.out, ContainsSubstring("Rolled back to the start of the run."));
  CHECK_THAT(shown.out, ContainsSubstring("Waits for a decision: later"));
}
