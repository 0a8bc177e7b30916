// SPDX-License-Identifier: MIT
#include "supervise/supervisor.hpp"

#include "supervise/adapters/find_adapter.hpp"
#include "supervise/attempt/verdict.hpp"
#include "supervise/live_attempt.hpp"
#include "supervise/process/leftovers.hpp"
#include "supervise/protocol/recovery_file.hpp"
#include "supervise/spec/command_gates.hpp"
#include "triage/detail/cancel_token.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace triage::inline v0_1::supervise {
namespace {

constexpr int not_executed = 126;  // As env(1) and the shells say it.
constexpr int not_there = 127;
constexpr int most_attempts = 1'000;  // The policy decides long before.

std::string base_name(const std::string& program) {
  return std::filesystem::path(program).filename().string();
}

// This process's environment with some variables set.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& set) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    // Meant for this process by its own supervisor.
    const std::string name(text.substr(0, text.find('=')));
    if (set.contains(name) || name == "TRIAGE_RECOVERY" || name == "TRIAGE_EFFECTS" ||
        name == "TRIAGE_IDEMPOTENCY_KEY" || name.starts_with("WATCHDOG_")) {
      continue;
    }
    all.emplace_back(text);
  }
  for (const auto& [name, value] : set) all.push_back(name + "=" + value);
  return all;
}

// The user has ended it from the keyboard.
bool interrupted(const ChildEnd& end) {
  return end.cause == ChildEnd::Cause::itself && WIFSIGNALED(end.status) &&
         WTERMSIG(end.status) == SIGINT;
}

// Ends the run for whoever must find out: every further attempt would only come to the same doubt.
void ask_again(Attempt& attempt, const Doubt& doubt) {
  const auto nothing = [](const EffectCall&) -> Json { throw EffectNotDone("nobody was asked"); };
  if (doubt.arguments.is_null()) {
    static_cast<void>(attempt.effect(doubt.key, nothing));
  } else {
    static_cast<void>(attempt.effect(doubt.key, doubt.arguments, nothing));
  }
}

// Both may have gone since the run began. Errors: Errc::not_found, Errc::io.
Result<std::string> locate(const std::string& program, const std::string& folder) {
  std::error_code problem;
  const auto found = std::filesystem::status(folder, problem).type();
  if (found == std::filesystem::file_type::directory) return find_program(program, folder);
  const bool unknown = found == std::filesystem::file_type::none;  // Another user's, for example.
  return Error{Errc::io, "the folder of the run, \"" + printable(folder) + "\", " +
                             (unknown ? "cannot be used: " + problem.message() : "is gone")};
}

// Ends the run: no further attempt would come further.
Error never_executed(Attempt& attempt, const Error& why) {
  return attempt.fail(
      {.text = why.detail, .type = FailureType::unknown, .reason = not_executed_reason});
}

// Another attempt may find the store again.
Error not_started(Error why) {
  why.detail =
      "the program was not started, since its process could not be recorded: " + why.detail;
  return why;
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)) {
  if (!options_.clock) options_.clock = real_clock();
  if (!options_.random) options_.random = real_random();
}

Result<void> Supervisor::prepare() {
  if (const auto own = mark_of(::getpid()); !own) {
    return Error{Errc::io, "processes cannot be told apart without /proc"};
  }
  if (folder_.exists()) return outcome::success();
  TRIAGE_TRY(made, PrivateFolder::make());
  folder_ = std::move(made);
  return outcome::success();
}

// Another supervisor may have begun attempts since the last one that this one served.
Result<void> Supervisor::end_former(Attempt& attempt) {
  if (attempt.number() == 1 || served_ == std::pair(attempt.run_id(), attempt.number() - 1)) {
    return outcome::success();
  }
  TRIAGE_TRY(mark, newest_mark(*options_.store, attempt.run_id()));
  if (mark) {
    TRIAGE_TRYV(end_leftovers(*mark));
  }
  return outcome::success();
}

