// SPDX-License-Identifier: MIT
// Runs that wait for a decision: how they are put aside, and who may decide.
#include "continuation.hpp"
#include "digest.hpp"
#include "suspension_json.hpp"
#include "token.hpp"
#include "triage/detail/call.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

const std::string_view space = own_space(OwnSpace::suspensions);
constexpr std::size_t longest_name = 256;

// --- What a decision may be.

Result<void> check_decision(const RecoveryAction& action, const std::string& who) {
  if (auto problem = wrong_delay(action)) {
    return Error{Errc::invalid_argument, "the decision is " + *std::move(problem)};
  }
  if (who.size() > longest_name) {
    return Error{Errc::invalid_argument,
                 "who has " + std::to_string(who.size()) + " bytes; allowed are 0 to 256"};
  }
  return action.value ? check_json(*action.value, "the action's value") : outcome::success();
}

Result<void> check_allowed(RecoveryAction::Kind action, const std::vector<std::string>& allowed) {
  const std::string_view name = to_string(action);
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), name) != allowed.end()) {
    return outcome::success();
  }
  std::string names;
  for (const std::string& one : allowed) names += (names.empty() ? "" : ", ") + one;
  return Error{Errc::invalid_argument,
               "the action " + std::string(name) + " is not allowed here; allowed: " + names};
}

Result<void> check_not_expired(const std::optional<WallTime>& expires, Clock& clock) {
  if (!expires || clock.wall_now() < *expires) return outcome::success();
  return Error{Errc::conflict, "the token has expired; resume_run goes on without a decision"};
}

// A decision that could not be carried out would cost the token.
Result<void> check_target(const Journal& journal, const RecoveryAction& action) {
  const RollbackTarget& target = action.target;
  if (action.kind != RecoveryAction::Kind::rollback || target.or_start) return outcome::success();
  bool found = true;
  if (target.kind == RollbackTarget::Kind::label) {
    found = journal.find_label(target.name).has_value();
  } else if (target.kind == RollbackTarget::Kind::checkpoint) {
    const auto id = parse_checkpoint_id(target.name);
    found = id && id.value().run == journal.run() && journal.find(id.value().sequence);
  }
  if (found) return outcome::success();
  return Error{Errc::invalid_argument, "run \"" + journal.run() + "\" has no checkpoint \"" +
                                           printable(target.name) + "\" to roll back to"};
}

Json step_json(const ProposedStep& step) {
  Json json{{"action", step.action}, {"input", step.input}, {"risk", step.risk}};
  if (!step.tool.empty()) json["tool"] = step.tool;
  if (!step.reason.empty()) json["reason"] = step.reason;
  return json;
}

Result<void> check_safe(const AgentCore& core, RunBody& body, const RecoveryAction& action) {
  auto problem = unsafe_to_rerun(core, body.context().trajectory, body.restored_steps, action.kind);
  if (!problem) return outcome::success();
  return Error{Errc::invalid_argument, *std::move(problem)};
}

}  // namespace

// --- Putting a run aside.

