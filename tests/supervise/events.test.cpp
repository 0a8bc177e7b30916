// SPDX-License-Identifier: MIT
// What a program's events tell beside its steps: how much it used, and whether it works on.
#include "adapter_text.hpp"
#include "supervise/adapters/adapted_attempt.hpp"
#include "supervise/adapters/find_adapter.hpp"
#include "supervise/adapters/local_times.hpp"
#include "supervise/running.hpp"
#include "triage/agent.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/stores/memory.hpp"

#include "support/catch.hpp"

#include <cstdlib>
#include <ctime>
#include <sstream>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace {

Adapter with_background() {
  return adapter(R"({"adapter": 1, "name": "tool", "programs": ["tool"], "linger": "10s",
    "linger_busy": "15m", "events": [
    {"when": {"e": "tasks"}, "busy": "running"},
    {"when": {"e": "call"}, "call": {"id": "id", "tool": "tool"}},
    {"when": {"e": "end"}, "end": "finished"}]})");
}

// Uses an attempt of a program with this adapter.
void in_attempt(const Adapter& known, const std::function<void(AdaptedAttempt&)>& use) {
  const TriageAgent agent{[&](const int&, Attempt& attempt) {
                            const RunSpec spec{.command = {"tool", "do it"}};
                            AdaptedAttempt adapted(spec, known, attempt, {});
                            use(adapted);
                          },
                          FailurePolicy{}};
  REQUIRE_OK(agent.run(1));
}

}  // namespace

TEST_CASE("a program is left alive while it works on after its final event", "[adapters]") {
  using namespace std::chrono_literals;
  const ChildEnd killed{.status = SIGKILL};
  const ChildEnd dismissed{.cause = ChildEnd::Cause::dismissed, .status = SIGTERM};
  in_attempt(with_background(), [&](AdaptedAttempt& adapted) {
    std::vector<std::optional<Duration>> told;
    const auto say = [&](const char* text) {
      adapted.add(text, [&told](std::optional<Duration> linger) { told.push_back(linger); });
    };
    say("{\"e\":\"tasks\",\"running\":[1]}\n");
    CHECK(told.empty());
    say("{\"e\":\"end\"}\n");
    REQUIRE(told.size() == 1);
    CHECK(told.back() == Duration(15min));
    CHECK_FALSE(adapted.finished(killed));  // What it had begun was cut off.
    CHECK(adapted.finished(dismissed));
    say("{\"e\":\"call\",\"id\":1,\"tool\":\"Read\"}\n");
    REQUIRE(told.size() == 2);
    CHECK_FALSE(told.back().has_value());
    say("{\"e\":\"tasks\",\"running\":[]}\n{\"e\":\"end\"}\n");
    REQUIRE(told.size() == 3);
    CHECK(told.back() == Duration(10s));
    CHECK(adapted.finished(killed));
    say("something\n");  // The time begins anew with whatever it prints.
    CHECK(told.size() == 4);
  });
}

TEST_CASE("times that a program prints for people are those of this machine", "[adapters]") {
  constexpr WallTime now{std::chrono::sys_days{std::chrono::January / 1 / 2026}};
  const char* former = std::getenv("TZ");
  const std::string kept = former == nullptr ? "" : former;
  ::setenv("TZ", "EST5", 1);
  ::tzset();
  const auto zoned = [&](const char* text) { return with_zones(text, now); };
  CHECK(zoned("limit · resets 3:45pm") == "limit · resets 3:45pm (UTC-05:00)");
  CHECK(zoned("resets Mon 12:00am (America/New_York), or 3 p.m.") ==
        "resets Mon 12:00am (UTC-05:00), or 3 p.m. (UTC-05:00)");
  CHECK(zoned("Try again at Jan 2nd, 2026 3:04 PM.") ==
        "Try again at Jan 2nd, 2026 3:04 PM (UTC-05:00).");
  CHECK(zoned("at 3pm but not before") == "at 3pm (UTC-05:00) but not before");
  for (const char* same : {"resets 9am (UTC)", "resets at 3:45pm PST", "3pm +01:00",
                           "resets 2026-12-01 00:00 UTC", "13 amps", "room 3pmx", ""}) {
    CHECK(zoned(same) == same);
  }
  ::setenv("TZ", "UTC-5:30", 1);
  ::tzset();
  CHECK(zoned("3pm") == "3pm (UTC+05:30)");
  // Clocks change on 8 March, at 2 in the night after `before`, and on 1 November.
  ::setenv("TZ", "EST5EDT,M3.2.0,M11.1.0", 1);
  ::tzset();
  constexpr WallTime before{std::chrono::sys_days{std::chrono::March / 8 / 2026} +
                            std::chrono::hours(1)};
  const auto zone = [&](const std::string& text) {
    const std::string found = with_zones(text, before);
    return found.substr(found.find(" (UTC"));
  };
  CHECK(zone("resets 11pm") == " (UTC-05:00)");
  for (const char* summer :
       {"resets 9am", "resets Sunday, 9am", "Mar 20 at 4pm", "resets July 4th, 2027, 3:30 p.m."}) {
    INFO(summer);
    CHECK(zone(summer) == " (UTC-04:00)");
  }
  for (const char* winter : {"Sat 11:30pm", "resets Nov 2, 3pm", "Jan 3rd, 5am"}) {
    INFO(winter);
    CHECK(zone(winter) == " (UTC-05:00)");
  }
  kept.empty() ? ::unsetenv("TZ") : ::setenv("TZ", kept.c_str(), 1);
  ::tzset();
}