// Applies the rules the run began with to its steps and proposals.
Result<void> Supervisor::promise(const RunSpec& spec, Attempt& attempt) {
  AgentContract contract;
  if (!spec.contract.empty()) {
    TRIAGE_TRY(read, options_.read_contract(spec.contract));
    contract = std::move(read);
    attempt.set_contract(contract);
  }
  guard_->set(std::move(contract), spec.guard);
  return outcome::success();
}

// Returns where. A folder may be full, and another one not.
Result<std::string> Supervisor::write_recovery(const std::string& text) {
  const std::string name = "/recovery.json";
  const auto written = write_private(folder_.path() + name, text);
  if (written) return folder_.path() + name;
  for (const std::string& base : PrivateFolder::bases()) {
    auto other = PrivateFolder::make(base);
    if (!other || !write_private(other.value().path() + name, text)) continue;
    roomier_ = std::move(other).value();
    return roomier_.path() + name;
  }
  return written.error();
}

Result<ChildPlan> Supervisor::plan(const RunSpec& spec, Attempt& attempt, const LiveAttempt& live,
                                   const std::string& token) {
  const Protocol& protocol = live.protocol();
  ChildPlan plan;
  plan.folder = spec.folder;
  plan.limits = spec.limits;
  plan.inherited = protocol.pipe_for_child();
  plan.inherited_as = low_number(plan.inherited);
  std::map<std::string, std::string> variables{
      {"TRIAGE_RUN_ID", attempt.run_id()},
      {"TRIAGE_ATTEMPT", std::to_string(attempt.number())},
      {"TRIAGE_PROTOCOL", std::to_string(protocol_version)},
      {"TRIAGE_SOCKET", protocol.socket_path()},
      {"TRIAGE_FD", std::to_string(plan.inherited_as)},
      {"NOTIFY_SOCKET", protocol.notify_path()},
      {"TRIAGE_ADAPTER", live.adapted().reads() ? live.adapted().adapter_name() : ""},
      {lineage_variable, lineage_with(token)}};
  if (spec.idle_timeout > Duration::zero()) {  // Source: sd_watchdog_enabled(3).
    variables["WATCHDOG_USEC"] = std::to_string(
        std::chrono::duration_cast<std::chrono::microseconds>(spec.idle_timeout).count());
  }
  if (const Json recovery = recovery_json(attempt); !recovery.is_null()) {
    TRIAGE_TRY(file, write_recovery(show(recovery, 2) + "\n"));
    variables["TRIAGE_RECOVERY"] = file;
  }
  plan.environment = environment_with(variables);
  return outcome::success(std::move(plan));
}

Result<Json> Supervisor::attempt(const Json& task, Attempt& attempt) {
  if (std::exchange(run_, attempt.run_id()) != attempt.run_id()) {
    status_.reset();
    unwritten_.clear();
    in_doubt_.clear();
  }
  TRIAGE_TRY(spec, spec_from_json(task));
  if (options_.on_this_host) options_.on_this_host(spec);
  TRIAGE_TRYV(end_former(attempt));
  TRIAGE_TRY(found, find_adapter(spec.adapter, spec.command.front(), options_.adapter_folder,
                                 options_.read_document));
  AttemptFiles files(attempt, {.workspace = {.folder = spec.workspace,
                                             .shadows = options_.shadows,
                                             .store = options_.store_place,
                                             .left_out = options_.left_out,
                                             .watch = {.clock = options_.clock},
                                             .shared = options_.shared_workspaces},
                               .store = options_.store.get(),
                               .on_trouble = options_.on_trouble});
  if (const auto begun = files.begin(); !begun) {
    const Errc code = begun.error().code;
    if (code == Errc::cancelled) {
      status_ = 128 + options_.signals->ended_by();
    } else if (code != Errc::fenced) {
      status_ = not_executed;
    }
    return begun.error();
  }
  TRIAGE_TRYV(prepare());
  TRIAGE_TRYV(promise(spec, attempt));
  const Adapter none;
  LiveAttempt live(options_, spec, found ? *found : none, attempt, files, session_);
  TRIAGE_TRYV(live.protocol().open(folder_.path()));
  TRIAGE_TRYV(start(spec, attempt, live, files));
  std::optional<Error> lost;
  keep_lease(attempt, live.io(), lost);
  const ChildEnd end = serve(live.io());
  served_ = {attempt.run_id(), attempt.number()};
  live.protocol().finish();
  in_doubt_ = live.protocol().in_doubt();
  live.adapted().finish();
  files.end(!lost);
  return result(spec, attempt, end, live, std::move(lost));
}

