// SPDX-License-Identifier: MIT
#include "triage/testing/run_table.hpp"

#include "triage/agent.hpp"
#include "triage/detail/counted.hpp"
#include "triage/detail/joined.hpp"
#include "triage/testing/simulated_clock.hpp"

#include "duration_text.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace triage::inline v0_1::testing {
namespace {

using triage::detail::counted;

std::string all_of(const std::vector<Duration>& durations) {
  return durations.empty() ? "none" : triage::detail::joined(durations, seconds);
}

Duration sum(const std::vector<Duration>& durations) {
  return std::accumulate(durations.begin(), durations.end(), Duration::zero());
}

// Empty for an error of the library, without any failure of the agent.
std::optional<FailureType> type_of(const Error& error) {
  return error.failure() ? std::optional(error.failure()->type()) : std::nullopt;
}

std::string outcome_text(const PlayedRun& run) {
  if (run.result) return "success with " + show(run.result.value());
  const Error& error = run.result.error();
  std::string text(to_string(error.code));
  if (const auto type = type_of(error)) text += " (" + std::string(to_string(*type)) + ")";
  return text + ": " + printable(error.detail);
}

// Describes every way in which the run differs from the expected one; empty if it does not.
std::string differences(const ExpectedRun& expected, const PlayedRun& run) {
  std::string text;
  const auto differs = [&](const std::string& wanted) {
    text += (text.empty() ? "" : ", ") + wanted;
  };
  if (expected.value && !(run.result && run.result.value() == *expected.value)) {
    differs("success with " + show(*expected.value));
  }
  if (expected.error && (run.result || run.result.error().code != *expected.error)) {
    differs(std::string(to_string(*expected.error)));
  }
  if (expected.type && (run.result || type_of(run.result.error()) != expected.type)) {
    differs("a failure of type " + std::string(to_string(*expected.type)));
  }
  if (expected.attempts && run.attempts != *expected.attempts) {
    differs(counted(*expected.attempts, "attempt"));
  }
  if (expected.waits && run.waits != *expected.waits) {
    differs("waits of " + all_of(*expected.waits));
  }
  if (expected.waited_at_most && sum(run.waits) > *expected.waited_at_most) {
    differs("at most " + seconds(*expected.waited_at_most) + " of waits");
  }
  return text;
}

}  // namespace

PlayedAttempt::PlayedAttempt(Failure failure) : failure_(std::move(failure)) {}

void PlayedAttempt::write_to(ScriptedAgent& script) const {
  if (failure_) {
    script.attempt().fail(*failure_);
  } else {
    script.attempt().succeed(value_);
  }
}

PlayedRun play(const ScriptedAgent& script, const FailurePolicy& policy, AgentOptions options) {
  const auto clock = std::make_shared<SimulatedClock>();
  const auto observer = std::make_shared<RecordingObserver>();
  options.clock = clock;
  options.observer = observer;
  if (!options.random) options.random = seeded_random(1);
  const std::size_t before = script.call_count();
  const TriageAgent agent{script, policy, std::move(options)};
  PlayedRun run;
  run.result = agent.run("task");
  run.attempts = static_cast<int>(script.call_count() - before);
  run.waits = clock->waits();
  std::erase(run.waits, Duration::zero());
  run.events = observer->events();
  return run;
}

PlayedRun play(const std::vector<PlayedAttempt>& attempts, const FailurePolicy& policy,
               AgentOptions options) {
  ScriptedAgent script;
  for (const PlayedAttempt& attempt : attempts) attempt.write_to(script);
  script.repeat_last();
  return play(script, policy, std::move(options));
}

std::string run_table(const FailurePolicy& policy, const std::vector<RunRow>& rows,
                      const AgentOptions& options) {
  if (rows.size() > 1 && (!options.gates.empty() || options.budget)) {
    return "the rows share gates or a budget, so each depends on those before it: pass a function "
           "that makes the options of one row\n";
  }
  return detail::run_rows(policy, rows, [&options] { return options; });
}

std::string detail::run_rows(const FailurePolicy& policy, const std::vector<RunRow>& rows,
                             const std::function<AgentOptions()>& make_options) {
  std::string report;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const RunRow& row = rows[index];
    AgentOptions options = make_options();
    // Rows may share a store, where equal seeds would make equal run ids.
    if (!options.random) options.random = seeded_random(index + 1);
    const PlayedRun run = play(row.attempts, policy, std::move(options));
    const std::string wanted = differences(row.expect, run);
    if (wanted.empty()) continue;
    report += "\"" + printable(row.name) + "\": expected " + wanted + "; got " + outcome_text(run) +
              ", " + counted(run.attempts, "attempt") + ", waits: " + all_of(run.waits) + "\n";
  }
  return report;
}

}  // namespace triage::inline v0_1::testing