TEST_CASE("a limit that resets at a time of this machine is waited for until then", "[adapters]") {
  Workshop shop;
  const std::string program = shop.script(
      "tool",
      "echo '{\"e\":\"limit\",\"text\":\"Usage limit reached, resets Dec 31, 2099 9am\"}'; exit 1");
  std::ofstream(shop.file("a.yaml")) << R"({"adapter": 1, "name": "tool", "programs": ["tool"],
    "events": [{"when": {"e": "limit"}, "failure": {"text": "text"}, "end": "failed"}]})";
  const auto delay_in = [&](const char* zone) {
    std::vector<std::string> line{"/usr/bin/env", std::string("TZ=") + zone};
    const auto run = shop.run_line({"--json", "--adapter", shop.file("a.yaml")}, {program});
    line.insert(line.end(), run.begin(), run.end());
    const Printed printed = run_program(line);
    INFO(printed.error);
    CHECK(printed.status == 75);
    std::istringstream lines(printed.error);
    for (std::string text; std::getline(lines, text);) {
      const Json told = Json::parse(text, nullptr, false);
      if (told.is_object() && told.contains("delay_s")) return told["delay_s"].get<double>();
    }
    return 0.0;
  };
  const double here = delay_in("UTC0");
  const double west = delay_in("EST5");
  CHECK(here > 1e9);
  CHECK(west > here + 4 * 3600);
}

TEST_CASE("totals that a program tells again and again are counted once", "[adapters]") {
  const Adapter known = adapter(R"({"adapter": 1, "name": "t", "events": [
    {"when": {"e": "end"}, "usage": {"input_tokens": ["models.*.in", "models.*.cached"],
     "output_tokens": "out", "cost_usd": "usd", "totals": ["input_tokens", "cost_usd"]}}]})");
  Usage spent{.calls = 0};
  StreamReader reader(known, {.on_usage = [&](const Usage& usage) { spent += usage; }});
  reader.add(
      "{\"e\":\"end\",\"models\":{\"a\":{\"in\":5,\"cached\":1},\"b\":{\"in\":2}},\"out\":3,"
      "\"usd\":0.5}\n");
  CHECK(spent.input_tokens == 8);
  reader.add("{\"e\":\"end\",\"models\":{\"a\":{\"in\":15}},\"out\":3,\"usd\":0.75}\n");
  CHECK(spent.input_tokens == 15);
  CHECK(spent.output_tokens == 6);  // Told for each turn.
  CHECK(spent.cost_usd == 0.75);
  reader.add("{\"e\":\"end\",\"models\":{},\"usd\":0}\n");                  // Nothing was told.
  reader.add("{\"e\":\"end\",\"models\":{\"a\":{\"in\":4}},\"usd\":1}\n");  // It began anew.
  CHECK(spent.input_tokens == 19);
  CHECK(spent.cost_usd == 1.0);
  CHECK(spent.calls == 4);
}

TEST_CASE("events may be elements of one list, and conditions parts of a text", "[adapters]") {
  const Adapter known = adapter(R"({"adapter": 1, "name": "t", "events": [
    {"when": {"e": {"has": ["broken", "cut"]}}, "end": "failed"},
    {"when": {"e": "end"}, "end": "finished"}]})");
  StreamReader listed(known, {});
  listed.add("[{\"e\":\"begin\"},{\"e\":\"end\"},7]\n");
  CHECK(listed.end() == StreamEnd::finished);
  CHECK(listed.events() == 1);
  StreamReader cut(known, {});
  cut.add("{\"e\":\"it was cut off\"}\n");
  CHECK(cut.end() == StreamEnd::failed);
  StreamReader several(known, {});
  several.add("{\"e\":[\"whole\",\"broken off\"]}\n");
  CHECK(several.end() == StreamEnd::failed);
  StreamReader other(known, {});
  other.add("{\"e\":7}\n{\"e\":\"whole\"}\n");
  CHECK(other.end() == StreamEnd::none);
}

namespace {

class CountsReads final : public ForwardingStore {
 public:
  CountsReads() : ForwardingStore(std::make_shared<MemoryStore>()) {}
  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    ++reads;
    return ForwardingStore::read(run, range);
  }
  int reads = 0;
};

}  // namespace

TEST_CASE("the next attempt's command needs no look at all records of the run", "[adapters]") {
  const bool resumes = GENERATE(true, false);
  const Adapter known = adapter(
      R"({"adapter": 1, "name": "tool", "programs": ["tool"], "events": [
          {"when": {"e": "begin"}, "session": "id"}])" +
      std::string(resumes ? R"(, "resume": {"after": ["unknown"], "prompt": "go on",
          "arguments": ["--resume", "{session}", "{prompt}"]}})"
                          : "}"));
  const auto session = std::make_shared<KnownSession>();
  CountsReads store;
  std::vector<Words> commands;
  const TriageAgent agent{
      [&](const int&, Attempt& attempt) -> Result<int> {
        const RunSpec spec{.command = {"tool", "do it"}};
        AdaptedAttempt adapted(spec, known, attempt, {.store = &store, .known = session});
        commands.push_back(adapted.command().value());
        adapted.add("{\"e\": \"begin\", \"id\": \"s1\"}\n", [](std::optional<Duration>) {});
        if (attempt.number() < 3) return attempt.fail({.text = "strange"});
        return outcome::success(1);
      },
      FailurePolicy{}.otherwise(
          retry_with_backoff({.max_attempts = 3, .base_delay = Duration(1)}))};
  REQUIRE_OK(agent.run(1));
  REQUIRE(commands.size() == 3);
  CHECK(store.reads == 0);
  const Words resumed{"tool", "--resume", "s1", "go on"};
  CHECK(commands[2] == (resumes ? resumed : Words{"tool", "do it"}));
}
