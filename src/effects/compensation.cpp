// SPDX-License-Identifier: MIT
// Undoes effects, newest first; each call is journaled before and after, and none is repeated.
#include "base/run_catching.hpp"
#include "effects/effects.hpp"
#include "run/run.hpp"
#include "triage/detail/later.hpp"
#include "triage/detail/saturate.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using Status = EffectState::Status;
using Lock = std::unique_lock<std::mutex>;

}  // namespace

const Compensation* Effects::find_compensation(std::string_view key, const EffectState& known,
                                               const EffectOptions* options) const {
  const auto& named = run_.core_.options.compensations;
  const auto resolve = [&](const Compensation& one) -> const Compensation* {
    if (one.function()) return &one;
    const auto found = named.find(one.name());
    return found == named.end() ? nullptr : &found->second;
  };
  if (options != nullptr && options->compensate) return resolve(options->compensate);
  const Lock lock(run_.mutex_);  // Entries do not move, and this turn owns the key's entry.
  if (const auto* live = live_options(key)) return resolve(live->compensate);
  if (!known.compensation) return nullptr;
  const auto found = named.find(*known.compensation);
  return found == named.end() ? nullptr : &found->second;
}

std::vector<std::pair<std::string, EffectState>> Effects::undoable_after(Sequence target,
                                                                         Find what) const {
  const Lock lock(run_.mutex_);
  std::vector<std::pair<std::string, EffectState>> found;
  if (!run_.data_) return found;
  for (const auto& [key, effect] : run_.data_->journal.effects()) {
    if (effect.intended_at <= target) continue;
    if (!effect.compensation) continue;  // None, or inherited: then the origin undoes it.
    const bool in_doubt =
        effect.status == Status::intended || effect.status == Status::compensating;
    if (what == Find::in_doubt ? in_doubt : effect.status == Status::completed) {
      found.emplace_back(key, effect);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.second.intended_at > b.second.intended_at;
  });
  return found;
}

bool Effects::owes_after(Sequence target) const {
  return !undoable_after(target, Find::in_place).empty();
}

// A damaged journal may hide an effect that must be undone; then nothing is undone.
std::optional<std::string> Effects::settle_after(Sequence target) {
  const auto doubts = undoable_after(target, Find::in_doubt);
  const Sequence lost = run_.data_ ? run_.data_->journal.lost_intent() : 0;
  if (lost > target && (!doubts.empty() || owes_after(target))) {
    return "record " + std::to_string(lost) +
           " is damaged or missing and may have been the intent of an effect";
  }
  for (const auto& [key, effect] : doubts) {
    const Reconciled found = effect.status == Status::intended
                                 ? settle(key, effect, nullptr)
                                 : settle_compensation(key, effect, nullptr);
    if (found.answer != Reconciled::Answer::unknown) continue;
    if (effect.status == Status::compensating && call_again(key, effect)) continue;
    run_.emit(EventKind::effect_in_doubt, {.text = key});
    return (effect.status == Status::intended
                ? "nobody knows whether " + effect_name(key) + " happened"
                : "nobody knows whether " + effect_name(key) + " has been undone") +
           found.reason;
  }
  return std::nullopt;
}

// An interrupted compensation that may be repeated counts as not made.
bool Effects::call_again(const std::string& key, const EffectState& effect) {
  const Compensation* compensation = find_compensation(key, effect, nullptr);
  if (compensation == nullptr || compensation->semantics() == EffectSemantics::at_most_once) {
    return false;
  }
  return record_durably(RecordKind::compensation_withdrawn, key, effect,
                        Json{{"cause", "it was cut off, and may be called again"}})
      .has_value();
}

Effects::Undone Effects::compensate_after(Sequence target) {
  Undone undone;
  for (const auto& [key, effect] : undoable_after(target, Find::in_place)) {
    const Undoing one = compensate(key, effect);
    if (!one.problem) continue;
    std::string text = effect_name(key) + " could not be undone: " + *one.problem;
    if (one.prevented) {
      undone.prevented = Error{one.prevented->code, std::move(text)};
      break;
    }
    {
      const Lock lock(run_.mutex_);
      run_.data_->context().notes.push_back(text);
    }
    run_.emit(EventKind::compensation_failed, {.text = text});
    undone.failures.push_back(std::move(text));
  }
  return undone;
}

