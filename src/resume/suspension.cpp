// SPDX-License-Identifier: MIT
// Runs that wait for a decision: suspending them, and checking who decides.
#include "base/digest.hpp"
#include "base/token.hpp"
#include "journal/action_json.hpp"
#include "journal/suspension_fields.hpp"
#include "resume/continuation.hpp"
#include "resume/decision_checks.hpp"
#include "triage/detail/call.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

const std::string_view ticket_space = own_space(OwnSpace::suspensions);

WallTime earliest(const std::vector<AskedWait>& waits) {
  return std::min_element(waits.begin(), waits.end(),
                          [](const auto& a, const auto& b) { return a.until < b.until; })
      ->until;
}

std::string joined_messages(const std::vector<AskedWait>& waits) {
  std::vector<std::string_view> messages;
  for (const AskedWait& wait : waits) {
    const auto known = std::find(messages.begin(), messages.end(), wait.message);
    if (known == messages.end()) messages.emplace_back(wait.message);
  }
  return joined(messages);
}

void put_waits(const std::vector<AskedWait>& waits, const RecoveryAction& action, Json& fields) {
  std::vector<std::string> signals;
  std::vector<Sleep> sleeps;
  for (const AskedWait& wait : waits) {
    if (!wait.signal.empty()) signals.push_back(wait.signal);
    if (!wait.place.empty()) sleeps.push_back({wait.place, wait.until, wait.length});
  }
  put_signals(signals, fields);
  put_sleeps(sleeps, action.until, fields);
}

}  // namespace

// --- Suspending a run.

// The facts for a decision, without secrets.
Suspension Run::shown_suspension(const RecoveryAction& action) {
  RunData& data = *data_;
  RunExtras& extras = data.extras();
  Suspension shown{.run_id = id(),
                   .message = action.message,
                   .allowed_actions = action.allowed_actions,
                   .until = action.until,
                   .agent = core_.options.name};
  try {
    shown.task = data.task;
    if (shown.task.is_null() && !call_.table->task_json(call_.frame, shown.task)) {
      shown.task = task_text();
    }
  } catch (...) {
    shown.task = nullptr;
  }
  if (extras.attempt.asking.by_guard) shown.proposed = extras.attempt.asking.step;
  if (extras.attempt.children.asks) {
    shown.inner = extras.attempt.children.shown();
    shown.proposed = shown.inner->proposed;
  }
  const auto& redact = core_.options.redact;
  if (!redact) return shown;
  Suspension redacted = shown;
  try {
    redact(redacted);
  } catch (...) {
    note("redact threw: " + current_exception_text());
    redacted.task = nullptr;
    if (redacted.proposed) redacted.proposed->input = nullptr;
  }
  shown.task = std::move(redacted.task);
  shown.proposed = std::move(redacted.proposed);
  return shown;
}

Json Run::suspension_fields(const RecoveryAction& action) {
  RunData& data = *data_;
  Json fields{{"message", action.message},
              {"allowed_actions", action.allowed_actions},
              {"status", to_string(RunStatus::suspended)},
              {"type", to_string(data.context().type())},
              {"restored_steps", data.restored_steps}};
  put_terms(terms(), fields);
  if (action.until) {
    fields["until_ms"] = action.until->time_since_epoch().count();
    const std::string& spent_limit = data.situation().spent_limit;
    if (!spent_limit.empty()) {
      const RecoveryAction due = action_when_due(fields);
      if (reruns(due.kind)) fields["then"] = action_json(RecoveryAction::escalate(spent_limit));
    }
  }
  RunExtras& extras = data.extras();
  if (extras.attempt.asking.by_guard) fields["proposed"] = extras.attempt.proposed;
  extras.attempt.asking.shown = std::make_unique<Suspension>(shown_suspension(action));
  if (core_.options.redact) fields["task"] = extras.attempt.asking.shown->task;
  if (const auto& step = extras.attempt.asking.shown->proposed) fields["step"] = step_json(*step);
  put_children(fields);
  return fields;
}

// The record contains the token's hash, so that the process that continues can remove it from
// ticket_space.
void Run::suspend_with(const RecoveryAction& action, Json fields) {
  std::string& token = data_->extras().token;
  token = make_token();
  if (has_store()) fields["ticket"] = digest(token);
  record_fact(RecordKind::suspended, std::move(fields), RunStatus::suspended);
  data_->suspension = std::make_unique<RecoveryAction>(action);
}

