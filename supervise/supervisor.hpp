// SPDX-License-Identifier: MIT
#pragma once
// Runs of programs: the agent whose callable supervises a child.

#include "supervise/adapters/adapter_document.hpp"
#include "supervise/attempt_io.hpp"
#include "supervise/private_folder.hpp"
#include "supervise/protocol.hpp"
#include "supervise/rules.hpp"
#include "supervise/signals.hpp"
#include "supervise/spec.hpp"
#include "triage/agent.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace triage::inline v0_1::supervise {

class AdaptedAttempt;

struct SupervisorOptions {
  std::shared_ptr<CheckpointStore> store{};
  std::shared_ptr<Signals> signals{};
  std::shared_ptr<Observer> observer{};
  std::shared_ptr<Clock> clock{};
  std::shared_ptr<Random> random{};  // Null: the operating system's.
  ReadPolicy read_policy = nullptr;
  ReadDocument read_document = nullptr;  // Adapters.
  std::string adapter_folder{};
  std::string shadows{};                // Where the files of workspaces are kept.
  std::vector<std::string> left_out{};  // Of workspaces: WorkspaceOptions::left_out.
  std::function<void(const std::string&)> on_trouble{};  // Sentences for the operator.
};

// Serves one run after another. Thread-safety: none; runs are started by the thread that ends the
// process.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // One attempt of a run: what is left of a former supervisor's ends, the child starts and is
  // served. The task is a RunSpec.
  [[nodiscard]] Result<Json> attempt(const Json& task, Attempt& attempt);

  // How the newest child ended, as a shell would say it; empty if there was none.
  [[nodiscard]] std::optional<int> newest_status() const noexcept { return status_; }
  // The state of the attempt that failed last.
  [[nodiscard]] std::shared_ptr<const Json> newest_state() const noexcept { return state_; }
  // The run that was served last; empty if there was none.
  [[nodiscard]] const RunId& newest_run() const noexcept { return run_; }
  [[nodiscard]] const SupervisorOptions& options() const noexcept { return options_; }

 private:
  Result<void> end_former(Attempt& attempt);
  Result<ChildPlan> plan(const RunSpec& spec, Attempt& attempt, const Protocol& protocol,
                         AdaptedAttempt& adapted, const std::string& token);
  Error failed(const RunSpec& spec, Attempt& attempt, const ChildEnd& end, const Protocol& protocol,
               const AdaptedAttempt& adapted);

  SupervisorOptions options_;
  std::set<RunId> looked_after_{};  // Runs whose former processes are known to be gone.
  PrivateFolder folder_{};
  RunId run_{};
  std::shared_ptr<Json> state_ = std::make_shared<Json>();
  std::optional<int> status_{};
};

using RunCallable = std::function<Result<Json>(const Json&, Attempt&)>;
using RunAgent = TriageAgent<RunCallable, Json>;

// The agent of all supervised runs. supervisor: outlives it.
[[nodiscard]] RunAgent make_run_agent(Supervisor& supervisor);

// What a run of this spec is limited by. max_wait: a longer wait suspends the run.
[[nodiscard]] Limits limits_of(const RunSpec& spec, Duration max_wait);

}  // namespace triage::inline v0_1::supervise
