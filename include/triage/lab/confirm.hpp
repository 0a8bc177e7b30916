// SPDX-License-Identifier: MIT
#pragma once
// Was the step that is blamed for a failure its cause? Runs the agent again from before that step,
// with one change and without it, and compares.

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

// What is changed; exactly one of these.
struct Change {
  std::string hint{};                     // What Recovery::hint says to the agent.
  Json state{};                           // An object: keys set over the checkpoint's state.
  std::map<std::string, Json> answers{};  // By key: the results that effects get.
  std::optional<Json> task{};             // Another task.
};

struct ConfirmOptions {
  Change change{};
  // Re-runs with the change, and as many without it; 6 to 10,000. (Fewer could not show anything:
  // if five of five change, chance explains it once in 16 times.)
  int times = 20;
  int attempt = 0;     // The failure of this attempt; 0: the newest one that has a step to blame.
  std::string from{};  // Another checkpoint, "RUN@SEQUENCE"; empty: the one before the blamed step.
  // Results that effects get in all re-runs, by their keys, where neither the run nor the change
  // has them.
  std::map<std::string, Json> assumed{};
  std::stop_token stop{};  // Ends it with Errc::cancelled after the re-run in progress.
  // Called after each re-run: how many are done, of how many.
  std::function<void(int done, int all)> on_progress{};
};

// The failure that is looked into, and the step that its classification blames.
struct Blame {
  int attempt = 1;
  FailureType type = FailureType::unknown;
  std::string reason{};
  std::optional<std::size_t> step{};  // Its index in that attempt's trajectory; empty: none.
  std::string action{};               // What it did; empty if there is none.
  std::string checkpoint{};  // Where the re-runs begin. "RUN@0" is before anything was recorded.
};

// How the re-runs of one kind ended; each of them has one attempt.
struct Reruns {
  int finished = 0;
  int failed_alike = 0;  // With the failure type that is looked into.
  int failed_otherwise = 0;
  int undecided = 0;    // Wanted a new effect, a decision, a signal or a long wait.
  Interval interval{};  // Of the share that finished (Wilson).
};

// The names (to_string) are used in JSON and do not change.
enum class Finding : std::uint8_t {
  cause,      // With the change more finish, by an interval that does not contain 0.
  not_shown,  // The interval contains 0.
  worse,      // With the change fewer finish.
  undecided,  // Some re-runs could not come to an end without acting on the world.
};
[[nodiscard]] std::string_view to_string(Finding finding) noexcept;

struct Confirmation {
  RunId run{};
  Blame blame{};
  std::string change{};  // In words.
  int times = 0;
  Reruns unchanged{};
  Reruns changed{};
  double difference = 0.0;  // Of the shares that finish, with the change minus without.
  Interval interval{};      // Of the difference, in pairs (Agresti and Min).
  Finding finding = Finding::not_shown;
  std::vector<std::string> refused{};  // Keys of effects that were asked for and not carried out.
};

// What it takes for granted, in sentences.
[[nodiscard]] const std::array<std::string_view, 5>& confirm_assumptions() noexcept;
// For people: what was blamed, the two rates, the difference, what follows, and what is assumed.
[[nodiscard]] std::string describe(const Confirmation& confirmation);
[[nodiscard]] Json to_json(const Confirmation& confirmation);

// Which step is blamed, and the checkpoint before it. Of `options` attempt and from are used.
// Errors: Errc::not_found (no such run), Errc::corrupt, Errc::invalid_argument (nothing failed, no
// step is blamed and there is no `from`, or an attempt that did not fail; says which ones did).
[[nodiscard]] Result<Blame> find_blame(CheckpointStore& store, const RunId& run,
                                       const ConfirmOptions& options = {});

// A copy of the run alone, in memory: whatever is done with it, the store stays as it is.
// Errors: Errc::not_found, Errc::corrupt (something of the run is damaged), the store's.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> copy_of_run(CheckpointStore& store,
                                                                   const RunId& run);

// Begins a branch as TriageAgent::fork does, and says how it ended.
using Rerun = std::function<Result<void>(const std::string& checkpoint, const ForkOptions&)>;
// For agents of any kind; copy: what copy_of_run() has made, which is where `rerun` makes its
// branches. changed: what makes a re-run with the change; null: the same, and `change` is given.
// Errors: Errc::invalid_argument (times, a change that is none or more than one), those of
// find_blame(), Errc::cancelled, and those of a branch that could not be begun.
[[nodiscard]] Result<Confirmation> confirm_by(CheckpointStore& copy, const RunId& run,
                                              const Rerun& rerun, const ConfirmOptions& options,
                                              const Rerun& changed = nullptr,
                                              const std::string& change_text = {});

// Whether the step that is blamed for a run's failure was its cause: `agent` runs from the
// checkpoint before it, options.times with one change and as often without it, in turn. Each re-run
// is one attempt, a branch of a copy of the run in memory. No effect is carried out: recorded ones
// give their recorded results, new ones are refused. Whatever the agent does outside of effects it
// does again. agent: one that can go on with this run (of the same name, version and policy).
// Errors: as of confirm_by(); Errc::conflict (another agent's run).
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