// Executes the program.
Result<void> Supervisor::start(const RunSpec& spec, Attempt& attempt, LiveAttempt& live,
                               AttemptFiles& files) {
  TRIAGE_TRY(command, live.adapted().command());
  const auto program = locate(command.front(), spec.folder);
  if (!program) {
    status_ = program.error().code == Errc::not_found ? not_there : not_executed;
    return never_executed(attempt, program.error());
  }
  const std::string token = make_run_id(options_.clock->wall_now(), *options_.random);
  TRIAGE_TRY(planned, plan(spec, attempt, live, token));
  planned.program = program.value();
  planned.arguments = std::move(command);
  // In the journal before anything is executed: whoever finds this supervisor dead knows whom to
  // end, and a supervisor that has lost the run starts nothing.
  bool recorded = false;
  const Result<void> started = live.io().start(std::move(planned), [&](pid_t pid) -> Result<void> {
    TRIAGE_TRY(mark, mark_of(pid));
    mark.token = token;
    if (live.io().has_terminal()) mark.session = pid;  // It may not have begun it yet.
    if (auto stored = detail::own_checkpoint(attempt, to_label(mark)); !stored) {
      return not_started(std::move(stored).error());
    }
    recorded = true;
    files.program_runs();
    return outcome::success();
  });
  if (!started && recorded) {
    status_ = not_executed;
    files.program_did_not_run();
  }
  if (!started && started.error().code == Errc::invalid_argument) {
    return never_executed(attempt, started.error());
  }
  TRIAGE_TRYV(started);
  live.protocol().close_pipe_for_child();
  return outcome::success();
}

// What has come of an attempt. lost: another host has taken the run over.
Result<Json> Supervisor::result(const RunSpec& spec, Attempt& attempt, const ChildEnd& end,
                                LiveAttempt& live, std::optional<Error> lost) {
  const AdaptedAttempt& adapted = live.adapted();
  const auto& stopped = live.protocol().stopped();
  const bool dismissed = end.cause == ChildEnd::Cause::dismissed;
  status_ = dismissed && adapted.finished(end) ? 0 : shell_status(end.status);
  // One that tidies up at a signal and exits with 0 has not done its work, unless it says so.
  const bool succeeds = succeeded(end) && end.stopped_by == 0 && !adapted.unfinished();
  const bool finished = adapted.finished(end) || succeeds;
  const bool ended = !lost && !stopped && finished;
  if (!ended && !options_.quiet) say("");  // What follows begins on a line of its own.
  if (lost) return *std::move(lost);
  if (stopped) return *stopped;
  if (ended) return outcome::success(Json{{"exit_status", *status_}});
  if (end.stopped_by != 0 && status_ == 0) status_ = 128 + end.stopped_by;
  if (end.stopped_by != 0 || interrupted(end)) options_.signals->stop();
  const auto doubt = live.protocol().doubt();
  if (doubt && !detail::cancel_token(attempt).stop_requested()) ask_again(attempt, *doubt);
  return failed(spec, attempt, end, live);
}

ChildEnd Supervisor::serve(AttemptIo& io) {
  serving_ = &io;
  const struct Ending {  // Also if something is thrown.
    AttemptIo*& serving;
    ~Ending() { serving = nullptr; }
  } ending{serving_};
  ChildEnd end = io.serve();
  if (!end.unwritten.empty()) unwritten_ = end.unwritten;
  in_line_ = end.in_line;
  return end;
}

