// SPDX-License-Identifier: MIT
// Going on with a run: after a crash, after it ended without a result, after a decision.
#include "resume/continuation.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

void ContinuationDeleter::operator()(Continuation* continuation) const noexcept {
  delete continuation;
}

const Json& task_of(const Continuation& continuation) noexcept { return continuation.task; }

Result<void> check_fingerprint(const AgentCore& core, const Journal& journal) {
  const Json& start = journal.start();
  if (text_field(start, "fingerprint") == core.fingerprint.whole) return outcome::success();
  const std::string agent = text_field(start, "agent");
  const std::string version = text_field(start, "version");
  std::string changes;
  const auto compare = [&changes](bool same, const std::string& what) {
    if (!same) changes += (changes.empty() ? "" : ", ") + what;
  };
  compare(agent == core.options.name,
          "the name (\"" + agent + "\" then, \"" + core.options.name + "\" now)");
  compare(version == core.options.version,
          "the version (\"" + version + "\" then, \"" + core.options.version + "\" now)");
  if (const auto parts = start.find("parts"); parts != start.end()) {
    compare(text_field(*parts, "policy") == core.fingerprint.policy, "the policy's strategies");
    compare(text_field(*parts, "contract") == core.fingerprint.contract, "the contract");
    if (changes.empty()) return outcome::success();  // Numbers of the policy, no more.
  } else if (changes.empty()) {
    changes = "the policy or the contract";
  }
  return Error{Errc::conflict, "run \"" + journal.run() +
                                   "\" was recorded under another fingerprint; what differs: " +
                                   changes + ". Set accept_changed to go on"};
}

Result<void> check_task(const Journal& journal) {
  if (journal.start().contains("task")) return outcome::success();
  return Error{Errc::unsupported, "run \"" + journal.run() +
                                      "\" was recorded without its task, because the task's type "
                                      "had no conversion to JSON"};
}

Result<void> check_claims(const Journal& journal, std::size_t position) {
  const Sequence seq = journal.positions()[position].seq;
  const auto& undoing = journal.compensating_after();
  if (!journal.claims_undone(position) && !(undoing && seq > *undoing)) return outcome::success();
  return Error{Errc::conflict,
               "checkpoint " + to_string(CheckpointId{journal.run(), seq}) +
                   " is behind an effect that has been undone since, so its state claims what is "
                   "not so any more; choose one before that effect"};
}

namespace {

// The position to go on from: its sequence, or 0 for what the journal holds now.
Result<Sequence> find_start(const Journal& journal, const std::string& from) {
  if (from.empty()) return outcome::success(journal.latest().info.id.sequence);
  std::optional<std::size_t> found = journal.find_label(from);
  const auto id = parse_checkpoint_id(from);
  if (!found && id && id.value().run == journal.run()) found = journal.find(id.value().sequence);
  if (found) {
    TRIAGE_TRYV(check_claims(journal, *found));
    return outcome::success(journal.positions()[*found].seq);
  }
  return Error{Errc::not_found, "run \"" + journal.run() + "\" has no checkpoint \"" +
                                    printable(from) + "\"; give an id (RUN@SEQUENCE) or a label"};
}

}  // namespace

Recovery resumed_recovery(const Journal& journal, Sequence from,
                          const std::shared_ptr<const AgentContract>& contract) {
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
  recovery.contract = contract;
  if (contract) {
    for (const ToolContract& tool : contract->tools) recovery.tools.push_back(tool.name);
  }
  return recovery;
}

std::shared_ptr<CheckpointStore> store_of(const AgentCore& core, const RunOptions& options) {
  return options.store ? options.store : core.options.store;
}

Terms TakenOver::terms() const {
  Clock& clock = *opened->core.clock;
  Terms terms{.limits = opened->options.limits};
  if (opened->options.deadline) terms.deadline = wall_time(clock, *opened->options.deadline);
  terms.elapsed = clock.now() - opened->body->started_at.value_or(clock.now());
  return terms;
}

