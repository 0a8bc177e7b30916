// SPDX-License-Identifier: MIT
#include "confirm_run.hpp"

#include "arguments/key_value.hpp"
#include "arguments/open_store.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/progress.hpp"
#include "run_session.hpp"
#include "supervise/process/child.hpp"
#include "supervise/process/file_descriptor.hpp"
#include "supervise/workspace/workspace_copy.hpp"
#include "triage/detail/try.hpp"
#include "triage/lab/confirm.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

// Re-runs have no input and no output: only how they end is compared.
class Silence {
 public:
  Silence() {
    std::fflush(nullptr);
    const supervise::FileDescriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int number = 0; number <= 2; ++number) {
      kept_[static_cast<std::size_t>(number)] =
          supervise::FileDescriptor(::fcntl(number, F_DUPFD_CLOEXEC, 3));
      if (nowhere) ::dup2(nowhere.get(), number);
    }
  }
  ~Silence() {
    std::fflush(nullptr);
    for (int number = 0; number <= 2; ++number) {
      const auto& kept = kept_[static_cast<std::size_t>(number)];
      if (kept) ::dup2(kept.get(), number);
    }
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::array<supervise::FileDescriptor, 3> kept_{};
};

Result<std::map<std::string, Json>> answers_of(std::string_view option,
                                               const std::vector<std::string>& pairs) {
  TRIAGE_TRY(object, object_of(option, pairs));
  std::map<std::string, Json> answers;
  for (const auto& [key, result] : object.items()) answers.emplace(key, result);
  return outcome::success(std::move(answers));
}

Result<lab::ConfirmOptions> options_of(const ConfirmArguments& given) {
  lab::ConfirmOptions options{.times = given.times, .attempt = given.attempt, .from = given.from};
  options.change.hint = given.hint;
  if (!given.set.empty()) {
    TRIAGE_TRY(state, object_of("--set", given.set));
    options.change.state = std::move(state);
  }
  TRIAGE_TRY(answers, answers_of("--answer", given.answer));
  options.change.answers = std::move(answers);
  TRIAGE_TRY(assumed, answers_of("--assume", given.assume));
  options.assumed = std::move(assumed);
  return outcome::success(std::move(options));
}

// Where re-runs happen: as the run was begun or, if it has a workspace, in a copy of that.
struct Stage {
  supervise::RunSpec spec{};
  std::optional<supervise::WorkspaceCopy> files{};
};

Result<Stage> stage_of(CheckpointStore& store, const RunId& run) {
  Stage stage;
  TRIAGE_TRY(start, stored_start(store, run));
  TRIAGE_TRY(spec, supervise::spec_from_json(start.task));
  stage.spec = std::move(spec);
  if (!stage.spec.workspace.empty()) {
    TRIAGE_TRY(copy, supervise::WorkspaceCopy::make(stage.spec, shadow_folder()));
    stage.spec = copy.moved(std::move(stage.spec));
    TRIAGE_TRYV(copy.renew());
    stage.files = std::move(copy);
  }
  return outcome::success(std::move(stage));
}

// A re-run of a supervised run, with its own command or another one.
class Rehearsal {
 public:
  // session, stage: outlive it.
  static Result<Rehearsal> of(const RunSession& session, const Stage& stage,
                              const std::vector<std::string>& command) {
    supervise::RunSpec spec = stage.spec;
    const std::string before = supervise::program_name(spec);
    if (!command.empty()) spec.command = command;
    if (supervise::program_name(spec) != before) spec.adapter.clear();
    TRIAGE_TRY(program, supervise::find_program(spec.command.front(), spec.folder));
    static_cast<void>(program);
    return outcome::success(Rehearsal(session, stage, std::move(spec)));
  }
  Result<void> operator()(const std::string& checkpoint, ForkOptions fork) const {
    const Silence silence;
    if (stage_->files) {
      TRIAGE_TRYV(stage_->files->renew());
    }
    TRIAGE_TRY(agent, session_->agent_for(spec_));
    fork.task = supervise::to_json(spec_);
    fork.accept_changed = true;
    TRIAGE_TRYV(agent.fork(checkpoint, fork));
    return outcome::success();
  }
  // Redacted for display.
  [[nodiscard]] std::string command() const {
    supervise::RunRedactor redactor;
    static_cast<void>(redactor.set(spec_));
    std::string text;
    for (const std::string& word : supervise::without_secrets(spec_.command, redactor))
      text += (text.empty() ? "" : " ") + word;
    return text;
  }