void Supervisor::say(const std::string& line) {
  if (serving_ != nullptr) return serving_->say(line);
  if (std::exchange(in_line_, false)) std::fputc('\n', stderr);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// A program may be silent for longer than a lease lives. If another host has taken the run over,
// the program must not run beside that one's.
void Supervisor::keep_lease(Attempt& attempt, AttemptIo& io, std::optional<Error>& lost,
                            int failures) {
  constexpr int most_rests = 5;
  const Duration every = options_.store->capabilities().renew_every;
  if (every <= Duration::zero()) return;
  // A store that is away holds up the program's output while it is asked: so it is asked less
  // often.
  const Duration rest = every * (1 + std::min(failures, most_rests));
  io.loop().call_at(options_.clock->now() + rest, [this, &attempt, &io, &lost, failures] {
    const auto kept = attempt.keep_lease();
    if (kept || kept.error().code != Errc::fenced) {
      return keep_lease(attempt, io, lost, kept ? 0 : failures + 1);
    }
    lost = kept.error();
    io.abandon();
  });
}

Error Supervisor::failed(const RunSpec& spec, Attempt& attempt, const ChildEnd& end,
                         const LiveAttempt& live) {
  const Protocol& protocol = live.protocol();
  const AdaptedAttempt& adapted = live.adapted();
  *state_ = attempt.state().json();
  const std::string name = base_name(spec.command.front());
  Failure failure = adapted.failure(end, name);
  // The program's own report is better than its streams, but facts win.
  if (protocol.failure() && !failure.type && !adapted.unfinished()) failure = *protocol.failure();
  const bool began = end.printed || protocol.spoke();
  if (auto limited = limit_too_low(end, spec.limits, name); limited && !began) {
    failure = *std::move(limited);
  } else if (!began && end.cause == ChildEnd::Cause::itself && WIFSIGNALED(end.status) &&
             spec.limits.memory_bytes > 0) {
    failure.text += " before it had done anything; its limit is " + memory_limit_text(spec.limits);
  }
  if (!began && !failure.type && failure.exception_type.empty()) {
    failure.exception_type = start_up_mark;
  }
  // Before it is quoted: a truncated secret would not be recognised.
  if (options_.redactor) failure.text = options_.redactor->text(failure.text);
  return attempt.fail(std::move(failure));
}

static RunAgent agent_with(Supervisor& supervisor, std::string version,
                           std::vector<std::shared_ptr<Gate>> gates) {
  const SupervisorOptions& options = supervisor.options();
  return RunAgent{[&supervisor](const Json& task, Attempt& attempt) {
                    return supervisor.attempt(task, attempt);
                  },
                  policy_of_runs(options.read_policy, supervisor.newest_state()),
                  {.name = agent_name,
                   .version = std::move(version),
                   .store = options.store,
                   .observer = options.observer,
                   .clock = options.clock,
                   .classifier = classifier_of_runs(),
                   .gates = std::move(gates),
                   .guard = supervisor.guard()}};
}

Result<RunAgent> make_run_agent(Supervisor& supervisor, const RunSpec& spec,
                                const std::string& recorded_version) {
  const SupervisorOptions& options = supervisor.options();
  if (options.redactor) {
    TRIAGE_TRYV(options.redactor->set(spec));
  }
  std::string version = recorded_version;
  if (version != common_version) {
    TRIAGE_TRY(adapter, find_adapter(spec.adapter, spec.command.front(), options.adapter_folder,
                                     options.read_document));
    version = version_of(spec, adapter ? adapter->name : "");
  }
  std::vector<std::shared_ptr<Gate>> gates;
  if (!spec.policy.empty()) {
    TRIAGE_TRY(document, options.read_policy(spec.policy, options.store));
    gates = gates_of_command(document.gates, program_name(spec));
  }
  return outcome::success(agent_with(supervisor, std::move(version), std::move(gates)));
}

RunAgent make_watching_agent(Supervisor& supervisor) {
  return agent_with(supervisor, common_version, {});
}

Limits limits_of(const RunSpec& spec) {
  Limits limits;
  limits.max_attempts = spec.max_attempts > 0 ? spec.max_attempts : most_attempts;
  limits.max_attempts_per_type = limits.max_attempts;
  limits.max_wait = spec.max_wait;
  limits.max_tokens = spec.budget.tokens;
  limits.max_cost_usd = spec.budget.cost_usd;
  limits.max_elapsed = spec.budget.time;
  return limits;
}

}  // namespace triage::inline v0_1::supervise
