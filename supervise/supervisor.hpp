// SPDX-License-Identifier: MIT
#pragma once
// Runs of programs: the agent whose callable supervises a child.

#include "supervise/adapters/adapter_document.hpp"
#include "supervise/attempt_io.hpp"
#include "supervise/guard.hpp"
#include "supervise/private_folder.hpp"
#include "supervise/protocol.hpp"
#include "supervise/redaction.hpp"
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

// Reads a contract in JSON. Injected, as reading a policy is.
using ReadContract = Result<AgentContract> (*)(const std::string& text);
class AdaptedAttempt;

struct SupervisorOptions {
  std::shared_ptr<CheckpointStore> store{};
  std::shared_ptr<Signals> signals{};
  std::shared_ptr<Observer> observer{};
  std::shared_ptr<Clock> clock{};
  std::shared_ptr<Random> random{};  // Null: the operating system's.
  ReadPolicy read_policy = nullptr;
  ReadContract read_contract = nullptr;
  ReadDocument read_document = nullptr;  // Adapters.
  std::string adapter_folder{};
  std::string shadows{};                // Where the files of workspaces are kept.
  std::vector<std::string> left_out{};  // Of workspaces: WorkspaceOptions::left_out.
  // Removes secrets from what programs say of their failures; null: nothing is removed. The store
  // and the observer are expected to use it, too.
  std::shared_ptr<RunRedactor> redactor{};
  // Changes how a run is executed here, such as where its program lies; null: as it was begun.
  std::function<void(RunSpec&)> on_this_host{};
  std::function<void(const std::string&)> on_trouble{};  // Sentences for the operator.
  std::function<void(const std::string&)> on_status{};   // What the child says that it is doing.
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
  [[nodiscard]] std::shared_ptr<const StepGuard> guard() const noexcept { return guard_; }
  [[nodiscard]] const SupervisorOptions& options() const noexcept { return options_; }

 private:
  Result<void> end_former(Attempt& attempt);
  Result<void> promise(const RunSpec& spec, Attempt& attempt);
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
  std::shared_ptr<RunGuard> guard_ = std::make_shared<RunGuard>();
};

using RunCallable = std::function<Result<Json>(const Json&, Attempt&)>;
using RunAgent = TriageAgent<RunCallable, Json>;

// The agent of the runs of one command: its policy's gates are asked before each attempt, and its
// version is version_of(). Runs that are older than that have another one: recorded_version, which
// may be empty. supervisor: outlives it. Errors: those of find_adapter and of reading the policy.
[[nodiscard]] Result<RunAgent> make_run_agent(Supervisor& supervisor, const RunSpec& spec,
                                              const std::string& recorded_version = {});
// One that only looks at runs, of whatever command.
[[nodiscard]] RunAgent make_watching_agent(Supervisor& supervisor);

[[nodiscard]] Limits limits_of(const RunSpec& spec);

}  // namespace triage::inline v0_1::supervise