// What a decision needs to know, without what nobody may see.
Suspension Run::shown_suspension(const RecoveryAction& action) {
  RunBody& b = *body_;
  RunExtras& extras = b.extras();
  Suspension shown{.run_id = id(),
                   .message = action.message,
                   .allowed_actions = action.allowed_actions,
                   .until = action.until,
                   .agent = core_.options.name};
  try {
    shown.task = b.task;
    if (shown.task.is_null() && !call_.table->task_json(call_.frame, shown.task)) {
      shown.task = task_text();
    }
  } catch (...) {
    shown.task = nullptr;
  }
  if (extras.asking.by_guard) shown.proposed = extras.asking.step;
  if (extras.child.asks) {
    shown.inner = extras.child.suspension;
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
  RunBody& b = *body_;
  Json fields{{"message", action.message},
              {"allowed_actions", action.allowed_actions},
              {"status", to_string(RunStatus::suspended)},
              {"type", to_string(b.context().type())},
              {"restored_steps", b.restored_steps}};
  put_terms(terms(), fields);
  if (action.until) {
    fields["until_ms"] = action.until->time_since_epoch().count();
    if (!b.spent_limit.empty()) {
      const RecoveryAction due = action_when_due(fields);
      if (reruns(due.kind)) fields["then"] = action_json(RecoveryAction::escalate(b.spent_limit));
    }
  }
  RunExtras& extras = b.extras();
  if (extras.asking.by_guard) fields["proposed"] = extras.proposed;
  extras.asking.shown = std::make_unique<Suspension>(shown_suspension(action));
  if (core_.options.redact) fields["task"] = extras.asking.shown->task;
  if (const auto& step = extras.asking.shown->proposed) fields["step"] = step_json(*step);
  return fields;
}

// The record names the hash of the token, so that whoever goes on can remove it from the key space.
void Run::suspend_with(const RecoveryAction& action, Json fields) {
  std::string& token = body_->extras().token;
  token = make_token();
  if (has_store()) fields["ticket"] = digest(token);
  record_fact(RecordKind::suspended, std::move(fields), RunStatus::suspended);
  body_->suspension = std::make_unique<RecoveryAction>(action);
}

Input Run::park() {
  RunBody& b = *body_;
  give_back_permit();
  RunExtras& extras = b.extras();
  Json fields = suspension_fields(*extras.parked);
  fields["waiting"] = true;
  if (!extras.parked_place.empty()) {
    fields["place"] = extras.parked_place;
    fields["wait_ms"] = extras.parked_for.count();
  }
  if (!extras.awaited.empty()) fields["signal"] = extras.awaited;
  suspend_with(*extras.parked, std::move(fields));
  return Input::stopped;
}

// Keeps the token's hash beside the journal, where every process of the store finds it. False: the
// store keeps no keys. Errors: the store's.
static Result<bool> keep_ticket(CheckpointStore& store, const std::string& hash,
                                const Ticket& ticket) {
  const auto kept = shielded([&] { return store.put_if(space, hash, 0, encode(ticket)); });
  if (kept) return outcome::success(true);
  if (kept.error().code == Errc::unsupported) return outcome::success(false);
  return kept.error();
}

void forget_ticket(KeySpace& store, const std::string& hash) {
  if (hash.empty()) return;
  const auto kept = shielded([&] { return store.get(space, hash); });
  if (!kept || !kept.value()) return;
  static_cast<void>(shielded([&] { return store.erase_if(space, hash, kept.value()->version); }));
}

// Puts the run aside until somebody decides; only the returned error knows the token.
Outcome Run::hand_over(const std::shared_ptr<const FailureContext>& context) {
  const std::unique_ptr<RecoveryAction> asked = std::move(body_->suspension);
  const RecoveryAction& action = *asked;
  const std::shared_ptr<Suspension> suspension = std::move(body_->extras().asking.shown);
  if (action.expires_after) {
    suspension->expires =
        core_.clock->wall_now() +
        std::chrono::duration_cast<std::chrono::milliseconds>(*action.expires_after);
  }
  const std::string message =
      action.message.empty() ? "the run waits for a decision" : action.message;
  std::string token = std::exchange(body_->extras().token, {});
  const std::string hash = digest(token);
  if (has_store()) {
    const Ticket ticket{.run = id(),
                        .agent = core_.options.name,
                        .suspended_at = body_->journal.last(),
                        .allowed_actions = action.allowed_actions,
                        .until = action.until,
                        .expires = suspension->expires};
    const auto kept = keep_ticket(*body_->store, hash, ticket);
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
  put_aside(hash, action, suspension->expires);
  suspension->token = std::move(token);
  return std::make_unique<Error>(Errc::suspended, message, context, std::move(suspension));
}

// No store can keep the suspension: the run waits in this process.
void Run::put_aside(const std::string& hash, const RecoveryAction& action,
                    std::optional<WallTime> expires) {
  const Duration elapsed = terms().elapsed;
  SuspendedRun waiting{.body = body_.take(),
                       .options = options_,
                       .allowed_actions = action.allowed_actions,
                       .expires = expires,
                       .message = action.message,
                       .until = action.until,
                       .elapsed = elapsed};
  RunBody& b = *waiting.body;
  b.linked_stop.reset();
  try {
    if (b.task.is_null()) call_.table->task_json(call_.frame, b.task);
  } catch (...) {
    b.task = nullptr;  // decide() will say that the task cannot be restored.
  }
  b.journal.set_run(id());
  if (b.store) {
    b.store->queue().remove(b.writer);
    if (b.started) {
      static_cast<void>(shielded([&] { return b.store->release(b.writer.lease); }));
    }
    b.started = false;
  }
  waiting.options.run_id = id();
  waiting.options.deadline = deadline();
  waiting.options.parent = nullptr;
  waiting.attempts = attempt_;
  core_.suspended.add(hash, std::move(waiting));
}

// --- Deciding.

struct StoredTicket {
  Ticket ticket{};
  std::uint64_t version = 0;
};

static Result<StoredTicket> read_ticket(CheckpointStore& store, const std::string& hash) {
  TRIAGE_TRY(stored, shielded([&] { return store.get(space, hash); }));
  if (!stored) return unknown_token();
  TRIAGE_TRY(ticket, decode_ticket(stored->bytes));
  return StoredTicket{std::move(ticket), stored->version};
}

static Result<ContinuationPtr> open_kept(const AgentCore& core,
                                         const std::shared_ptr<CheckpointStore>& store,
                                         const std::string& hash, RecoveryAction action,
                                         const DecideOptions& options) {
  TRIAGE_TRY(stored, read_ticket(*store, hash));
  Ticket& ticket = stored.ticket;
  if (ticket.agent != core.options.name) {
    return Error{Errc::conflict,
                 "the token is for a run of another agent, \"" + printable(ticket.agent) + "\""};
  }
  TRIAGE_TRYV(check_allowed(action.kind, ticket.allowed_actions));
  if (auto expired = check_not_expired(ticket.expires, *core.clock); !expired) {
    static_cast<void>(shielded([&] { return store->erase_if(space, hash, stored.version); }));
    return std::move(expired).error();
  }
  auto taken = take_suspended(core, store, ticket.run, ticket.suspended_at,
                              {.accept_changed = options.accept_changed, .run = options.run});
  if (!taken) {
    // Whoever has the run may have claimed the token since. A claim whose process died before its
    // decision was durable is no use: then the run can be taken.
    const auto now = read_ticket(*store, hash);
    const bool used =
        now ? now.value().ticket.state != "waiting" : now.error().code == Errc::not_found;
    const Errc code = taken.error().code;
    if (used && (code == Errc::conflict || code == Errc::busy)) return unknown_token();
    return std::move(taken).error();
  }
  TRIAGE_TRYV(check_target(taken.value().journal, action));
  // A later run may have the id and stand at the same record.
  const std::string expected = text_field(taken.value().journal.suspended(), "ticket");
  if (!expected.empty() && expected != hash) return unknown_token();
  const Json& suspended = taken.value().journal.suspended();
  const auto child = suspended.find("child");
  OutsideDecision decision =
      outside_decision(child == suspended.end() ? RunId() : text_field(*child, "run"),
                       std::move(action), options.who);
  if (auto unsafe = unsafe_now(taken.value(), decision.action)) {
    return Error{Errc::invalid_argument, *std::move(unsafe)};
  }
  ticket.state = "claimed";
  ticket.by = options.who;
  const auto won =
      shielded([&] { return store->put_if(space, hash, stored.version, encode(ticket)); });
  if (!won) return won.error().code == Errc::conflict ? unknown_token() : won.error();
  return carry_out(std::move(taken).value(), std::move(decision));
}

// Whether the run still waits where this token was given out, and is no later run of that id.
static bool stands_at(CheckpointStore& store, const RunInfo& info, Sequence last,
                      const std::string& hash) {
  if (info.last != last) return false;
  const auto reading = shielded([&] { return store.read(info.id, {last, last}); });
  return reading &&
         text_field(newest_body(reading.value(), RecordKind::suspended), "ticket") == hash;
}

// Goes on with a run that waited in this process, with what it had. What the caller gives wins.
static ContinuationPtr go_on_remembered(const AgentCore& core, SuspendedRun waiting,
                                        const RunOptions& options, OutsideDecision decision) {
  ContinuationPtr opened(new Continuation(core));
  opened->options = std::move(waiting.options);
  opened->options.parent = options.parent;
  if (options.deadline) opened->options.deadline = options.deadline;
  if (options.limits) opened->options.limits = options.limits;
  if (options.stop_token.stop_possible()) opened->options.stop_token = options.stop_token;
  opened->body = std::move(waiting.body);
  opened->attempts = waiting.attempts;
  opened->first = Input::decided;
  RunBody& b = *opened->body;
  opened->task = b.task;
  b.started_at = core.clock->now() - waiting.elapsed;
  if (b.store) {
    b.writer.status = RunStatus::running;
    Json fields = resumed_fields(decision);
    Terms terms{.limits = opened->options.limits, .elapsed = waiting.elapsed};
    if (opened->options.deadline)
      terms.deadline = wall_time(*core.clock, *opened->options.deadline);
    put_terms(terms, fields);
    b.writer.pending.push_back(
        b.journal.add(RecordKind::resumed, core.clock->wall_now(), std::move(fields)));
    b.writer.queued = b.journal.last();
  } else if (!decision.child.is_null()) {
    b.journal.decide_awaited(decision.child["run"], decision.child["action"], decision.who);
  }
  RunExtras& extras = b.extras();
  const RecoveryAction::Kind kind = decision.action.kind;
  const bool approves = kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::resume;
  // Only what this suspension asked about, and only if somebody decided.
  const bool asked = std::exchange(extras.asking.by_guard, false);
  if (asked && approves && decision.reason != "due") b.journal.approve(extras.proposed);
  b.decided = std::make_unique<RecoveryAction>(std::move(decision.action));
  extras.decided_by = std::move(decision.who);
  return opened;
}

// A run that waits in this process.
static Result<ContinuationPtr> open_remembered(const AgentCore& core, const std::string& hash,
                                               RecoveryAction action,
                                               const DecideOptions& options) {
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  OutsideDecision decision;
  TRIAGE_TRY(waiting, core.suspended.take(hash, [&](SuspendedRun& run) -> Result<void> {
    TRIAGE_TRYV(check_allowed(action.kind, run.allowed_actions));
    TRIAGE_TRYV(check_not_expired(run.expires, *core.clock));
    TRIAGE_TRYV(check_target(run.body->journal, action));
    const WaitingChild& child = run.body->extras().child;
    decision =
        outside_decision(child.asks ? child.suspension->run_id : RunId(), action, options.who);
    return check_safe(core, *run.body, decision.action);
  }));
  RunBody& body = *waiting.body;
  if (body.store) {
    const RunId& id = waiting.options.run_id;
    auto lease = shielded([&] { return body.store->acquire(id); });
    if (!lease) {
      core.suspended.put_back(hash, std::move(waiting));
      return std::move(lease).error();
    }
    const auto info = shielded([&] { return body.store->run(id); });
    if (!info || !stands_at(*body.store, info.value(), body.journal.last(), hash)) {
      static_cast<void>(shielded([&] { return body.store->release(lease.value()); }));
      if (!info) {
        core.suspended.put_back(hash, std::move(waiting));
        return info.error();
      }
      return Error{Errc::conflict, "run \"" + id + "\" went on without this decision and is " +
                                       std::string(to_string(info.value().status))};
    }
    body.writer.lease = std::move(lease).value();
    body.started = true;
  }
  return outcome::success(
      go_on_remembered(core, std::move(waiting), options.run, std::move(decision)));
}

Result<ContinuationPtr> open_remembered_due(const AgentCore& core, const RunId& id,
                                            const RunOptions& options) {
  if (options.limits) {
    TRIAGE_TRYV(check_limits(*options.limits));
  }
  const auto found = core.suspended.find(id);
  if (!found) return unknown_token();
  RecoveryAction action;
  TRIAGE_TRY(waiting, core.suspended.take(found->hash, [&](SuspendedRun& run) -> Result<void> {
    action = action_when_due(Json{{"allowed_actions", run.allowed_actions}});
    RunBody& body = *run.body;
    if (!body.spent_limit.empty() && reruns(action.kind)) {
      action = RecoveryAction::escalate(body.spent_limit);
    } else if (auto problem = check_safe(core, body, action); !problem) {
      action = RecoveryAction::escalate(std::move(problem).error().detail);
    }
    return outcome::success();
  }));
  return outcome::success(go_on_remembered(core, std::move(waiting), options,
                                           {.action = std::move(action), .reason = "due"}));
}

Result<ContinuationPtr> open_by_ticket(const AgentCore& core, const std::string& hash,
                                       RecoveryAction action, const DecideOptions& options) {
  if (core.suspended.contains(hash)) {
    return open_remembered(core, hash, std::move(action), options);
  }
  std::shared_ptr<CheckpointStore> store = options.run.store;
  if (!store) store = core.suspended.store_of(hash);
  if (!store) store = core.options.store;
  if (!store) return unknown_token();
  return open_kept(core, store, hash, std::move(action), options);
}

Result<ContinuationPtr> open_suspended(const AgentCore& core, std::string_view token,
                                       RecoveryAction action, const DecideOptions& options) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_decision(action, options.who));
  return open_by_ticket(core, digest(token), std::move(action), options);
}

}  // namespace triage::inline v0_1::detail