 private:
  Rehearsal(const RunSession& session, const Stage& stage, supervise::RunSpec spec)
      : session_(&session), stage_(&stage), spec_(std::move(spec)) {}
  const RunSession* session_;
  const Stage* stage_;
  supervise::RunSpec spec_;
};

// Copies the run out of its store.
Result<std::pair<RunId, std::shared_ptr<CheckpointStore>>> copied(const StoreArgument& where) {
  TRIAGE_TRY(meant, meant_run(where));
  TRIAGE_TRY(store, open_store_to_read(meant.store));
  TRIAGE_TRY(info, supervised_run(*store, meant.run));
  TRIAGE_TRY(copy, lab::copy_of_run(*store, info.id));
  return std::pair(info.id, std::move(copy));
}

Result<lab::Confirmation> confirmed(const StoreArgument& where, const ConfirmArguments& given) {
  TRIAGE_TRY(options, options_of(given));
  TRIAGE_TRY(found, copied(where));
  const auto& [run, copy] = found;
  TRIAGE_TRY(stage, stage_of(*copy, run));
  TRIAGE_TRY(session, RunSession::rehearse(copy, stage.files ? stage.files->shadows() : ""));
  TRIAGE_TRY(unchanged, Rehearsal::of(*session, stage, {}));
  TRIAGE_TRY(changed, Rehearsal::of(*session, stage, given.command));
  options.stop = session->run_options().stop_token;
  Progress progress("re-runs", real_clock());
  options.on_progress = [&progress](int done, int all) {
    progress.tell(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(all));
  };
  auto confirmation = given.command.empty()
                          ? lab::confirm_by(*copy, run, unchanged, options)
                          : lab::confirm_by(*copy, run, unchanged, options, changed,
                                            "the command " + changed.command());
  progress.end();
  return confirmation;
}

}  // namespace

void declare_confirm(CLI::App& arguments, ConfirmArguments& given) {
  arguments.add_flag("--confirm", given.confirm,
                     "Run the program again from before the step that is blamed, with one change "
                     "and without it, and say whether that step was the cause. The change is one "
                     "of --hint, --set, --answer, -- CMD.");
  arguments.add_option("--times", given.times,
                       "How many re-runs with the change, and how many without: 6 to 10000. "
                       "Default: 20.");
  arguments.add_option("--hint", given.hint, "What the re-runs are told as the hint.");
  arguments.add_option("--set", given.set, "KEY=VALUE over the checkpoint's state; repeatable.")
      ->allow_extra_args(false);
  arguments
      .add_option("--answer", given.answer,
                  "KEY=JSON: what effect KEY returns instead of what is recorded; repeatable. Of "
                  "`triage effect` it is {\"status\": 0, \"out\": \"…\"}.")
      ->allow_extra_args(false);
  arguments
      .add_option("--assume", given.assume,
                  "KEY=JSON: what effect KEY returns in all re-runs, if it is not recorded; "
                  "repeatable.")
      ->allow_extra_args(false);
  arguments.add_option("--attempt", given.attempt,
                       "The failure of this attempt. Default: the newest that blames a step.");
  arguments
      .add_option("--from", given.from,
                  "Another checkpoint to begin at, as RUN@SEQUENCE; RUN@0 is the start.")
      ->check(not_empty());
  // Words after -- arrive like this: see main.cpp.
  arguments
      .add_option(std::string(behind_dashes).substr(0, behind_dashes.size() - 1), given.command,
                  "A word of CMD.")
      ->allow_extra_args(false)
      ->group("");
}

ExitStatus confirm_run(const StoreArgument& where, const ConfirmArguments& given, bool json) {
  const auto found = confirmed(where, given);
  if (!found) return report(found.error());
  if (json) {
    print_json(lab::to_json(found.value()));
  } else {
    print(lab::describe(found.value()));
  }
  return ExitStatus::done;
}

}  // namespace triage::inline v0_1::cli