// The attempt continues when its first wait is over, or after the decision about a nested run.
// Nothing has failed, so no policy is consulted.
Input Run::suspend_attempt() {
  RunData& data = *data_;
  give_back_permit();
  RunExtras& extras = data.extras();
  std::optional<RecoveryAction> action;
  if (!extras.attempt.children.all.empty()) action = ask_for_children();
  if (action && !data.store) data.journal.count_wait();
  if (!extras.attempt.waits.empty()) {
    const WallTime until = earliest(extras.attempt.waits);
    if (!action) action = RecoveryAction::suspend(joined_messages(extras.attempt.waits));
    action->until = std::min(until, action->until.value_or(until));
  }
  Json fields = suspension_fields(*action);
  fields["waiting"] = true;
  put_waits(extras.attempt.waits, *action, fields);
  suspend_with(*action, std::move(fields));
  return Input::stopped;
}

// Stores the token's hash beside the journal, visible to every process that uses the store. False:
// the store has no key space. Errors: the store's.
static Result<bool> keep_ticket(CheckpointStore& store, const std::string& hash,
                                const Ticket& ticket) {
  const auto kept =
      run_catching([&] { return store.put_if(ticket_space, hash, 0, encode(ticket)); });
  if (kept) return outcome::success(true);
  if (kept.error().code == Errc::unsupported) return outcome::success(false);
  return kept.error();
}

void forget_ticket(KeySpace& store, const std::string& hash) {
  if (hash.empty()) return;
  const auto kept = run_catching([&] { return store.get(ticket_space, hash); });
  if (!kept || !kept.value()) return;
  static_cast<void>(
      run_catching([&] { return store.erase_if(ticket_space, hash, kept.value()->version); }));
}

// Suspends the run for a decision; only the returned error contains the token.
Outcome Run::suspended_outcome(const std::shared_ptr<const FailureContext>& context) {
  const std::unique_ptr<RecoveryAction> asked = std::move(data_->suspension);
  const RecoveryAction& action = *asked;
  const std::shared_ptr<Suspension> suspension = std::move(data_->extras().attempt.asking.shown);
  if (action.expires_after) {
    suspension->expires =
        core_.clock->wall_now() +
        std::chrono::duration_cast<std::chrono::milliseconds>(*action.expires_after);
  }
  const std::string message =
      action.message.empty() ? "the run waits for a decision" : action.message;
  std::string token = std::exchange(data_->extras().token, {});
  const std::string hash = digest(token);
  if (has_store()) {
    const Ticket ticket{.run = id(),
                        .agent = core_.options.name,
                        .suspended_at = data_->journal.last(),
                        .allowed_actions = action.allowed_actions,
                        .until = action.until,
                        .expires = suspension->expires};
    const auto kept = keep_ticket(*data_->store, hash, ticket);
    if (!kept) {
      end_in_store(RunStatus::failed, Json{{"detail", kept.error().detail}});
      static_cast<void>(drain_strictly());
      return std::make_unique<Error>(kept.error().code, kept.error().detail, context);
    }
    if (kept.value()) {
      if (options_.store && options_.store != core_.options.store)
        core_.suspended.add_store(hash, options_.store);
      suspension->token = std::move(token);
      return std::make_unique<Error>(Errc::suspended, message, context, std::move(suspension));
    }
  }
  suspend_in_memory(hash, action, suspension->expires);
  suspension->token = std::move(token);
  return std::make_unique<Error>(Errc::suspended, message, context, std::move(suspension));
}

// The store cannot hold the suspension, so the run waits in this process.
void Run::suspend_in_memory(const std::string& hash, const RecoveryAction& action,
                            std::optional<WallTime> expires) {
  const Duration elapsed = terms().elapsed;
  SuspendedRun waiting{.data = data_.take(),
                       .options = options_,
                       .allowed_actions = action.allowed_actions,
                       .expires = expires,
                       .message = action.message,
                       .until = action.until,
                       .elapsed = elapsed};
  RunData& data = *waiting.data;
  data.linked_stop.reset();
  try {
    if (data.task.is_null()) call_.table->task_json(call_.frame, data.task);
  } catch (...) {
    data.task = nullptr;  // decide() will say that the task cannot be restored.
  }
  data.journal.set_run(id());
  if (data.store) {
    data.store->queue().remove(data.writer);
    if (data.started) {
      data.store->queue().release(std::move(data.writer.lease));
    }
    data.started = false;
  }
  waiting.options.run_id = id();
  waiting.options.deadline = lasting_deadline();
  waiting.options.parent = nullptr;
  waiting.options.on_activity = nullptr;
  waiting.attempts = attempt_;
  core_.suspended.add(hash, std::move(waiting), core_.clock->wall_now());
}

// --- Deciding.

