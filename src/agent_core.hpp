// SPDX-License-Identifier: MIT
#pragma once
// What all runs of one agent share: its policy and options, checked and completed.

#include "triage/detail/run_loop.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct RunBody;

// A run that waits for a decision, as it was.
struct SuspendedRun {
  std::unique_ptr<RunBody> body;
  RunOptions options;
  std::vector<std::string> allowed_actions;
  int attempts = 0;
};

// Suspended runs by the hash of their token: whoever takes one owns it alone.
// Thread-safety: all members may be called from several threads at once.
class SuspendedRuns {
 public:
  // Returns the token: 256 random bits in hexadecimal. Only its hash is kept.
  [[nodiscard]] std::string add(SuspendedRun run);
  // Errors: Errc::not_found; Errc::invalid_argument if the action is not allowed (the token stays).
  [[nodiscard]] Result<SuspendedRun> take(std::string_view token, RecoveryAction::Kind action);
  // Undoes a take() whose run could not be continued.
  void put_back(std::string_view token, SuspendedRun run);
  SuspendedRuns();
  ~SuspendedRuns();

 private:
  std::mutex mutex_;
  std::map<std::string, SuspendedRun, std::less<>> by_hash_;
};

struct AgentCore {
  FailurePolicy policy;
  AgentOptions options;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Random> random;
  std::shared_ptr<Classifier> classifier;
  GateKeeper gates;
  std::optional<Error> problem;       // Bad options: every run returns it.
  std::vector<std::string> warnings;  // Settings that cannot have an effect.
  std::string fingerprint;            // Of name, version, policy and contract.
  mutable SuspendedRuns suspended;
  mutable std::atomic<Duration::rep> learnt_duration{0};  // Of attempts; see learn_duration.
};

// Text that changes when runs recorded under the other one should not go on.
[[nodiscard]] std::string fingerprint(const FailurePolicy& policy, const AgentOptions& options);

}  // namespace triage::inline v0_1::detail
