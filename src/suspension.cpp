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

constexpr std::string_view space = "triage/suspensions";
constexpr std::size_t longest_name = 256;

// --- What a decision may be.

Result<void> check_decision(const RecoveryAction& action, const std::string& who) {
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

Result<void> check_safe(const AgentCore& core, RunBody& body, const RecoveryAction& action) {
  auto problem = unsafe_to_rerun(core, body, action);
  if (!problem) return outcome::success();
  return Error{Errc::invalid_argument, *std::move(problem)};
}

}  // namespace

// --- Putting a run aside.

Json Run::suspension_fields(const RecoveryAction& action) {
  RunBody& b = *body_;
  const WallTime wall = core_.clock->wall_now();
  Json fields{{"message", action.message},
              {"allowed_actions", action.allowed_actions},
              {"status", to_string(RunStatus::suspended)},
              {"type", to_string(b.context().type())},
              {"restored_steps", b.restored_steps}};
  if (action.until) fields["until_ms"] = action.until->time_since_epoch().count();
  if (b.started_at) fields["elapsed_ns"] = (now() - *b.started_at).count();
  if (const auto until = deadline()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*until - now());
    fields["deadline_ms"] = (wall + left).time_since_epoch().count();
  }
  if (options_.limits) fields["limits"] = limits_json(*options_.limits);
  const RunExtras* extras = b.made_extras.get();
  if (extras != nullptr && extras->asked && b.context().classification.reason == needs_approval) {
    fields["proposed"] = extras->proposed;
  }
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
  auto suspension =
      std::make_shared<Suspension>(Suspension{.token = {},
                                              .run_id = id(),
                                              .message = action.message,
                                              .allowed_actions = action.allowed_actions,
                                              .until = action.until});
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
  put_aside(hash, suspension->expires, action.allowed_actions);
  suspension->token = std::move(token);
  return std::make_unique<Error>(Errc::suspended, message, context, std::move(suspension));
}

// No store can keep the suspension: the run waits in this process.
void Run::put_aside(const std::string& hash, std::optional<WallTime> expires,
                    const std::vector<std::string>& allowed_actions) {
  SuspendedRun waiting{.body = body_.take(),
                       .options = options_,
                       .allowed_actions = allowed_actions,
                       .expires = expires};
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
      b.store->queue().release(std::move(b.writer.lease));
    }
    b.started = false;
  }
  waiting.options.run_id = id();
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
  auto taken = take_suspended(core, store, ticket.run, ticket.suspended_at, options.run,
                              options.accept_changed);
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
  if (auto unsafe = unsafe_now(taken.value(), action)) {
    return Error{Errc::invalid_argument, *std::move(unsafe)};
  }
  ticket.state = "claimed";
  ticket.by = options.who;
  const auto won =
      shielded([&] { return store->put_if(space, hash, stored.version, encode(ticket)); });
  if (!won) return won.error().code == Errc::conflict ? unknown_token() : won.error();
  return carry_out(std::move(taken).value(), {.action = std::move(action), .who = options.who});
}

// A run that waits in this process.
static Result<ContinuationPtr> open_remembered(const AgentCore& core, const std::string& hash,
                                               RecoveryAction action,
                                               const DecideOptions& options) {
  TRIAGE_TRY(waiting, core.suspended.take(hash, [&](SuspendedRun& run) -> Result<void> {
    TRIAGE_TRYV(check_allowed(action.kind, run.allowed_actions));
    TRIAGE_TRYV(check_not_expired(run.expires, *core.clock));
    return check_safe(core, *run.body, action);
  }));
  RunBody& body = *waiting.body;
  if (body.store) {
    const RunId& id = waiting.options.run_id;
    body.store->queue().retry_releases();
    auto lease = shielded([&] { return body.store->acquire(id); });
    if (!lease) {
      core.suspended.put_back(hash, std::move(waiting));
      return std::move(lease).error();
    }
    const auto info = shielded([&] { return body.store->run(id); });
    if (!info || info.value().last != body.journal.last()) {
      body.store->queue().release(std::move(lease).value());
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
  ContinuationPtr opened(new Continuation(core));
  opened->options = std::move(waiting.options);
  opened->body = std::move(waiting.body);
  opened->attempts = waiting.attempts;
  opened->first = Input::decided;
  RunBody& b = *opened->body;
  opened->task = b.task;
  if (b.store) {
    b.writer.status = RunStatus::running;
    b.writer.pending.push_back(b.journal.add(RecordKind::resumed, core.clock->wall_now(),
                                             Json{{"to", 0},
                                                  {"reason", "decided"},
                                                  {"action", to_string(action.kind)},
                                                  {"decision", action_json(action)},
                                                  {"by", options.who}}));
    b.writer.queued = b.journal.last();
  }
  const bool approves =
      action.kind == RecoveryAction::Kind::retry || action.kind == RecoveryAction::Kind::resume;
  RunExtras& extras = b.extras();
  if (extras.asked && approves) b.journal.approve(extras.proposed);
  b.decided = std::make_unique<RecoveryAction>(std::move(action));
  extras.decided_by = options.who;
  return outcome::success(std::move(opened));
}

Result<ContinuationPtr> open_suspended(const AgentCore& core, std::string_view token,
                                       RecoveryAction action, const DecideOptions& options) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_decision(action, options.who));
  const std::string hash = digest(token);
  if (core.suspended.contains(hash)) {
    return open_remembered(core, hash, std::move(action), options);
  }
  std::shared_ptr<CheckpointStore> store = options.run.store;
  if (!store) store = core.suspended.store_of(hash);
  if (!store) store = core.options.store;
  if (!store) return unknown_token();
  return open_kept(core, store, hash, std::move(action), options);
}

}  // namespace triage::inline v0_1::detail
