// SPDX-License-Identifier: MIT
#pragma once
// Runs of programs: the agent whose callable supervises a child.

#include "supervise/adapters/adapter_document.hpp"
#include "supervise/adapters/session_mark.hpp"
#include "supervise/attempt/attempt_io.hpp"
#include "supervise/process/private_folder.hpp"
#include "supervise/process/signals.hpp"
#include "supervise/protocol/guard.hpp"
#include "supervise/spec/redaction.hpp"
#include "supervise/spec/rules.hpp"
#include "supervise/spec/spec.hpp"
#include "triage/agent.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::supervise {

// Parses a contract in JSON. Injected, like reading a policy.
using ReadContract = Result<AgentContract> (*)(const std::string& text);
class LiveAttempt;
class AttemptFiles;

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
  std::string store_place{};            // WorkspaceOptions::store.
  std::string store_option{};           // Protocol::Options::store_option.
  std::vector<std::string> left_out{};  // Excluded from workspaces: WorkspaceOptions::left_out.
  bool shared_workspaces = true;        // WorkspaceOptions::shared.
  // Removes secrets from programs' failures; null: nothing is removed. The store and the observer
  // should use it too.
  std::shared_ptr<RunRedactor> redactor{};
  // Adapts a run to this host, such as the program's location; null: no changes.
  std::function<void(RunSpec&)> on_this_host{};
  std::function<void(const std::string&)> on_trouble{};  // Messages for the operator.
  std::function<void(const std::string&)> on_status{};   // The child's status.
  bool quiet = false;  // False: what becomes of a program that fails is told on standard error.
};

// Serves one run after another. Thread-safety: none; the thread that starts runs must be the one
// that ends the process.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // One attempt of a run: ends what a former supervisor left, then starts and serves the child. The
  // task is a RunSpec.
  [[nodiscard]] Result<Json> attempt(const Json& task, Attempt& attempt);

  // Makes sure, before a run begins, that this process could serve any. Errors: Errc::io.
  [[nodiscard]] Result<void> prepare();
  // Writes a line to standard error, or ends the program's. While a program runs this does not wait
  // for its reader.
  void say(const std::string& line);
  // Which stream of the newest run's programs could not be passed on, and why; empty: none.
  [[nodiscard]] const std::string& unwritten() const noexcept { return unwritten_; }
  // The effects that the newest run's last program began or asked for, and that are in doubt.
  [[nodiscard]] const std::vector<std::string>& in_doubt() const noexcept { return in_doubt_; }
  // The newest child's exit status as in a shell; empty if there was none.
  [[nodiscard]] std::optional<int> newest_status() const noexcept { return status_; }
  // The state of the last failed attempt.
  [[nodiscard]] std::shared_ptr<const Json> newest_state() const noexcept { return state_; }
  // The last run served; empty if there was none.
  [[nodiscard]] const RunId& newest_run() const noexcept { return run_; }
  [[nodiscard]] std::shared_ptr<const StepGuard> guard() const noexcept { return guard_; }
  [[nodiscard]] const SupervisorOptions& options() const noexcept { return options_; }

 private:
  Result<void> end_former(Attempt& attempt);
  Result<void> promise(const RunSpec& spec, Attempt& attempt);
  Result<std::string> write_recovery(const std::string& text);
  Result<ChildPlan> plan(const RunSpec& spec, Attempt& attempt, const LiveAttempt& live,
                         const std::string& token);
  Result<void> start(const RunSpec& spec, Attempt& attempt, LiveAttempt& live, AttemptFiles& files);
  ChildEnd serve(AttemptIo& io);
  void keep_lease(Attempt& attempt, AttemptIo& io, std::optional<Error>& lost, int failures = 0);
  Result<Json> result(const RunSpec& spec, Attempt& attempt, const ChildEnd& end, LiveAttempt& live,
                      std::optional<Error> lost);
  Error failed(const RunSpec& spec, Attempt& attempt, const ChildEnd& end, const LiveAttempt& live);

  SupervisorOptions options_;
  std::pair<RunId, int> served_{};  // The newest attempt whose processes were seen to end.
  PrivateFolder folder_{};
  PrivateFolder roomier_{};  // Where that has no room.
  RunId run_{};
  std::shared_ptr<Json> state_ = std::make_shared<Json>();
  std::optional<int> status_{};
  std::string unwritten_{};
  std::vector<std::string> in_doubt_{};
  bool in_line_ = false;  // The newest program's last line on standard error has no end.
  AttemptIo* serving_ = nullptr;
  std::shared_ptr<KnownSession> session_ = std::make_shared<KnownSession>();
  std::shared_ptr<RunGuard> guard_ = std::make_shared<RunGuard>();
};

using RunCallable = std::function<Result<Json>(const Json&, Attempt&)>;
using RunAgent = TriageAgent<RunCallable, Json>;

// The agent for runs of one command: asks its policy's gates before each attempt, and has
// version_of() as its version. Runs from before that have recorded_version, which may be empty.
// supervisor: must outlive it. Errors: those of find_adapter and of reading the policy.
[[nodiscard]] Result<RunAgent> make_run_agent(Supervisor& supervisor, const RunSpec& spec,
                                              const std::string& recorded_version = {});
// An agent that only inspects runs, of any command.
[[nodiscard]] RunAgent make_watching_agent(Supervisor& supervisor);

[[nodiscard]] Limits limits_of(const RunSpec& spec);

}  // namespace triage::inline v0_1::supervise
