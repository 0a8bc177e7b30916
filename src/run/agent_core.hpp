// SPDX-License-Identifier: MIT
#pragma once
// What all runs of an agent share: its validated and completed policy and options.

#include "run/attempt_pool.hpp"
#include "run/run_machine.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/suspension.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct RunData;

// A run that waits for a decision in memory because no store can keep it.
struct SuspendedRun {
  std::unique_ptr<RunData> data;
  RunOptions options;
  std::vector<std::string> allowed_actions;
  std::optional<WallTime> expires;
  int attempts = 0;
  std::string message{};
  std::optional<WallTime> until{};  // When it continues without a decision.
  Duration elapsed{0};              // Before it was suspended.
};

[[nodiscard]] inline Error unknown_token() {
  return {Errc::not_found, "no run of this agent waits for this token; a token works once"};
}

// Suspended runs by token hash: taking one transfers its ownership.
// Thread-safety: all members may be called from several threads at once.
class SuspendedRuns {
 public:
  // At times also lets runs go whose token has expired at `now`, unless they continue on their own:
  // nothing here can continue them.
  void add(std::string hash, SuspendedRun run, WallTime now);
  // Where to find a run that is not in the agent's store. Does not keep that store open.
  void add_store(std::string hash, const std::shared_ptr<CheckpointStore>& store);
  [[nodiscard]] std::shared_ptr<CheckpointStore> store_of(std::string_view hash) const;
  void forget_store(std::string_view hash);  // The token is used, or has expired.
  [[nodiscard]] bool contains(std::string_view hash) const;
  // Runs without a store that continue on their own before `until`.
  [[nodiscard]] std::vector<DueRun> due(WallTime until) const;
  // How a run in this process without a store waits, and its token's hash.
  struct Waiting {
    std::string hash{};
    DueRun run{};
  };
  [[nodiscard]] std::optional<Waiting> find(const RunId& run) const;
  // Errors: Errc::not_found; those of `check`, which leave the token in place.
  [[nodiscard]] Result<SuspendedRun> take(std::string_view hash,
                                          const std::function<Result<void>(SuspendedRun&)>& check);
  // Reverts a take() whose run could not be continued.
  void put_back(std::string hash, SuspendedRun run);
  SuspendedRuns();
  ~SuspendedRuns();

 private:
  using ByHash = std::map<std::string, SuspendedRun, std::less<>>;

  mutable std::mutex mutex_;
  ByHash by_hash_;
  std::size_t crowded_ = 0;  // How many make add() look for what is over.
  std::map<std::string, std::weak_ptr<CheckpointStore>, std::less<>> stores_;
};

// Digests that decide whether a run may continue; see docs/changing.md.
struct Fingerprint {
  std::string whole{};
  std::string policy{};  // Without its numbers: more attempts or longer waits do not change the
                         // plan.
  std::string contract{};
  // As older versions computed them: they did not tell a constraint from a subgoal or a tool.
  std::string older_whole{};
  std::string older_contract{};
};

struct AgentCore {
  bool plain = false;  // Its runs need no set-up or observer, unless options say so.
  RunOptions no_options{};
  FailurePolicy policy;
  AgentOptions options;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Random> random;
  std::shared_ptr<Classifier> classifier;
  GateKeeper gates;
  Rules rules{};                                  // For the machine of each run.
  std::shared_ptr<const AgentContract> contract;  // Null if it is empty.
  TaskCheck task_fits = [](const Json&) -> Result<void> { return outcome::success(); };
  bool judges_return = false;         // The contract constrains what the callable returns.
  std::optional<Error> problem;       // Invalid options, which every run reports.
  std::vector<std::string> warnings;  // Settings without an effect.
  Fingerprint fingerprint;            // Of name, version, policy and contract.
  mutable SuspendedRuns suspended;
  mutable AttemptPool attempts;
  mutable std::atomic<Duration::rep> learnt_duration{0};     // Of an attempt; see learn_duration.
  mutable std::atomic<std::uint64_t> refused_by_average{0};  // Starts refused only because of it.
};

// Its text differs if runs recorded under one must not continue under the other.
[[nodiscard]] Fingerprint fingerprint(const FailurePolicy& policy, const AgentOptions& options);
// How a run's first record describes its agent.
[[nodiscard]] Json identity_of(const AgentCore& core);

}  // namespace triage::inline v0_1::detail