Result<StoredTicket> read_ticket(KeySpace& store, const std::string& hash) {
  TRIAGE_TRY(stored, run_catching([&] { return store.get(ticket_space, hash); }));
  if (!stored) return unknown_token();
  TRIAGE_TRY(ticket, decode_ticket(stored->bytes));
  return StoredTicket{std::move(ticket), stored->version};
}

Result<void> claim_ticket(KeySpace& store, const std::string& hash, StoredTicket stored,
                          const std::string& who) {
  stored.ticket.state = "claimed";
  stored.ticket.by = who;
  const auto won = run_catching(
      [&] { return store.put_if(ticket_space, hash, stored.version, encode(stored.ticket)); });
  if (won) return outcome::success();
  return won.error().code == Errc::conflict ? unknown_token() : won.error();
}

Result<void> check_token_time(KeySpace& store, const std::string& hash, const StoredTicket& stored,
                              Clock& clock) {
  auto expired = check_not_expired(stored.ticket.expires, clock);
  if (!expired) {
    static_cast<void>(
        run_catching([&] { return store.erase_if(ticket_space, hash, stored.version); }));
  }
  return expired;
}

static Result<ContinuationPtr> open_kept(const AgentCore& core,
                                         const std::shared_ptr<CheckpointStore>& store,
                                         const std::string& hash, RecoveryAction action,
                                         const Result<void>& fits, const DecideOptions& options) {
  TRIAGE_TRY(stored, read_ticket(*store, hash));
  const Ticket& ticket = stored.ticket;
  if (ticket.agent != core.options.name) {
    return Error{Errc::conflict,
                 "the token is for a run of another agent, \"" + printable(ticket.agent) + "\""};
  }
  TRIAGE_TRYV(check_allowed(action.kind, ticket.allowed_actions));
  if (auto in_time = check_token_time(*store, hash, stored, *core.clock); !in_time) {
    core.suspended.forget_store(hash);
    return std::move(in_time).error();
  }
  auto taken = take_suspended(core, store, ticket.run, ticket.suspended_at,
                              {.accept_changed = options.accept_changed, .run = options.run});
  if (!taken) {
    // The run's owner may have claimed the token since. A claim whose process died before its
    // decision was durable is void: then the run can be taken.
    const auto now = read_ticket(*store, hash);
    const bool used =
        now ? now.value().ticket.state != "waiting" : now.error().code == Errc::not_found;
    const Errc code = taken.error().code;
    if (used && (code == Errc::conflict || code == Errc::busy)) return unknown_token();
    return std::move(taken).error();
  }
  const Journal& journal = taken.value()->journal();
  // A later run may have the same id and be at the same record.
  const Json& suspended = journal.suspended();
  const std::string expected = text_field(suspended, "ticket");
  if (!expected.empty() && expected != hash) return unknown_token();
  Resumption decision = decided(awaited_child(suspended), std::move(action), options.who);
  TRIAGE_TRYV(check_fits(journal, *decision.action, fits));
  TRIAGE_TRYV(
      check_in_time(*decision.action, taken.value()->terms().deadline, core.clock->wall_now()));
  if (!decision.child.is_null()) {
    TRIAGE_TRYV(check_for_child(*store, decision.child["run"],
                                action_from(decision.child["action"]), *core.clock));
  }
  if (auto unsafe = unsafe_now(*taken.value(), *decision.action)) {
    return Error{Errc::invalid_argument, *std::move(unsafe)};
  }
  TRIAGE_TRYV(claim_ticket(*store, hash, stored, options.who));
  auto opened = restore(std::move(taken).value(), std::move(decision));
  if (opened) core.suspended.forget_store(hash);
  return opened;
}

Result<ContinuationPtr> open_by_ticket(const AgentCore& core, const std::string& hash,
                                       RecoveryAction action, const Result<void>& fits,
                                       const DecideOptions& options) {
  if (core.suspended.contains(hash)) {
    return open_remembered(core, hash, std::move(action), fits, options);
  }
  std::shared_ptr<CheckpointStore> store = options.run.store;
  if (!store) store = core.suspended.store_of(hash);
  if (!store) store = core.options.store;
  if (!store) return unknown_token();
  return open_kept(core, store, hash, std::move(action), fits, options);
}

Result<ContinuationPtr> open_suspended(const AgentCore& core, std::string_view token,
                                       RecoveryAction action, const Result<void>& fits,
                                       const DecideOptions& options) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_decision(action, options.who));
  return open_by_ticket(core, digest(token), std::move(action), fits, options);
}

}  // namespace triage::inline v0_1::detail
