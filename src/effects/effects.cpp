// SPDX-License-Identifier: MIT
// Runs effects: the intent is durable before the call and the result after it, and the outcome of
// an interrupted call is never guessed.
#include "effects/effects.hpp"

#include "base/digest.hpp"
#include "base/run_catching.hpp"
#include "run/run.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_key = 512;
// How long the result of a completed effect waits for a busy store. Each attempt also waits for the
// store's own timeout.
constexpr int most_waits_for_lock = 24;
constexpr std::chrono::milliseconds lock_wait{500};

using Status = EffectState::Status;
using Lock = std::unique_lock<std::mutex>;

// Ends the turn however the call is left.
class Turn {
 public:
  Turn(EffectTurns& turns, std::string_view key) noexcept : turns_(turns), key_(key) {}
  ~Turn() { turns_.leave(key_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  EffectTurns& turns_;
  std::string_view key_;
};

Error not_registered(std::string_view key, std::string_view list, const std::string& name) {
  return {Errc::invalid_argument, effect_name(key) + " names \"" + printable(name) +
                                      "\", which is not in AgentOptions::" + std::string(list)};
}

// Whether the effect reserves its key, so that a call with other arguments is refused.
bool holds_key(Status status) {
  return status == Status::intended || status == Status::completed ||
         status == Status::compensating;
}

bool may_run_again(const EffectState& known, EffectSemantics wanted) {
  return known.semantics != EffectSemantics::at_most_once &&
         wanted != EffectSemantics::at_most_once;
}

}  // namespace

Json described(const EffectState& effect) {
  Json fields = Json::object();
  if (!effect.arguments.empty()) fields["arguments"] = effect.arguments;
  if (effect.semantics != EffectSemantics::at_most_once) {
    fields["semantics"] = to_string(effect.semantics);
  }
  if (effect.compensation) fields["compensation"] = *effect.compensation;
  if (!effect.reconciliation.empty()) fields["reconciliation"] = effect.reconciliation;
  if (!effect.idempotency_key.empty()) fields["idempotency_key"] = effect.idempotency_key;
  return fields;
}

// --- One call of Attempt::effect.

Result<Json> Run::effect(int attempt, const EffectRequest& request) {
  return Effects(*this).perform(attempt, request);
}

Result<void> Effects::check(const EffectRequest& request) const {
  const std::string_view key = request.key;
  if (key.empty() || key.size() > longest_key) {
    return Error{Errc::invalid_argument, "an effect's key has " + std::to_string(key.size()) +
                                             " bytes; allowed are 1 to " +
                                             std::to_string(longest_key)};
  }
  if (request.arguments != nullptr) {
    if (auto checked = check_json(*request.arguments, "the arguments"); !checked) {
      return Error{Errc::invalid_argument, effect_name(key) + ": " + checked.error().detail};
    }
  }
  const AgentOptions& agent = run_.core_.options;
  const std::string& compensation = request.options->compensate.name();
  if (!compensation.empty() && !agent.compensations.contains(compensation)) {
    return not_registered(key, "compensations", compensation);
  }
  for (const Reconcile* one :
       {&request.options->reconcile, &request.options->compensate.reconcile()}) {
    if (!one->name().empty() && !agent.reconciliations.contains(one->name())) {
      return not_registered(key, "reconciliations", one->name());
    }
  }
  return outcome::success();
}

std::shared_ptr<const Json> Effects::recorded(const EffectRequest& request,
                                              std::string_view encoded) const {
  const EffectOptions& options = *request.options;
  if (options.compensate && (options.compensate.function() || options.reconcile.function())) {
    return nullptr;  // The functions must be kept.
  }
  const RunData& data = *run_.data_;
  const auto found = data.journal.effects().find(request.key);
  if (found == data.journal.effects().end() || found->second.status != Status::completed ||
      !data.made_extras->proven_arguments.contains(request.key, encoded, found->second.arguments)) {
    return nullptr;
  }
  return found->second.result;
}

Result<Json> Effects::perform(int attempt, const EffectRequest& request) {
  TRIAGE_TRYV(check(request));
  std::string encoded;
  if (request.arguments != nullptr) encoded = encoded_arguments(*request.arguments);
  const auto too_late = [] {
    return Error{Errc::invalid_argument,
                 "the callable has returned: its attempt takes nothing any more"};
  };
  EffectTurns* turns = nullptr;
  std::shared_ptr<const Json> result;
  {
    const Lock lock(run_.mutex_);
    if (run_.is_late(attempt)) return too_late();
    turns = &run_.made_data().extras().effect_turns;
    result = recorded(request, encoded);
  }
  if (result) {
    run_.emit(EventKind::effect_reused, {.text = request.key});
    return outcome::success(*result);
  }
  const std::string arguments = encoded.empty() ? std::string() : digest(encoded);
  TRIAGE_TRYV(turns->enter(request.key));
  const Turn turn(*turns, request.key);
  Lock lock(run_.mutex_);
  if (run_.is_late(attempt)) return too_late();
  RunData& data = run_.made_data();
  const EffectOptions& options = *request.options;
  EffectState known = data.journal.effect(request.key);
  const bool same_arguments = known.arguments == arguments || known.arguments == any_arguments;
  if (holds_key(known.status) && !same_arguments && !known.lost) {
    return Error{Errc::conflict, effect_name(request.key) +
                                     " was begun with other arguments; give another effect another "
                                     "key"};
  }
  if (options.compensate && (options.compensate.function() || options.reconcile.function())) {
    data.extras().effect_options.insert_or_assign(std::string(request.key), options);
  }
  if (known.status == Status::completed && known.arguments == arguments) {
    data.extras().proven_arguments.add(request.key, std::move(encoded), arguments);
  }
  lock.unlock();
  if (known.status == Status::completed && known.result) {
    run_.emit(EventKind::effect_reused, {.text = request.key});
    return outcome::success(*known.result);
  }
  EffectState next{.generation = known.generation,
                   .semantics = options.semantics,
                   .arguments = arguments,
                   .reconciliation = options.reconcile.name()};
  if (options.compensate) next.compensation = options.compensate.name();
  return decide(request, std::move(known), std::move(next));
}

// Decides whether an effect runs that is not completed, or whose result is lost.
Result<Json> Effects::decide(const EffectRequest& request, EffectState known, EffectState next) {
  if (known.status == Status::compensating) {
    const Reconciled undone = settle_compensation(request.key, known, request.options);
    if (undone.answer == Reconciled::Answer::unknown) {
      return in_doubt(request.key,
                      "its compensation was begun earlier and nobody knows whether it "
                      "happened" +
                          undone.reason);
    }
    const bool in_place = undone.answer == Reconciled::Answer::not_done;
    if (in_place && known.result) {
      run_.emit(EventKind::effect_reused, {.text = request.key});
      return outcome::success(*known.result);
    }
    known.status = in_place ? Status::completed : Status::compensated;
  }
  // The record of its result was damaged; only `reconcile` may still know it.
  if (known.status == Status::completed) known.status = Status::intended;
  if (known.status == Status::compensated) ++next.generation;
  bool same_act = false;  // The outside world may already know this call by its key.
  if (known.status == Status::intended) {
    if (known.lost) {  // Its records are lost: assume it is what is requested now.
      next.intended_at = known.intended_at;
      known = next;
    }
    Reconciled found = settle(request.key, known, request.options);
    if (found.answer == Reconciled::Answer::done) return outcome::success(std::move(found.result));
    if (found.answer == Reconciled::Answer::unknown &&
        !may_run_again(known, request.options->semantics)) {
      return in_doubt(request.key,
                      "it was begun earlier and its outcome is not known" + found.reason);
    }
    same_act = found.answer == Reconciled::Answer::unknown &&
               next.semantics == EffectSemantics::idempotent && !known.idempotency_key.empty();
  }
  // Repeated under its origin's key, an effect is the origin's to undo; all others are our own.
  std::string own = idempotency_key(run_.id(), request.key, next.generation, false);
  if (same_act && known.idempotency_key != own) {
    next.idempotency_key = known.idempotency_key;
    next.compensation.reset();
  } else {
    next.idempotency_key = std::move(own);
  }
  return run(request, next);
}

Result<Json> Effects::run(const EffectRequest& request, const EffectState& next) {
  const std::string_view key = request.key;
  if (auto why = refused(key, next)) return *std::move(why);
  if (const auto until = run_.deadline(); until && run_.now() >= *until) {
    return run_.too_late_for(run_.attempt_number(), effect_name(key) +
                                                        " was asked for after the "
                                                        "deadline and was not run");
  }
  if (run_.attempt_is_over()) return run_.out_of_time(run_.attempt_number());
  const Status before = status_of(key);
  const bool in_doubt_before = before == Status::intended || before == Status::completed;
  Result<void> durable = record_durably(RecordKind::effect_intended, key, next, described(next));
  if (!durable) {
    if (!in_doubt_before) {  // Otherwise it may have happened under the previous intent.
      record(RecordKind::effect_withdrawn, key, next,
             Json{{"cause", "the intent could not be stored"}});
    }
    return std::move(durable).error();
  }
  run_.emit(EventKind::effect_intended, {.text = key});
  const EffectCall call = call_of(key, next, false);
  Json result;
  try {
    result = (*request.fn)(call);
  } catch (const EffectNotDone& not_done) {
    if (!in_doubt_before) {  // It speaks of this call, not of one that was cut off before.
      record(RecordKind::effect_withdrawn, key, next, Json{{"cause", not_done.what()}});
    }
    throw;
  } catch (...) {
    // The intent stays: how far fn got is unknown.
    run_.emit(EventKind::effect_in_doubt, {.text = key});
    throw;
  }
  return keep_result(request, next, call, std::move(result));
}

// The effect has happened; its result must be recorded before anything depends on it.
Result<Json> Effects::keep_result(const EffectRequest& request, const EffectState& next,
                                  const EffectCall& call, Json result) {
  const std::string_view key = request.key;
  Result<void> kept = check_json(result, "the result of " + effect_name(key));
  if (!kept) {
    // The result cannot be stored; reconciliation may know what it should have been.
    if (const auto* function = find_reconcile(key, next, request.options)) {
      Reconciled found = ask(*function, call);
      if (found.answer == Reconciled::Answer::done &&
          check_json(found.result, "the result").has_value()) {
        result = std::move(found.result);
        kept = outcome::success();
      }
    }
  }
  if (kept) {
    Json fields = described(next);
    fields["result"] = result;
    const Sequence at = record(RecordKind::effect_completed, key, next, std::move(fields));
    kept = run_.drain_strictly(at);
    // A store that is busy has written nothing, so a retry can succeed.
    for (int again = 0; again < most_waits_for_lock && !kept && kept.error().code == Errc::busy;
         ++again) {
      static_cast<void>(run_.rest_until(run_.after(lock_wait), true));  // Even if it is to stop.
      kept = run_.drain_strictly(at);
    }
  }
  if (kept) {
    run_.emit(EventKind::effect_completed, {.text = key});
    return outcome::success(std::move(result));
  }
  {
    const Lock lock(run_.mutex_);
    run_.data_->journal.doubt_effect(key);
  }
  return in_doubt(key, "it happened, but its result could not be stored: " + kept.error().detail);
}

Error Effects::in_doubt(std::string_view key, const std::string& why) {
  run_.emit(EventKind::effect_in_doubt, {.text = key});
  return doubt_about(key, why, run_.has_store() ? run_.id() : RunId());
}

EffectCall Effects::call_of(std::string_view key, const EffectState& effect,
                            bool compensation) const {
  const std::string& recorded = compensation ? effect.compensation_key : effect.idempotency_key;
  return {.key = std::string(key),
          .generation = effect.generation,
          .attempt = run_.attempt_number(),
          .idempotency_key = recorded.empty()
                                 ? idempotency_key(run_.id(), key, effect.generation, compensation)
                                 : recorded,
          .deadline = run_.attempt_deadline(),
          .stop_token = run_.attempt_stop_token()};
}

Sequence Effects::record(RecordKind kind, std::string_view key, const EffectState& effect,
                         Json fields) {
  const Lock lock(run_.mutex_);
  RunData& data = run_.made_data();
  run_.make_room();
  fields["key"] = std::string(key);
  fields["generation"] = effect.generation;
  run_.enqueue(data.journal.add(kind, run_.core_.clock->wall_now(), std::move(fields)));
  return data.journal.last();
}

EffectState::Status Effects::status_of(std::string_view key) const {
  const Lock lock(run_.mutex_);
  return run_.made_data().journal.effect(key).status;
}

Result<void> Effects::record_durably(RecordKind kind, std::string_view key,
                                     const EffectState& effect, Json fields) {
  return run_.drain_strictly(record(kind, key, effect, std::move(fields)));
}

// --- Resolving doubts.

Reconciled Effects::ask(const Reconcile::Function& function, const EffectCall& call) {
  try {
    return function(call);
  } catch (...) {
    return Reconciled::unknown("reconcile threw: " + current_exception_text());
  }
}

const EffectOptions* Effects::live_options(std::string_view key) const {
  const RunExtras* extras = run_.data_->made_extras.get();
  if (extras == nullptr) return nullptr;
  const auto found = extras->effect_options.find(key);
  return found == extras->effect_options.end() ? nullptr : &found->second;
}

const Reconcile::Function* Effects::find_reconcile(std::string_view key, const EffectState& known,
                                                   const EffectOptions* options) const {
  const auto& named = run_.core_.options.reconciliations;
  const auto resolve = [&](const Reconcile& one) -> const Reconcile::Function* {
    if (one.function()) return &one.function();
    const auto found = named.find(one.name());
    return found == named.end() ? nullptr : &found->second.function();
  };
  if (options != nullptr && options->reconcile) return resolve(options->reconcile);
  const Lock lock(run_.mutex_);  // Entries do not move, and this turn owns the key's entry.
  if (const auto* live = live_options(key); live != nullptr && live->reconcile) {
    return resolve(live->reconcile);
  }
  return resolve(Reconcile(known.reconciliation));
}

// The answer is recorded before it is used; if recording fails, the answer is unknown.
Reconciled Effects::settle(std::string_view key, const EffectState& known,
                           const EffectOptions* options) {
  const Reconcile::Function* function = find_reconcile(key, known, options);
  if (function == nullptr) {
    if (known.reconciliation.empty()) return Reconciled::unknown();
    return Reconciled::unknown("; its reconciliation \"" + printable(known.reconciliation) +
                               "\" is not registered");
  }
  Reconciled found = ask(*function, call_of(key, known, false));
  const auto unknown = [](const std::string& reason) {
    return Reconciled::unknown(reason.empty() ? std::string(", also not by its reconcile")
                                              : ", also not by its reconcile: " + reason);
  };
  if (found.answer == Reconciled::Answer::unknown) return unknown(found.reason);
  const bool done = found.answer == Reconciled::Answer::done;
  Json fields = done ? described(known) : Json{{"cause", "reconciled: it did not happen"}};
  if (done) {
    if (auto storable = check_json(found.result, "its result"); !storable) {
      return unknown(storable.error().detail);
    }
    fields["result"] = found.result;
  }
  fields["reconciled"] = true;
  const auto kept =
      record_durably(done ? RecordKind::effect_completed : RecordKind::effect_withdrawn, key, known,
                     std::move(fields));
  if (!kept) {
    const Lock lock(run_.mutex_);
    run_.data_->journal.doubt_effect(key);
    return unknown("its answer could not be stored: " + kept.error().detail);
  }
  run_.emit(EventKind::effect_reconciled, {.text = key, .number = done ? 1U : 0U});
  return found;
}

}  // namespace triage::inline v0_1::detail
