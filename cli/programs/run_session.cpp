// SPDX-License-Identifier: MIT
#include "run_session.hpp"

#include "arguments/duration_argument.hpp"
#include "arguments/installed.hpp"
#include "arguments/open_store.hpp"
#include "arguments/read_adapter.hpp"
#include "arguments/read_policy.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "arguments/store_place.hpp"
#include "command.hpp"
#include "documents/contract_json.hpp"
#include "render/output.hpp"
#include "render/telling_line.hpp"
#include "render/waiting.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/observers/redacting.hpp"
#include "triage/policies/duration.hpp"
#include "triage/stores/redacting.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>

namespace triage::inline v0_1::cli {

namespace {

std::string status_line(const std::string& text) {
  return show(Json{{"event", "status"}, {"message", text}}) + line_end();
}

std::function<void(supervise::RunSpec&)> as_here(const std::vector<std::string>& command,
                                                 const std::optional<Duration>& max_wait) {
  std::error_code gone;
  return [command, max_wait,
          here = std::filesystem::current_path(gone).string()](supervise::RunSpec& spec) {
    if (max_wait) spec.max_wait = *max_wait;
    if (command.empty()) return;
    spec.command.front() = command.front();
    spec.folder = here;
  };
}

// What a run with a workspace and a program at a terminal opens at the same time, with some to
// spare for connections.
constexpr int needed_files = 40;

// Without them, attempts would fail for no fault of the program.
Result<void> check_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return outcome::success();
  int left = 0;
  for (rlim_t number = 0; number < files.rlim_cur && left < needed_files; ++number) {
    if (::fcntl(static_cast<int>(number), F_GETFD) < 0) ++left;
  }
  if (left == needed_files) return outcome::success();
  return Error{Errc::io, "supervising a program takes " + std::to_string(needed_files) +
                             " open files, and the limit of " + std::to_string(files.rlim_cur) +
                             " (ulimit -n) leaves " + std::to_string(left) +
                             ": nothing was run; raise the limit"};
}

std::shared_ptr<Observer> told(Telling how, std::shared_ptr<const Redactor> redactor) {
  auto lines = recovery_lines(how);
  return lines ? redacted(std::move(lines), std::move(redactor)) : nullptr;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

constexpr std::size_t longest_reason = 300;

std::string reason_of(const Error& error) {
  const std::string_view reason = error.reason();
  return shorten(first_line(reason.empty() ? error.detail : std::string(reason)), longest_reason);
}

// Why a run was given up, with one line of what its program said.
std::string ending(const Error& error) {
  if (error.reason().empty() || !error.failure()) return reason_of(error);
  return reason_of(error) +
         "; the failure was: " + shorten(telling_line(error.failure()->text), longest_reason);
}

}  // namespace

Result<std::shared_ptr<CheckpointStore>> redacting_around(
    std::shared_ptr<CheckpointStore> store, std::shared_ptr<const Redactor> redactor) {
  TRIAGE_TRY(redacting, RedactingStore::around(std::move(store), std::move(redactor),
                                               {.tasks = false, .state = false, .results = false}));
  return outcome::success(std::shared_ptr<CheckpointStore>(std::move(redacting)));
}

std::string shadow_folder() {
  const auto store = default_store();
  if (!store) return {};
  return (std::filesystem::path(store.value()).parent_path() / "workspaces").string();
}

void declare_session(CLI::App& arguments, SessionArguments& given) {
  arguments
      .add_option("--store", given.store,
                  store_help + std::string(" Default: triage/runs.db in the state folder."))
      ->check(not_empty());
  arguments
      .add_option("--exit-status", given.exit_status,
                  "child: the child's own (the default); triage: what became of the run.")
      ->check(CLI::IsMember({"child", "triage"}));
  arguments
      .add_option("--max-wait", given.max_wait,
                  "A longer wait suspends the run: exit status 75, and `triage resume --due` "
                  "goes on. 0s: none does. Default: that of the run; 10m for a new one.")
      ->check(not_empty());
  arguments.add_flag(
      "--quiet", given.quiet,
      "Report only errors on standard error: no recoveries, and not how the run ended.");
  arguments.add_flag("--json", given.json, "Report as JSON Lines on standard error.");
}

Result<std::unique_ptr<RunSession>> RunSession::open(const SessionArguments& given,
                                                     IfMissing missing) {
  if (!given.max_wait.empty()) {
    TRIAGE_TRYV(duration_argument("--max-wait", given.max_wait));
  }
  TRIAGE_TRYV(check_open_files());
  TRIAGE_TRY(signals, supervise::Signals::take());
  const bool create = missing == IfMissing::create;
  std::string url = given.store;
  if (url.empty()) {
    TRIAGE_TRY(usual, create ? make_default_store() : default_store());
    url = std::move(usual);
  }
  const auto redactor = std::make_shared<supervise::RunRedactor>();
  TRIAGE_TRY(opened, create ? open_store_for_runs(url) : open_store_to_change(url));
  TRIAGE_TRY(store, redacting_around(std::move(opened), redactor));
  auto session =
      make(given, std::move(store), std::move(signals), redactor,
           {.folder = shadow_folder(), .store = store_place(url), .left_out = store_paths(url)});
  if (const auto ready = session->supervisor_->prepare(); !ready) {
    return Error{ready.error().code, "nothing was run: " + ready.error().detail};
  }
  return outcome::success(std::move(session));
}

Result<std::unique_ptr<RunSession>> RunSession::rehearse(std::shared_ptr<CheckpointStore> copy,
                                                         const std::string& shadows) {
  TRIAGE_TRY(signals, supervise::Signals::take());
  const auto redactor = std::make_shared<supervise::RunRedactor>();
  TRIAGE_TRY(store, redacting_around(std::move(copy), redactor));
  return outcome::success(make({.quiet = true}, std::move(store), std::move(signals), redactor,
                               {.folder = shadows, .shared = false}));
}

std::unique_ptr<RunSession> RunSession::make(
    const SessionArguments& given, std::shared_ptr<CheckpointStore> store,
    std::shared_ptr<supervise::Signals> signals,
    const std::shared_ptr<supervise::RunRedactor>& redactor, Shadows shadows) {
  const Telling how =
      given.quiet ? Telling::nothing : (given.json ? Telling::json : Telling::sentences);
  std::unique_ptr<RunSession> session(new RunSession());
  session->given_ = given;
  if (const auto length = parse_duration(given.max_wait)) session->max_wait_ = length.value();
  session->supervisor_ = std::make_unique<supervise::Supervisor>(
      supervise::SupervisorOptions{.store = std::move(store),
                                   .signals = std::move(signals),
                                   .observer = told(how, redactor),
                                   .clock = real_clock(),
                                   .read_policy = &read_policy,
                                   .read_contract = &read_contract_text,
                                   .read_document = &read_adapter_text,
                                   .adapter_folder = installed("adapters"),
                                   .shadows = std::move(shadows.folder),
                                   .store_place = std::move(shadows.store),
                                   .store_option = redactor->text(session->store_option()),
                                   .left_out = std::move(shadows.left_out),
                                   .shared_workspaces = shadows.shared,
                                   .redactor = redactor,
                                   .on_this_host = as_here(given.instead, session->max_wait_),
                                   .on_trouble =
                                       [own = session.get(), redactor](const std::string& text) {
                                         if (own->given_.quiet) return;
                                         own->supervisor_->say(warning(redactor->text(text)));
                                       },
                                   .on_status =
                                       [own = session.get(), redactor](const std::string& text) {
                                         if (!own->given_.json || own->given_.quiet) return;
                                         own->supervisor_->say(status_line(redactor->text(text)));
                                       },
                                   .quiet = how == Telling::nothing});
  return session;
}

Result<supervise::RunAgent> RunSession::agent_for(const supervise::RunSpec& spec) const {
  return supervise::make_run_agent(*supervisor_, spec);
}

Result<supervise::RunAgent> RunSession::agent_of(const RunId& run) const {
  TRIAGE_TRY(start, stored_start(store(), run));
  TRIAGE_TRY(spec, supervise::spec_from_json(start.task));
  return supervise::make_run_agent(*supervisor_, spec, start.version);
}

Result<std::optional<Lease>> RunSession::claim_orphan(
    const std::function<bool(const RunId&)>& wanted) const {
  const bool known = !orphans_.empty();
  if (!known) {
    TRIAGE_TRY(
        runs,
        store().runs({.agent = supervise::agent_name, .status = RunStatus::running, .limit = 0}));
    for (const RunInfo& run : runs) {
      if (!run.owned && !run.damaged) orphans_.push_back(run.id);
    }
  }
  while (!orphans_.empty()) {  // The oldest is the last. Others may be faster.
    const RunId run = std::move(orphans_.back());
    orphans_.pop_back();
    if (!wanted(run)) continue;
    auto lease = store().acquire(run);
    if (!lease) {
      const Errc code = lease.error().code;
      if (code == Errc::busy || code == Errc::not_found || code == Errc::corrupt) continue;
      return lease.error();
    }
    const auto now = store().run(run);
    if (now && now.value().status == RunStatus::running) {
      return outcome::success(std::optional<Lease>(std::move(lease).value()));
    }
    static_cast<void>(store().release(lease.value()));
  }
  if (known) return claim_orphan(wanted);  // There may be new ones.
  return outcome::success(std::optional<Lease>());
}

supervise::RunAgent RunSession::watcher() const {
  return supervise::make_watching_agent(*supervisor_);
}

RunOptions RunSession::run_options() const {
  return {.stop_token = supervisor_->options().signals->stop_token()};
}

RunOptions RunSession::run_options(const RunId& run) const {
  RunOptions options = run_options();
  const auto start = stored_start(store(), run);
  auto spec = start ? supervise::spec_from_json(start.value().task) : start.error();
  if (!spec) return options;  // Whoever continues the run says what is wrong with it.
  // Also without a wait of its own: somebody may have gone on with another one before.
  if (max_wait_) spec.value().max_wait = *max_wait_;
  options.limits = supervise::limits_of(spec.value());
  return options;
}

std::string RunSession::store_option() const {
  return given_.store.empty() ? "" : " --store " + shell_word(without_secrets(given_.store));
}

std::string RunSession::command(const std::string& words) const {
  return "`triage " + words + store_option() + "`";
}

void RunSession::tell(const RunId& run, const char* how, const std::string& said) const {
  if (given_.quiet) return;
  const std::string sentence = supervisor_->options().redactor->text(said);
  if (given_.json) {
    std::fprintf(stderr, "%s\n",
                 show(Json{{"event", how}, {"run", run}, {"message", sentence}}).c_str());
  } else {
    warn(sentence);
  }
}

ExitStatus RunSession::conclude_waiting(const RunId& run, const Error& error) const {
  std::string text = "run " + run + " is suspended";
  const auto& suspension = error.suspension();
  const Json waiting = waiting_of(store(), run);
  if (waiting.is_object() && waiting.contains("signal") && waiting["signal"].is_string()) {
    const auto name = waiting["signal"].get<std::string>();
    text = "run " + run + " waits for signal \"" + name + "\"" +
           (suspension && suspension->until ? ", until " + iso_time(*suspension->until) : "") +
           "; " + command("signal send " + run + " " + shell_word(name)) + " sends it, and " +
           command("resume --due") + " goes on then";
  } else if (suspension && suspension->until) {
    text +=
        " until " + iso_time(*suspension->until) + "; " + command("resume --due") + " goes on then";
  } else {
    const std::string& asks = suspension ? suspension->message : error.detail;
    text += " and waits for a decision" + (asks.empty() ? "" : ": " + asks);
    if (suspension && !suspension->token.empty()) {
      text += "; " + command("decide " + suspension->token + " ACTION") + " takes it";
    } else {
      text += "; the token was told then, and " + command("reissue " + run) + " prints a new one";
    }
  }
  tell(run, "suspended", text);
  return given_.exit_status == "triage" ? ExitStatus::suspended : waiting_status;
}

std::string RunSession::doubt(const RunId& run, const Error& error) const {
  const std::string key(error.doubted_effect());
  return reason_of(error) + ". Find out whether it happened, record it with " +
         command("settle " + run + " " + (key.empty() ? "KEY" : shell_word(key)) + " done") +
         " (or not-done), and " + command("resume " + run) + " goes on";
}

void RunSession::tell_doubts(const RunId& run) const {
  if (supervisor_->newest_run() != run) return;
  for (const std::string& key : supervisor_->in_doubt()) {
    tell(run, "in_doubt",
         "run " + run + " has finished, but it is not known whether its effect \"" +
             printable(key) + "\" happened; find out, and record it with " +
             command("settle " + run + " " + shell_word(key) + " done") + " (or not-done)");
  }
}

std::string RunSession::in_words(const RunId& run, const Error& error) const {
  if (error.code != Errc::conflict) return error.detail;
  const auto info = store().run(run);
  if (!info || info.value().status != RunStatus::poisoned) return error.detail;
  return error.detail + "; find out why, and " + command("resume " + run + " --revive") +
         " goes on";
}

std::optional<int> RunSession::recorded_status(const RunId& run) const {
  const auto reading = store().read(run, {});
  if (!reading) return std::nullopt;
  const auto& records = reading.value().records;
  const auto newest = std::find_if(records.rbegin(), records.rend(), [](const Record& record) {
    return record.kind() == RecordKind::failure_classified;
  });
  if (newest == records.rend()) return std::nullopt;
  const auto body = newest->body();
  if (!body || !body.value().is_object()) return std::nullopt;
  const Json code = body.value().value("code", Json());
  if (!code.is_object() || code.value("category", Json()) != "exit_status") return std::nullopt;
  return detail::find_field<int>(code, "value");
}

ExitStatus RunSession::conclude(const RunId& run, const Result<Json>& result,
                                IfEnded if_ended) const {
  const ExitStatus status = conclude_run(run, result, if_ended);
  const std::string& unwritten = supervisor_->unwritten();
  if (supervisor_->newest_run() != run || unwritten.empty()) return status;
  const ExitStatus failed = report({Errc::io, unwritten});
  return status == ExitStatus::done ? failed : status;
}

ExitStatus RunSession::conclude_run(const RunId& run, const Result<Json>& result,
                                    IfEnded if_ended) const {
  const bool worked = supervisor_->newest_run() == run;
  std::optional<int> child = worked ? supervisor_->newest_status() : std::nullopt;
  const bool own = given_.exit_status == "child";
  if (result && !worked && result.value().is_object() && result.value().contains("exit_status")) {
    tell(run, "finished", "run " + run + " has finished before; nothing was run");
    const Json& before = result.value()["exit_status"];
    return own && before.is_number_integer() ? static_cast<ExitStatus>(before.get<int>())
                                             : ExitStatus::done;
  }
  if (result) {
    tell_doubts(run);
    return own && child ? static_cast<ExitStatus>(*child) : ExitStatus::done;
  }
  const Error& error = result.error();
  if (error.code == Errc::suspended) return conclude_waiting(run, error);
  const bool ended = error.code == Errc::escalated || error.code == Errc::aborted ||
                     error.code == Errc::cancelled || error.code == Errc::in_doubt;
  if (!ended) {
    const ExitStatus status =
        report({error.code, supervisor_->options().redactor->text(in_words(run, error))});
    // A success whose end is not stored is none: the next resume runs the child again.
    const bool failed = own && child && *child != 0 && error.code != Errc::fenced;
    return failed ? static_cast<ExitStatus>(*child) : status;
  }
  if (error.code == Errc::cancelled) {
    tell(run, "cancelled", "run " + run + " was stopped; " + command("resume " + run) + " goes on");
  } else if (error.code == Errc::in_doubt) {
    tell(run, "in_doubt", "run " + run + " waits for a person: " + doubt(run, error));
  } else {
    const bool aborted = error.code == Errc::aborted;
    std::string text = "run " + run + " gave up: " + ending(error) + "; ";
    if (!error.advice().empty()) {  // It had ended before.
      text +=
          (aborted ? "only " + command("resume " + run + " --revive") : command("resume " + run)) +
          " goes on; ";
    }
    tell(run, aborted ? "aborted" : "escalated", text + command("explain " + run) + " tells why");
    if (!worked && if_ended == IfEnded::repeat) child = recorded_status(run);
  }
  return own && child && *child != 0 ? static_cast<ExitStatus>(*child) : exit_status(error.code);
}

}  // namespace triage::inline v0_1::cli
