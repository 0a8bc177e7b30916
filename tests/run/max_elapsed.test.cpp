// SPDX-License-Identifier: MIT
// Limits::max_elapsed bounds starts and waits as a deadline does, and is named.
#include "resume/durable.hpp"
#include "triage/policies/rate_limiter.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

AgentOptions with_ten_seconds(AgentOptions options) {
  options.limits.max_elapsed = 10s;
  return options;
}

FailurePolicy gives_up() { return answers({RecoveryAction::escalate()}); }

void check_named(const Result<int>& result) {
  CHECK_ERRC(Errc::escalated, result);
  REQUIRE(result.error().failure());
  CHECK_THAT(result.error().detail, ContainsSubstring("limits.max_elapsed"));
  CHECK_THAT(result.error().detail, !ContainsSubstring("deadline"));
}

}  // namespace

TEST_CASE("no attempt begins whose gate would hold it beyond max_elapsed", "[limits][gates]") {
  Kit kit;
  AgentOptions options = with_ten_seconds(kit.bare());
  options.gates = {RateLimiter::create({.permits = 1, .period = 20s, .max_wait = 60s}).value()};
  const TriageAgent agent{[](const std::string&) { return 1; }, gives_up(), options};
  CHECK(agent.run("x").value() == 1);
  check_named(agent.run("x"));
  CHECK(kit.clock->waits.empty());
}

TEST_CASE("no wait in an attempt goes beyond max_elapsed", "[limits][going on]") {
  Kit kit;
  AgentOptions options = with_ten_seconds(kit.options());
  const std::string how = GENERATE("sleeps", "waits", "asks a gate", "sleeps in a nested run");
  if (how == "asks a gate") {
    options.gates = {RateLimiter::create({.permits = 1, .period = 20s, .max_wait = 60s}).value()};
  }
  const TriageAgent sleeper{[&](const std::string&, Attempt& attempt) {
                              attempt.sleep_for("nap", 20s);
                              return 1;
                            },
                            gives_up(), kit.options()};
  const TriageAgent agent{[&](const std::string& task, Attempt& attempt) -> Result<int> {
                            if (how == "sleeps") attempt.sleep_for("nap", 20s);
                            if (how == "waits") {
                              static_cast<void>(attempt.wait("go", kit.clock->wall_now() + 20s));
                            }
                            if (how == "sleeps in a nested run") {
                              return sleeper.run(task, {.parent = &attempt});
                            }
                            for (int call = 0; call < 2; ++call) {
                              const auto permit = attempt.enter("search");
                              if (!permit) return permit.error();
                            }
                            return 1;
                          },
                          gives_up(), options};
  INFO(how);
  check_named(agent.run("x"));
  CHECK(kit.clock->waits.empty());
}

TEST_CASE("a wait that suspends the run is not bounded by max_elapsed", "[limits][going on]") {
  DurableKit kit;
  AgentOptions options = with_ten_seconds(kit.on_disk());
  options.limits.max_wait = 1s;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.sleep_for("night", 8h);
                            return 1;
                          },
                          gives_up(), options};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  kit.clock->advance(8h + 1s);
  CHECK(agent.resume_due().value().at(0).result.value() == 1);
}

TEST_CASE("a wait beyond max_elapsed suspends a run that can be, however short it is",
          "[limits][going on]") {
  DurableKit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.sleep_for("nap", 20s);  // Less than max_wait.
                            return 1;
                          },
                          gives_up(), with_ten_seconds(kit.on_disk())};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  kit.clock->advance(21s);
  CHECK(agent.resume_due().value().at(0).result.value() == 1);
}

TEST_CASE("whoever goes on with a run that has no time left has one attempt", "[limits]") {
  DurableKit kit;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            if (++calls == 2) return 1;
                            kit.clock->advance(11s);
                            throw std::runtime_error("timeout");
                          },
                          gives_up(), with_ten_seconds(kit.on_disk())};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK(agent.resume_run("r").value() == 1);
}

TEST_CASE("a backoff that max_elapsed cuts short names it", "[limits]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::retry({}, 20s)}), with_ten_seconds(kit.bare())};
  const auto result = agent.run("x");
  check_named(result);
  CHECK_THAT(result.error().detail,
             ContainsSubstring("begin in 20 s, after the end of limits.max_elapsed in 10 s"));
  CHECK(kit.clock->waits.empty());
}

TEST_CASE("no attempt begins once max_elapsed is over, nor one known to last longer", "[limits]") {
  Kit kit;
  AgentOptions options = with_ten_seconds(kit.bare());
  options.expected_duration = 4s;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            kit.clock->advance(7s);
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry()}), options};
  check_named(agent.run("x"));
  CHECK(calls == 1);
}