// A run goes on with what it had. What the caller gives wins.
static void keep_terms(Continuation& opened, const JournalReading& reading) {
  Clock& clock = *opened.core.clock;
  const Terms terms = terms_of(reading);
  RunOptions& options = opened.options;
  opened.body->started_at = clock.now() - terms.elapsed;
  if (!options.limits) options.limits = terms.limits;
  if (!options.deadline && terms.deadline) {
    options.deadline = time_point(clock, *terms.deadline);
  }
}

Result<TakenOver> take_over(const AgentCore& core, std::shared_ptr<CheckpointStore> store,
                            const RunId& id, const RunOptions& options, bool accept_changed) {
  ContinuationPtr opened(new Continuation(core));
  opened->options = options;
  opened->options.run_id = id;
  opened->body = std::make_unique<RunBody>();
  RunBody& b = *opened->body;
  store->queue().retry_releases();
  TRIAGE_TRY(lease, shielded([&] { return store->acquire(id); }));
  b.writer.lease = std::move(lease);
  b.store = std::move(store);
  opened->options.store = b.store;
  b.started = true;
  TRIAGE_TRY(reading, shielded([&] { return b.store->read_newest(id); }));
  TRIAGE_TRY(journal, Journal::fold(reading));
  opened->task = journal.start().value("task", Json());
  if (!accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  keep_terms(*opened, reading);
  b.writer.background = core.options.write_mode == WriteMode::background;
  b.writer.queued = journal.last();
  b.writer.durable = journal.last();
  b.task = opened->task;
  if (journal.broken_at()) {
    b.damaged_at = *journal.broken_at();
    b.context().notes.push_back("record " + std::to_string(*journal.broken_at()) +
                                " is damaged or missing; going on from what is intact before it");
  }
  return TakenOver{std::move(opened), std::move(journal), std::move(reading)};
}

// The recorded result of a run; no lease is needed to read it.
static Result<ContinuationPtr> open_finished(const AgentCore& core, CheckpointStore& store,
                                             const RunId& id, bool accept_changed) {
  TRIAGE_TRY(reading, shielded([&] { return store.read(id, {}); }));
  TRIAGE_TRY(journal, Journal::fold(reading));
  if (!accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  if (journal.finished().is_null()) {
    return Error{Errc::corrupt, "run \"" + id + "\" has finished, but its result is damaged"};
  }
  ContinuationPtr opened(new Continuation(core));
  opened->task = journal.start().value("task", Json());
  opened->recorded = journal.finished();
  return outcome::success(std::move(opened));
}

Result<void> learn_state(CheckpointStore& store, Journal& journal, Sequence at) {
  const auto position = journal.find(at);
  if (!position || journal.knows_state(*position)) return outcome::success();
  TRIAGE_TRY(state, shielded([&] { return store.load_state({journal.run(), at}); }));
  journal.learn_state(*position, std::move(state));
  return outcome::success();
}

Result<ContinuationPtr> go_on(TakenOver taken, Sequence from, Recovery recovery) {
  Continuation& opened = *taken.opened;
  Journal& journal = taken.journal;
  RunBody& b = *opened.body;
  TRIAGE_TRYV(learn_state(*b.store, journal, from));
  b.recovery = std::make_unique<Recovery>(std::move(recovery));
  if (auto ticket = text_field(journal.suspended(), "ticket"); !ticket.empty()) {
    b.extras().spent_ticket = std::move(ticket);
  }
  const WallTime wall = opened.core.clock->wall_now();
  Json fields{{"to", from}, {"reason", b.recovery->reason}};
  put_terms(taken.terms(), fields);
  b.writer.pending.push_back(journal.add(RecordKind::resumed, wall, std::move(fields)));
  // Where reading back is short without it, a snapshot would only make the store larger with every
  // process that dies.
  if (journal.wants_snapshot()) {
    b.writer.pending.push_back(journal.snapshot_state(journal.state().json(), false, wall));
  }
  b.restored_steps = journal.trajectory().size();
  opened.attempts = journal.attempts();
  b.writer.pending.push_back(
      journal.add(RecordKind::attempt_started, wall, Json{{"number", journal.attempts() + 1}}));
  b.writer.queued = journal.last();
  b.journal = std::move(journal);
  return outcome::success(std::move(taken.opened));
}

Result<ContinuationPtr> open_run(const AgentCore& core, const RunId& id,
                                 const ResumeOptions& options) {
  return open_stored(core, id, options, Asked::to_go_on);
}

Result<ContinuationPtr> open_stored(const AgentCore& core, const RunId& id,
                                    const ResumeOptions& options, Asked asked) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_run_id(id));
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  auto store = store_of(core, options.run);
  if (!store) {
    return Error{Errc::not_found, "run \"" + id + "\" cannot be found: the agent has no store"};
  }
  TRIAGE_TRY(info, shielded([&] { return store->run(id); }));
  if (info.status == RunStatus::finished && options.from.empty()) {
    return open_finished(core, *store, id, options.accept_changed);
  }
  TRIAGE_TRY(taken, take_over(core, std::move(store), id, options.run, options.accept_changed));
  if (options.from.empty() && !taken.journal.finished().is_null()) {  // Finished just now.
    taken.opened->recorded = taken.journal.finished();
    return std::move(taken.opened);
  }
  TRIAGE_TRYV(check_ended(core, taken.reading, taken.journal, options, asked));
  TRIAGE_TRYV(check_task(taken.journal));
  TRIAGE_TRYV(check_poison(taken, options.revive));
  const char* died = options.revive ? "revived" : "process_died";
  if (options.from.empty() && !taken.journal.decision().is_null()) {
    OutsideDecision pending = pending_decision(taken.journal, died);
    return carry_out(std::move(taken), std::move(pending));
  }
  if (taken.journal.aborting() && !options.revive) {  // Its process died before it had done so.
    const Json action = newest_body(taken.reading, RecordKind::action_taken);
    return carry_out(std::move(taken),
                     {.action = RecoveryAction::abort(text_field(action, "message")),
                      .who = text_field(action, "by"),
                      .reason = died});
  }
  TRIAGE_TRY(from, find_start(taken.journal, options.from));
  if (!options.from.empty()) taken.opened->body->chosen_from = from;
  Recovery recovery = resumed_recovery(taken.journal, from, core.contract);
  if (options.revive && taken.journal.stopped().is_null()) recovery.reason = died;
  return go_on(std::move(taken), from, std::move(recovery));
}