Input Effects::leave_undoing(Sequence target, const Error& why) {
  std::string detail = why.detail + "; it is undone when the run goes on";
  run_.end_in_store(
      RunStatus::cancelled,
      Json{{"compensates_after", target}, {"detail", detail}, {"error", to_string(why.code)}});
  run_.data_->outcome = std::make_unique<Error>(why.code, std::move(detail));
  return Input::stopped;
}

Effects::Undoing Effects::compensate(const std::string& key, const EffectState& effect) {
  const Compensation* compensation = find_compensation(key, effect, nullptr);
  if (compensation == nullptr) {
    return {.problem = effect.compensation && !effect.compensation->empty()
                           ? "its compensation \"" + printable(*effect.compensation) +
                                 "\" is not registered"
                           : "its compensation was a function, which is kept neither when the run "
                             "is suspended nor when its process dies; register it by name"};
  }
  const CompensationOptions& how = run_.core_.options.compensation;
  Duration delay = how.delay;
  Undoing undoing;
  for (int attempt = 1; attempt <= how.max_attempts; ++attempt) {
    const Duration twice(saturating_add(delay.count(), delay.count()));
    if (attempt > 1 && !wait(std::exchange(delay, twice))) {
      undoing.prevented = Error{Errc::cancelled, "the stop token was triggered"};
      break;
    }
    undoing = call_compensation(key, effect, *compensation);
    if (!undoing.problem || undoing.in_doubt) break;
  }
  return undoing;
}

Effects::Undoing Effects::call_compensation(const std::string& key, const EffectState& effect,
                                            const Compensation& compensation) {
  EffectCall call = call_of(key, effect, true);
  if (auto durable = record_durably(RecordKind::compensation_intended, key, effect,
                                    Json{{"idempotency_key", call.idempotency_key}});
      !durable) {
    record(RecordKind::compensation_withdrawn, key, effect,
           Json{{"cause", "the intent could not be stored"}});
    return {.problem = "the store failed: " + durable.error().detail, .prevented = durable.error()};
  }
  run_.emit(EventKind::compensation_started, {.text = key});
  if (effect.result) call.result = *effect.result;
  call.deadline = later(run_.now(), run_.core_.options.compensation.timeout);
  try {
    compensation.function()(call);
  } catch (const EffectNotDone& not_done) {
    static_cast<void>(record_durably(RecordKind::compensation_withdrawn, key, effect,
                                     Json{{"cause", not_done.what()}}));
    return {.problem = not_done.what()};
  } catch (...) {
    std::string cause = current_exception_text();
    if (run_.now() > *call.deadline) cause += " (after its time was up)";
    return settle_thrown(key, effect, compensation, std::move(cause));
  }
  if (auto kept = record_durably(RecordKind::compensation_completed, key, effect, Json::object());
      !kept) {
    const Lock lock(run_.mutex_);
    run_.data_->journal.doubt_effect(key);
    return {.problem = "it was undone, but that could not be stored: " + kept.error().detail,
            .in_doubt = true};
  }
  run_.emit(EventKind::compensation_completed, {.text = key});
  return {};
}

// The compensation threw, so how far it got is unknown.
Effects::Undoing Effects::settle_thrown(const std::string& key, const EffectState& effect,
                                        const Compensation& compensation, std::string cause) {
  const Reconciled found = settle_compensation(key, effect, nullptr);
  if (found.answer == Reconciled::Answer::done) return {};
  if (found.answer == Reconciled::Answer::not_done) return {.problem = std::move(cause)};
  if (compensation.semantics() != EffectSemantics::at_most_once) {
    static_cast<void>(
        record_durably(RecordKind::compensation_withdrawn, key, effect, Json{{"cause", cause}}));
    return {.problem = std::move(cause)};
  }
  run_.emit(EventKind::effect_in_doubt, {.text = key});
  return {.problem = cause + "; nobody knows whether it happened" + found.reason, .in_doubt = true};
}

