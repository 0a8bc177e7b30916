// SPDX-License-Identifier: MIT
#pragma once
// What all runs of one agent share: its policy and options, checked and completed.

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

// A run that waits for a decision in memory, because no store can keep it, as it was.
struct SuspendedRun {
  std::unique_ptr<RunData> data;
  RunOptions options;
  std::vector<std::string> allowed_actions;
  std::optional<WallTime> expires;
  int attempts = 0;
  std::string message{};
  std::optional<WallTime> until{};  // It goes on then without a decision.
  Duration elapsed{0};              // Before it was suspended.
};

[[nodiscard]] inline Error unknown_token() {
  return {Errc::not_found, "no run of this agent waits for this token; a token works once"};
}

// Suspended runs by the hash of their token: whoever takes one owns it alone.
// Thread-safety: all members may be called from several threads at once.
class SuspendedRuns {
 public:
  void add(std::string hash, SuspendedRun run);
  // Where to look for a run whose store is not the agent's; its owner decides how long it is open.
  void add_store(std::string hash, const std::shared_ptr<CheckpointStore>& store);
  [[nodiscard]] std::shared_ptr<CheckpointStore> store_of(std::string_view hash) const;
  [[nodiscard]] bool contains(std::string_view hash) const;
  // Those that no store knows and that go on by themselves before `until`.
  [[nodiscard]] std::vector<DueRun> due(WallTime until) const;
  // How a run waits, and under which hash, if it waits here and no store knows it.
  struct Waiting {
    std::string hash{};
    DueRun run{};
  };
  [[nodiscard]] std::optional<Waiting> find(const RunId& run) const;
  // Errors: Errc::not_found; what `check` says: then the token stays.
  [[nodiscard]] Result<SuspendedRun> take(std::string_view hash,
                                          const std::function<Result<void>(SuspendedRun&)>& check);
  // Undoes a take() whose run could not be continued.
  void put_back(std::string hash, SuspendedRun run);
  SuspendedRuns();
  ~SuspendedRuns();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, SuspendedRun, std::less<>> by_hash_;
  std::map<std::string, std::weak_ptr<CheckpointStore>, std::less<>> stores_;
};

// Digests of what a run goes on under; see docs/changing.md.
struct Fingerprint {
  std::string whole{};
  std::string policy{};  // Without its numbers: more attempts or longer waits are no other plan.
  std::string contract{};
};

struct AgentCore {
  bool plain = false;  // Its runs need no set-up and nobody observes them, unless options say so.
  RunOptions no_options{};
  FailurePolicy policy;
  AgentOptions options;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Random> random;
  std::shared_ptr<Classifier> classifier;
  GateKeeper gates;
  Rules rules{};                                  // For the machine of each run.
  std::shared_ptr<const AgentContract> contract;  // Null if it is empty.
  bool judges_return = false;         // It says something about what the callable returns.
  std::optional<Error> problem;       // Bad options: every run returns it.
  std::vector<std::string> warnings;  // Settings that cannot have an effect.
  Fingerprint fingerprint;            // Of name, version, policy and contract.
  mutable SuspendedRuns suspended;
  mutable AttemptPool attempts;
  mutable std::atomic<Duration::rep> learnt_duration{0};     // Of attempts; see learn_duration.
  mutable std::atomic<std::uint64_t> refused_by_average{0};  // Starts, because of it alone.
};

// Text that changes when runs recorded under the other one should not go on.
[[nodiscard]] Fingerprint fingerprint(const FailurePolicy& policy, const AgentOptions& options);

}  // namespace triage::inline v0_1::detail