// A run id stands for one piece of work, so the result of another agent or task is no answer.
static Result<void> check_same_task(const Continuation& finished, Call call, const RunId& id) {
  Json task;
  bool comparable = false;
  try {
    comparable =
        call.table->task_json(call.frame, task) && (!finished.task.is_null() || task.is_null());
  } catch (...) {
    return Error{Errc::invalid_argument,
                 "the task's conversion to JSON threw: " + current_exception_text()};
  }
  if (comparable && task == finished.task) return outcome::success();
  return Error{Errc::conflict,
               "run \"" + id +
                   (comparable ? "\" has finished with another task"
                               : "\" has finished, and its task cannot be compared with this one, "
                                 "because the task's type has no conversion to JSON") +
                   "; give another run id, or ask for its result with resume_run"};
}

Outcome recorded_result(const AgentCore& core, Call call, const RunOptions& options,
                        bool* degraded) {
  auto opened = open_run(core, options.run_id, {.run = options});
  if (!opened) return std::make_unique<Error>(std::move(opened).error());
  if (auto same = check_same_task(*opened.value(), call, options.run_id); !same) {
    return std::make_unique<Error>(std::move(same).error());
  }
  return resume(std::move(opened).value(), call, degraded);
}

Outcome resume(ContinuationPtr continuation, Call call, bool* degraded) {
  if (continuation->recorded) {
    const Json& finished = *continuation->recorded;
    try {
      if (finished.contains("result") && call.table->put_result(call.frame, finished["result"])) {
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
  std::optional<AttemptUse> parent;
  if (const Attempt* above = continuation->options.parent;
      above != nullptr && !parent.emplace(*above)) {
    return std::make_unique<Error>(ended_parent());
  }
  Run run(continuation->core, call, continuation->options);
  run.adopt(std::move(continuation->body), continuation->attempts);
  Outcome outcome = run.drive(RunMachine::Phase::ready, continuation->first);
  *degraded = run.degraded();
  return outcome;
}

}  // namespace triage::inline v0_1::detail