Reconciled Effects::settle_compensation(std::string_view key, const EffectState& known,
                                        const EffectOptions* options) {
  const Compensation* compensation = find_compensation(key, known, options);
  const Reconcile::Function* function = nullptr;
  if (compensation != nullptr) {
    const Reconcile& reconcile = compensation->reconcile();
    const auto& named = run_.core_.options.reconciliations;
    if (reconcile.function()) {
      function = &reconcile.function();
    } else if (const auto found = named.find(reconcile.name()); found != named.end()) {
      function = &found->second.function();
    }
  }
  if (function == nullptr) return Reconciled::unknown();
  EffectCall call = call_of(key, known, true);
  if (known.result) call.result = *known.result;
  Reconciled found = ask(*function, call);
  if (found.answer == Reconciled::Answer::unknown) {
    if (!found.reason.empty()) found.reason = ": " + found.reason;
    return found;
  }
  const bool done = found.answer == Reconciled::Answer::done;
  Json fields{{"reconciled", true}};
  if (!done) fields["cause"] = "reconciled: it did not happen";
  const auto kept =
      record_durably(done ? RecordKind::compensation_completed : RecordKind::compensation_withdrawn,
                     key, known, std::move(fields));
  if (!kept) {
    const Lock lock(run_.mutex_);
    run_.data_->journal.doubt_effect(key);
    return Reconciled::unknown(": its answer could not be stored: " + kept.error().detail);
  }
  run_.emit(EventKind::effect_reconciled, {.text = key, .number = done ? 0U : 1U});
  return found;
}

// False if the run is cancelled. Never sleeps beyond the run's deadline.
bool Effects::wait(Duration delay) {
  const TimePoint instant = run_.now();
  TimePoint until = later(instant, delay);
  if (const auto& deadline = run_.deadline()) until = std::min(until, std::max(*deadline, instant));
  return run_.rest_until(until);
}

// --- Called by the run loop.

Input Run::undo() {
  Situation& s = data_->situation();
  const Sequence target =
      s.action.kind == RecoveryAction::Kind::rollback ? target_sequence() : Sequence{0};
  s.undoing = {};
  Effects effects(*this);
  if (auto doubt = effects.settle_after(target)) {
    if (s.action.kind == RecoveryAction::Kind::escalate) {
      const Lock lock(mutex_);
      data_->context().notes.push_back("nothing was undone: " + *doubt);
    }
    s.undoing.doubt = std::move(doubt);
    return Input::done;
  }
  const bool owes = effects.owes_after(target);
  record_action(s.action, owes ? std::optional(target) : std::nullopt);
  s.recorded = true;
  if (!owes) return Input::done;
  Effects::Undone undone = effects.compensate_after(target);
  if (undone.prevented) {
    Error& why = *undone.prevented;
    why.detail = describe(s.action) + ": " + why.detail;
    return effects.leave_undoing(target, why);
  }
  s.undoing.failures = std::move(undone.failures);
  return Input::done;
}

// A process died while undoing effects, or the run ended after undoing them: before the callable
// runs again, undoes the rest and restores the state from before those effects.
Input Run::finish_undoing() {
  const Journal& journal = data_->journal;
  const std::optional<Sequence> planned = journal.compensating_after();
  if (!planned && !journal.before_undone()) return Input::done;
  Effects effects(*this);
  if (planned) {
    if (auto doubt = effects.settle_after(*planned)) {
      std::string detail = "the effects of this run cannot all be undone: " + *doubt;
      end_in_store(RunStatus::escalated, Json{{"compensates_after", *planned},
                                              {"detail", detail},
                                              {"error", to_string(Errc::in_doubt)}});
      data_->outcome = std::make_unique<Error>(Errc::in_doubt, std::move(detail));
      return Input::stopped;
    }
    const Effects::Undone undone = effects.compensate_after(*planned);
    if (undone.prevented) return effects.leave_undoing(*planned, *undone.prevented);
  }
  // A position chosen by the caller is kept unless the state there has been undone.
  std::optional<Sequence> to = planned && data_->chosen_from ? data_->chosen_from : planned;
  if (const auto before = journal.before_undone(); before && (!to || *before < *to)) to = before;
  if (auto known = learn_state_at(*to); !known) {
    data_->outcome = std::make_unique<Error>(std::move(known).error());
    return Input::stopped;
  }
  const auto position = *to == 0 ? std::nullopt : journal.find(*to);
  record_rollback(position, false);
  const Sequence restored = position ? *to : journal.start_sequence();
  const std::string checkpoint =
      restored != 0 ? to_string(CheckpointId{id(), restored}) : std::string();
  if (data_->recovery) {
    Recovery& told = *data_->recovery;
    told.checkpoint_id = checkpoint;
    told.hint = position ? "The run goes on from checkpoint " + checkpoint +
                               ", because effects behind it were undone."
                         : "The run goes on from its start, because its effects were undone.";
  }
  data_->restored_steps = journal.trajectory().size();
  emit(EventKind::rolled_back, {.text = checkpoint});
  return Input::done;
}

}  // namespace triage::inline v0_1::detail
