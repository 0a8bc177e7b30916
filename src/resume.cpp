// SPDX-License-Identifier: MIT
// Going on with a run: after a crash, after it ended without a result, after a decision.
#include "run.hpp"
#include "shield.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

class Continuation {
 public:
  explicit Continuation(const AgentCore& agent) : core(agent) {}
  ~Continuation() {
    if (body && body->store && body->started) {
      static_cast<void>(shielded([&] { return body->store->release(body->writer.lease); }));
    }
  }
  Continuation(const Continuation&) = delete;
  Continuation& operator=(const Continuation&) = delete;

  const AgentCore& core;
  RunOptions options{};
  Json task{};
  std::unique_ptr<RunBody> body{};
  std::optional<Json> recorded{};  // Body of `finished`, if the run has ended with a result.
  Input first = Input::start;
  int attempts = 0;
};

void ContinuationDeleter::operator()(Continuation* continuation) const noexcept {
  delete continuation;
}

const Json& task_of(const Continuation& continuation) noexcept { return continuation.task; }

namespace {

// Stored bodies are not trusted to hold the types we write.
std::string text_field(const Json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<void> check_fingerprint(const AgentCore& core, const Journal& journal) {
  const Json& start = journal.start();
  const std::string recorded = text_field(start, "fingerprint");
  if (recorded == core.fingerprint) return outcome::success();
  return Error{Errc::conflict,
               "run \"" + journal.run() + "\" was recorded by agent \"" +
                   text_field(start, "agent") + "\" version \"" + text_field(start, "version") +
                   "\" with fingerprint " + recorded + "; this is \"" + core.options.name +
                   "\" version \"" + core.options.version + "\" with " + core.fingerprint +
                   ": name, version, policy or contract differ. Set accept_changed to go on"};
}

// The position to go on from: its sequence, or 0 for what the journal holds now.
Result<Sequence> find_start(const Journal& journal, const std::string& from) {
  if (from.empty()) return outcome::success(journal.latest().info.id.sequence);
  const auto by_label = journal.find_label(from);
  if (by_label) return outcome::success(journal.positions()[*by_label].seq);
  const auto id = parse_checkpoint_id(from);
  if (id && id.value().run == journal.run() && journal.find(id.value().sequence)) {
    return outcome::success(id.value().sequence);
  }
  return Error{Errc::not_found, "run \"" + journal.run() + "\" has no checkpoint \"" +
                                    printable(from) + "\"; give an id (RUN@SEQUENCE) or a label"};
}

Recovery resumed_recovery(const Journal& journal, Sequence from, const AgentContract& contract) {
  Recovery recovery{.action = RecoveryAction::Kind::resume,
                    .failure_type = FailureType::crashed,
                    .reason = "process_died"};
  if (!journal.stopped().is_null()) {
    recovery.failure_type =
        parse_failure_type(text_field(journal.stopped(), "type")).value_or(FailureType::unknown);
    recovery.reason = text_field(journal.stopped(), "status");
  }
  recovery.hint = from == 0 ? "The run goes on from its start."
                            : "The run goes on from checkpoint " +
                                  to_string(CheckpointId{journal.run(), from}) + ".";
  if (from != 0) recovery.checkpoint_id = to_string(CheckpointId{journal.run(), from});
  for (const ToolContract& tool : contract.tools) recovery.tools.push_back(tool.name);
  return recovery;
}

}  // namespace

Result<ContinuationPtr> open_run(const AgentCore& core, const RunId& id,
                                 const ResumeOptions& options) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_run_id(id));
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  auto store = options.run.store ? options.run.store : core.options.store;
  if (!store) {
    return Error{Errc::not_found, "run \"" + id + "\" cannot be found: the agent has no store"};
  }
  ContinuationPtr opened(new Continuation(core));
  opened->options = options.run;
  opened->options.run_id = id;
  opened->body = std::make_unique<RunBody>();
  RunBody& b = *opened->body;
  TRIAGE_TRY(info, shielded([&] { return store->run(id); }));
  const bool finished = info.status == RunStatus::finished && options.from.empty();
  if (!finished) {
    TRIAGE_TRY(lease, shielded([&] { return store->acquire(id); }));
    b.writer.lease = std::move(lease);
    b.store = store;
    b.started = true;
  }
  TRIAGE_TRY(reading, shielded([&] { return store->read(id, {}); }));
  TRIAGE_TRY(journal, Journal::fold(reading));
  opened->task = journal.start().value("task", Json());
  if (!options.accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  if (finished && !journal.finished().is_null()) {
    opened->recorded = journal.finished();
    return outcome::success(std::move(opened));
  }
  if (finished) {
    return Error{Errc::corrupt, "run \"" + id + "\" has finished, but its result is damaged"};
  }
  if (journal.start().contains("task") == false) {
    return Error{Errc::unsupported, "run \"" + id +
                                        "\" was recorded without its task, because the "
                                        "task's type had no conversion to JSON"};
  }
  TRIAGE_TRY(from, find_start(journal, options.from));
  if (journal.broken_at()) {
    b.damaged_at = *journal.broken_at();
    b.context.notes.push_back("record " + std::to_string(*journal.broken_at()) +
                              " is damaged or missing; going on from what is intact before it");
  }
  b.recovery = std::make_unique<Recovery>(resumed_recovery(journal, from, core.options.contract));
  b.writer.background = core.options.write_mode == WriteMode::background;
  b.writer.queued = journal.last();
  b.writer.durable = journal.last();
  b.task = opened->task;
  const WallTime wall = core.clock->wall_now();
  b.writer.pending.push_back(
      journal.add(RecordKind::resumed, wall, Json{{"to", from}, {"reason", b.recovery->reason}}));
  b.writer.pending.push_back(journal.snapshot_state(journal.state().json(), false, wall));
  b.restored_steps = journal.trajectory().size();
  opened->attempts = journal.attempts();
  b.writer.pending.push_back(
      journal.add(RecordKind::attempt_started, wall, Json{{"number", journal.attempts() + 1}}));
  b.writer.queued = journal.last();
  b.journal = std::move(journal);
  return outcome::success(std::move(opened));
}

