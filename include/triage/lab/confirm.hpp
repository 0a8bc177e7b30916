// SPDX-License-Identifier: MIT
#pragma once
// Was the blamed step the cause of a failure? Runs the agent again from before that step, with and
// without one change, and compares.

#include "triage/agent.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"
#include "triage/lab/experiment.hpp"
#include "triage/result.hpp"
#include "triage/taxonomy.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace triage::inline v0_1::lab {

// The change; exactly one of these.
struct Change {
  std::string hint{};                     // Recovery::hint for the agent.
  Json state{};                           // An object: keys set over the checkpoint's state.
  std::map<std::string, Json> answers{};  // By key: the results that effects get.
  std::optional<Json> task{};             // Another task.
};

struct ConfirmOptions {
  Change change{};
  // Re-runs with the change, and as many without it; 6 to 10,000. (Fewer cannot show anything:
  // chance alone makes five of five change once in 16 times.)
  int times = 20;
  int attempt = 0;     // The failure of this attempt; 0: the newest failure with a blamed step.
  std::string from{};  // Another checkpoint, "RUN@SEQUENCE"; empty: the one before the blamed step.
  // Results for effects in all re-runs, by key, if neither the run nor the change has them.
  std::map<std::string, Json> assumed{};
  std::stop_token stop{};  // Ends it with Errc::cancelled after the re-run in progress.
  // Called after each re-run with the number done and the total.
  std::function<void(int done, int all)> on_progress{};
};

// The failure under investigation, and the step its classification blames.
struct Blame {
  int attempt = 1;
  FailureType type = FailureType::unknown;
  std::string reason{};
  std::optional<std::size_t> step{};  // Its index in the attempt's trajectory; empty: none.
  std::string action{};               // What it did; empty if there is none.
  std::string checkpoint{};  // Where the re-runs begin. "RUN@0": before anything was recorded.
};

// The outcomes of the re-runs of one kind; each has one attempt.
struct Reruns {
  int finished = 0;
  int failed_alike = 0;  // With the failure type under investigation.
  int failed_otherwise = 0;
  int undecided = 0;    // Wanted a new effect, a decision, a signal or a long wait.
  Interval interval{};  // Of the share that finished (Wilson).
};

// The names (to_string) are used in JSON and do not change.
enum class Finding : std::uint8_t {
  cause,      // More finish with the change; the interval excludes 0.
  not_shown,  // The interval contains 0.
  worse,      // Fewer finish with the change.
  undecided,  // Some re-runs could not end without acting on the world.
};
[[nodiscard]] std::string_view to_string(Finding finding) noexcept;

struct Confirmation {
  RunId run{};
  Blame blame{};
  std::string change{};  // As text.
  int times = 0;
  Reruns unchanged{};
  Reruns changed{};
  double difference = 0.0;  // Of the shares that finish, with the change minus without.
  Interval interval{};      // Of the difference, in pairs (Agresti and Min).
  Finding finding = Finding::not_shown;
  std::vector<std::string> refused{};  // Keys of effects that were requested and refused.
};

// The assumptions, as sentences.
[[nodiscard]] const std::array<std::string_view, 5>& confirm_assumptions() noexcept;
// As text: what was blamed, the two rates, their difference, the conclusion and the assumptions.
[[nodiscard]] std::string describe(const Confirmation& confirmation);
[[nodiscard]] Json to_json(const Confirmation& confirmation);

// The blamed step and the checkpoint before it. Uses `attempt` and `from` of `options`. Errors:
// Errc::not_found (no such run), Errc::corrupt, Errc::invalid_argument (nothing failed; no step is
// blamed and there is no `from`; or an attempt that did not fail, naming those that did).
[[nodiscard]] Result<Blame> find_blame(CheckpointStore& store, const RunId& run,
                                       const ConfirmOptions& options = {});

// A copy of the run in memory, so that the store is never changed. Errors: Errc::not_found,
// Errc::corrupt (part of the run is damaged), the store's.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> copy_of_run(CheckpointStore& store,
                                                                   const RunId& run);

// Starts a branch like TriageAgent::fork, and returns how it ended.
using Rerun = std::function<Result<void>(const std::string& checkpoint, const ForkOptions&)>;
// For agents of any kind. copy: the result of copy_of_run(), in which `rerun` creates its branches.
// changed: makes a re-run with the change; null: `rerun` does, given `change`. Errors:
// Errc::invalid_argument (times; a change that is not exactly one; an answer to an effect that the
// run has never asked for), those of find_blame(), Errc::cancelled, and those of a branch that
// could not start.
[[nodiscard]] Result<Confirmation> confirm_by(CheckpointStore& copy, const RunId& run,
                                              const Rerun& rerun, const ConfirmOptions& options,
                                              const Rerun& changed = nullptr,
                                              const std::string& change_text = {});

// Whether the step blamed for a run's failure was its cause: runs `agent` from the checkpoint
// before it, alternately options.times with and without one change. Each re-run is a single attempt
// in a branch of an in-memory copy of the run. Effects are not carried out: recorded ones return
// their recorded results, new ones are refused. Anything the agent does outside effects is
// repeated. agent: one that can continue this run (same name, version and policy). Errors: as of
// confirm_by(); Errc::conflict (another agent's run).
template <class F, class Task>
[[nodiscard]] Result<Confirmation> confirm_blame(const TriageAgent<F, Task>& agent,
                                                 CheckpointStore& store, const RunId& run,
                                                 const ConfirmOptions& options = {}) {
  auto copy = copy_of_run(store, run);
  if (!copy) return outcome::failure(std::move(copy).error());
  const auto rerun = [&](const std::string& checkpoint, const ForkOptions& fork) -> Result<void> {
    ForkOptions in_copy = fork;
    in_copy.run.store = copy.value();
    auto result = agent.fork(checkpoint, in_copy);
    if (!result) return outcome::failure(std::move(result).error());
    return outcome::success();
  };
  return confirm_by(*copy.value(), run, rerun, options);
}

}  // namespace triage::inline v0_1::lab
