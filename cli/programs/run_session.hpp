// SPDX-License-Identifier: MIT
#pragma once
// What the commands that run programs share: store, signals, agent, and reporting the end.

#include "command_status.hpp"
#include "programs/stored_start.hpp"
#include "render/recovery_lines.hpp"
#include "supervise/supervisor.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// EX_TEMPFAIL: the run waits for a time or a decision. Source: sysexits.h.
inline constexpr ExitStatus waiting_status = static_cast<ExitStatus>(75);

struct SessionArguments {
  std::string store{};
  std::string exit_status = "child";
  std::string max_wait{};  // Empty: the run's own.
  bool quiet = false;
  bool json = false;
  // Not an option: the program, and its arguments if given, that replace those of every run, in the
  // current folder. Empty: each run's own.
  std::vector<std::string> instead{};
};
void declare_session(CLI::App& arguments, SessionArguments& given);

// What becomes of a store that is not there. Only a new run needs one.
enum class IfMissing { create, refuse };
// What becomes of the exit status of a run that was given up before: the run's, or again that of
// its program, if it is recorded.
enum class IfEnded { refuse, repeat };

// Create it in the main thread before any other thread starts.
class RunSession {
 public:
  // Errors: those of the store; Errc::invalid_argument.
  [[nodiscard]] static Result<std::unique_ptr<RunSession>> open(
      const SessionArguments& given, IfMissing missing = IfMissing::create);

  // For trying runs out in a copy of theirs: it tells nothing. shadows: where the files of
  // workspaces are kept. Errors: those of Signals::take().
  [[nodiscard]] static Result<std::unique_ptr<RunSession>> rehearse(
      std::shared_ptr<CheckpointStore> copy, const std::string& shadows);

  // The agent of a new run. Errors: as supervise::make_run_agent.
  [[nodiscard]] Result<supervise::RunAgent> agent_for(const supervise::RunSpec& spec) const;
  // The agent that continues a stored run. Errors: those of stored_start(); likewise.
  [[nodiscard]] Result<supervise::RunAgent> agent_of(const RunId& run) const;
  // Inspects runs without continuing any.
  [[nodiscard]] supervise::RunAgent watcher() const;
  [[nodiscard]] CheckpointStore& store() const noexcept { return *supervisor_->options().store; }
  // Takes the oldest run that never ended, has no living owner and is wanted; empty: there is none.
  // One at a time: other processes may take the rest meanwhile. They are listed anew only when none
  // of those that were listed is left. Errors: the store's.
  [[nodiscard]] Result<std::optional<Lease>> claim_orphan(
      const std::function<bool(const RunId&)>& wanted) const;
  // The last run served.
  [[nodiscard]] const RunId& newest_run() const noexcept { return supervisor_->newest_run(); }
  // From now on the first SIGTERM or SIGINT does not end the run but triggers no_more().
  void finish_at_first_stop() const { supervisor_->options().signals->finish_at_first(); }
  // Makes sure that no_more() knows of every signal sent before.
  void handle_signals() const { supervisor_->options().signals->handle_pending(); }
  [[nodiscard]] std::stop_token no_more() const {
    return supervisor_->options().signals->no_more();
  }
  // With which runs are begun.
  [[nodiscard]] RunOptions run_options() const;
  // With which a stored run, or a branch of it, is continued.
  [[nodiscard]] RunOptions run_options(const RunId& run) const;

  // Reports how the run ended and returns the exit status: the child's own, unless
  // --exit-status=triage, or 75 for a run that waits. 9 instead of 0 if its output was lost or its
  // end could not be stored.
  [[nodiscard]] ExitStatus conclude(const RunId& run, const Result<Json>& result,
                                    IfEnded if_ended = IfEnded::refuse) const;
  // "`triage resume RUN`", with the store that was named.
  [[nodiscard]] std::string command(const std::string& words) const;
  // Why the run could not be continued, and the command that continues it all the same.
  [[nodiscard]] std::string in_words(const RunId& run, const Error& error) const;

 private:
  // As in SupervisorOptions.
  struct Shadows {
    std::string folder{};
    std::string store{};
    std::vector<std::string> left_out{};
    bool shared = true;
  };
  RunSession() = default;
  [[nodiscard]] static std::unique_ptr<RunSession> make(
      const SessionArguments& given, std::shared_ptr<CheckpointStore> store,
      std::shared_ptr<supervise::Signals> signals,
      const std::shared_ptr<supervise::RunRedactor>& redactor, Shadows shadows);
  // " --store URL", if it is not the default one.
  [[nodiscard]] std::string store_option() const;
  void tell(const RunId& run, const char* how, const std::string& sentence) const;
  [[nodiscard]] ExitStatus conclude_run(const RunId& run, const Result<Json>& result,
                                        IfEnded if_ended) const;
  // Of the program in the newest failed attempt; empty after a signal, for example.
  [[nodiscard]] std::optional<int> recorded_status(const RunId& run) const;
  // Names the effects in doubt of a run that has finished.
  void tell_doubts(const RunId& run) const;
  // Which effect is in doubt, and how to settle it.
  [[nodiscard]] std::string doubt(const RunId& run, const Error& error) const;
  [[nodiscard]] ExitStatus conclude_waiting(const RunId& run, const Error& error) const;

  SessionArguments given_{};
  std::optional<Duration> max_wait_{};
  std::unique_ptr<supervise::Supervisor> supervisor_{};
  mutable std::vector<RunId> orphans_{};  // Listed, and not looked at yet.
};

// Where the files of workspaces are kept: beside the default store; empty if there is no place.
[[nodiscard]] std::string shadow_folder();

// Steps, failures and decisions are stored without secrets. A run goes on with its task, its state
// and the results of its effects, which stay as they are.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> redacting_around(
    std::shared_ptr<CheckpointStore> store, std::shared_ptr<const Redactor> redactor);

}  // namespace triage::inline v0_1::cli