// The lease of a suspended run, if its journal is still as it was put aside.
static Result<Lease> take_up(const SuspendedRun& waiting) {
  CheckpointStore& store = *waiting.body->store;
  const RunId& id = waiting.options.run_id;
  TRIAGE_TRY(lease, shielded([&] { return store.acquire(id); }));
  const auto info = shielded([&] { return store.run(id); });
  if (info && info.value().last == waiting.body->journal.last()) {
    return outcome::success(std::move(lease));
  }
  static_cast<void>(shielded([&] { return store.release(lease); }));
  if (!info) return info.error();
  return Error{Errc::conflict, "run \"" + id + "\" went on without this decision and is " +
                                   std::string(to_string(info.value().status))};
}

Result<ContinuationPtr> open_suspended(const AgentCore& core, std::string_view token,
                                       RecoveryAction action) {
  if (core.problem) return *core.problem;
  TRIAGE_TRY(waiting, core.suspended.take(token, action.kind));
  if (waiting.body->store) {
    auto lease = take_up(waiting);
    if (!lease) {
      // Somebody may still decide, unless the run has gone on without the decision.
      if (lease.error().code != Errc::conflict) core.suspended.put_back(token, std::move(waiting));
      return std::move(lease).error();
    }
    waiting.body->writer.lease = std::move(lease).value();
    waiting.body->started = true;
  }
  ContinuationPtr opened(new Continuation(core));
  opened->options = std::move(waiting.options);
  opened->body = std::move(waiting.body);
  opened->attempts = waiting.attempts;
  opened->first = Input::decided;
  RunBody& b = *opened->body;
  opened->task = b.task;
  if (b.store) {
    b.writer.status = RunStatus::running;
    b.writer.pending.push_back(
        b.journal.add(RecordKind::resumed, core.clock->wall_now(),
                      Json{{"to", 0}, {"reason", "decided"}, {"action", to_string(action.kind)}}));
    b.writer.queued = b.journal.last();
  }
  b.decided = std::make_unique<RecoveryAction>(std::move(action));
  return outcome::success(std::move(opened));
}

Outcome recorded_result(const AgentCore& core, Call call, const RunOptions& options,
                        bool* degraded) {
  auto opened = open_run(core, options.run_id, {.accept_changed = true, .run = options});
  if (!opened) return std::make_unique<Error>(std::move(opened).error());
  return proceed(std::move(opened).value(), call, degraded);
}

Outcome proceed(ContinuationPtr continuation, Call call, bool* degraded) {
  if (continuation->recorded) {
    const Json& finished = *continuation->recorded;
    try {
      if (finished.contains("result") && call.table->adopt(call.frame, finished["result"])) {
        *degraded = finished.value("degraded", false);
        return nullptr;
      }
    } catch (...) {
      return std::make_unique<Error>(
          Errc::conflict, "the recorded result does not convert to the agent's result: " +
                              current_exception_text());
    }
    return std::make_unique<Error>(
        Errc::unsupported,
        "the run has finished, but its result could not be stored" +
            (finished.contains("problem") ? ": " + text_field(finished, "problem")
                                          : std::string(": its type has no conversion to JSON")));
  }
  Run run(continuation->core, call, continuation->options);
  run.adopt(std::move(continuation->body), continuation->attempts);
  Outcome outcome = run.drive(RunMachine::Phase::ready, continuation->first);
  *degraded = run.degraded();
  return outcome;
}

}  // namespace triage::inline v0_1::detail
