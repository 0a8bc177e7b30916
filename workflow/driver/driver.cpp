// SPDX-License-Identifier: MIT
#include "driver.hpp"
#include "base/digest.hpp"
#include "lending_clock.hpp"
#include "records/compatible.hpp"
#include "triage/detail/cancel_token.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

Driver::Driver(const WorkflowBody& body, const Policies& policies, const Json& inputs,
               Attempt& attempt, const DriverOptions& options)
    : body_(body),
      plan_(body.plan()),
      inputs_(inputs),
      attempt_(attempt),
      options_(options),
      values_(plan_, body.spec().options.schedule),
      scheduler_(plan_, body.spec().options.schedule, options.max_supersteps),
      policies_(policies),
      stop_(triage::detail::cancel_token(attempt)),  // The deadline lets work finish.
      deadline_(attempt.deadline()),
      stores_soon_(options.store && options.store->capabilities().background_appends),
      checkpoints_(plan_, policies, attempt, *options_.clock, options.store.get(),
                   options.on_event),
      around_{body,     inputs,       attempt,       *options_.clock,     values_,
              answers_, checkpoints_, options.store, &options_.resources, options.store != nullptr},
      kept_(plan_.nodes.size()),
      work_(options.threads, options.pool) {
  around_.work = &work_;
  around_.requests = &requests_;
  around_.digests = &digests_;
  around_.halt = options_.halt;
  around_.reconciliations = options_.reconciliations;
  lending_ = std::make_shared<LendingClock>(options_.clock, work_, options_.halt);
  around_.given_clock = lending_;
}

Result<void> Driver::load(Driven& driven) {
  before_ = around_.before = attempt_.state();
  requests_.begin_with(before_);
  parts_.begin_with(before_);
  note_timeline(driven);
  note_rollback(driven);
  for (const std::string_view of_the_end : {stopped_key, joins_key}) {
    const Json* before = before_.find(of_the_end);
    if (before == nullptr || before->is_null()) continue;
    attempt_.update_state(Json{{std::string(of_the_end), nullptr}});
  }
  if (!options_.known_parts.is_null()) note_parts();
  if (const Json* edits = before_.find(edits_key)) {
    around_.refuses_effects = edits->value("effects", std::string()) == refuse_new;
    if (edits->contains("changed")) around_.branch = attempt_.run_id();
    begin_with_edits(values_, before_);
  }
  note_verify();
  each_of(before_, migrated_prefix, [&](const std::string& path, const Json& migrated) {
    const auto node = plan_.node_of.find(path);
    if (node != plan_.node_of.end()) migrated_.emplace(node->second, migrated);
  });
  compare_resources();
  TRIAGE_TRYV(load_answers());
  return store();
}

// A rollback does not bring back the answers that a restore has dropped.
void Driver::note_timeline(Driven& driven) {
  const std::string before = timeline_of(before_);
  timeline_ = before;
  if (options_.restored) {
    timeline_ = std::to_string(attempt_.number());
  } else if (attempt_.recovery() != nullptr &&
             attempt_.recovery()->action == RecoveryAction::Kind::rollback) {
    timeline_ = driven.timeline.value_or(before);
  }
  if (timeline_ != before) attempt_.update_state(Json{{std::string(timeline_key), timeline_}});
  driven.timeline = timeline_;
}

Result<Json> Driver::run(Driven& driven) {
  if (attempt_.number() == 1) checkpoints_.entry();
  TRIAGE_TRYV(load(driven));
  scheduler_.start(message_of_inputs(body_.spec().options.deliver_inputs ? inputs_ : Json()));
  Result<void> driven_on = drive();
  if (halted()) checkpoints_.happened(CheckpointTrigger::terminate_signal);
  driven.state = values_.json();
  driven.asked = asked();
  driven.deliveries = std::move(views_);
  if (!driven_on) {
    driven.error = driven_on.error();
    return std::move(driven_on).error();
  }
  if (!failed_.empty()) {
    if (halted()) note_stopped(driven, how_halted());
    return first_failure(driven);
  }
  if (late_) return deadline_passed(driven);
  if (spent_) return budget_spent(driven);
  if (halted() && scheduler_.waiting() + scheduler_.left() > 0) return stopped(driven);
  if (!parked_.empty()) return is_late() ? deadline_passed(driven) : waiting();
  if (scheduler_.at_limit()) return at_limit();
  if (!failed_tasks_.empty()) return failed_tasks();
  note_joins();
  store_withheld();
  return outcome::success(result(driven));
}

Result<void> Driver::drive() {
  for (;;) {
    steer();
    work_.help();
    if (thrown_) std::rethrow_exception(thrown_);
    if (take_helm() || scheduler_.running() > 0) continue;
    TRIAGE_TRYV(std::exchange(steered_, outcome::success()));
    if (!failed_.empty() || late_ || (spent_ && !go_on_within_budget())) break;
    if (scheduler_.running() > 0) continue;
    if (halted()) {
      // Whether the run was at its end is only known once its messages are delivered.
      if (scheduler_.left() + scheduler_.waiting() > 0) break;
      TRIAGE_TRYV(end_superstep());
      break;
    }
    if (scheduler_.left() > 0) {
      TRIAGE_TRY(some, go_on_without_answers());
      if (some) continue;
      drop_unreached();
      break;
    }
    TRIAGE_TRY(more, end_superstep());
    if (!more) break;
  }
  return outcome::success();
}

// True if deliveries have ended that are to be settled.
bool Driver::take_helm() {
  const std::scoped_lock lock(mutex_);
  at_helm_ = true;
  return !ended_.empty();
}

// For the thread at the helm, which it leaves: settles what has ended and begins what can begin,
// until neither is left. After an error, running deliveries may finish.
void Driver::steer() {
  try {
    for (bool some = true; some;) {
      Result<void> done = collect();
      if (done && steered_) done = begin_ready();
      if (!done && steered_) steered_ = std::move(done);
      const std::scoped_lock lock(mutex_);
      gathers_ = gathers();
      some = !ended_.empty() && !gathers_;
      at_helm_ = some || options_.pool != nullptr;
    }
  } catch (...) {
    thrown_ = std::current_exception();  // Nobody takes the helm again.
  }
}

Result<void> Driver::begin_ready() {
  while (failed_.empty() && !spent_ && !late_ && !halted()) {
    auto delivery = scheduler_.next();
    if (!delivery) break;
    const std::size_t running = scheduler_.running();
    auto known = replay(*delivery);
    if (known && !known.value()) {
      if (auto migrated = migrate(*delivery); !migrated) known = std::move(migrated).error();
    }
    if (!known && scheduler_.running() == running) scheduler_.leave(*delivery);
    if (!known) return std::move(known).error();
    if (known.value()) continue;
    if (may_begin()) {
      begin(*std::move(delivery));
    } else {
      scheduler_.leave(*delivery);
      not_begun_.push_back(*std::move(delivery));
    }
  }
  return outcome::success();
}

// False if nothing more can run.
Result<bool> Driver::end_superstep() {
  TRIAGE_TRYV(values_.commit());
  const int superstep = scheduler_.superstep();
  const bool more = scheduler_.advance();
  if (!more) drop_unreached();
  superstep_ended(superstep);
  TRIAGE_TRYV(store());  // Nothing begins with what could get lost.
  return outcome::success(more);
}

void Driver::begin(Delivery delivery) {
  called_.push_back(delivery.node);
  work_.add([this, delivery = std::move(delivery)]() mutable {
    Ended ended{.delivery = std::move(delivery)};
    if (halted() || !may_begin()) {  // Since it was put in line.
      ended.status = Status::not_begun;
    } else {
      perform(ended);
    }
    {
      const std::scoped_lock lock(mutex_);
      ended_.push_back(std::move(ended));
      if (at_helm_ || gathers_) return;
      at_helm_ = true;
    }
    steer();
  });
}

void Driver::perform(Ended& ended) {
  ended.unsaved.reset();
  if (options_.at_work != nullptr) {
    (*options_.at_work)[ended.delivery.node] = ended.delivery.occurrence;
  }
  if (options_.on_event) {
    checkpoints_.tell({.kind = WorkflowEventKind::executor_started,
                       .executor = plan_.nodes[ended.delivery.node].path,
                       .occurrence = ended.delivery.occurrence,
                       .superstep = ended.delivery.superstep});
  }
  checkpoints_.happened(CheckpointTrigger::task_started, ended.delivery.node,
                        ended.delivery.occurrence);
  const ExecutorOptions& own = plan_.nodes[ended.delivery.node].spec->options;
  if (own.policy || own.limits) {
    call_under_policy(ended);
  } else {
    call_once(ended, attempt_);
  }
  if (ended.status != Status::done) kept_[ended.delivery.node].instance.reset();
  if (gave_up(ended)) {
    ended.status = Status::not_begun;
    if (ended.too_late) late_ = true;
  }
  const bool rolls_back = ended.rollback && rollbacks_ < body_.spec().options.max_rollbacks;
  if (ended.status == Status::failed && !rolls_back) take_instead(ended);
  store_ended(ended);
  if (options_.at_work != nullptr) (*options_.at_work)[ended.delivery.node] = 0;
}

// It gave up because the run is ending; the delivery is made again when the run continues.
bool Driver::gave_up(const Ended& ended) const {
  if (ended.status != Status::failed || ended.thrown != nullptr || !ended.error) return false;
  return ended.too_late || (halted() && ended.error->code == Errc::cancelled);
}

Result<Instance*> Driver::instance_of(std::size_t node) {
  Kept& kept = kept_[node];
  if (!kept.instance && !kept.withheld.empty()) {
    return Error{Errc::conflict, "executor \"" + plan_.nodes[node].path +
                                     "\" cannot begin again: its save() has failed, so what it "
                                     "knew since then is lost"};
  }
  if (!kept.instance) {
    kept.instance = plan_.nodes[node].spec->type.make();
    if (!kept.saved.is_null()) {
      TRIAGE_TRYV(kept.instance->restore(kept.saved));
    }
  }
  return kept.instance.get();
}

// One attempt at a delivery. Never throws.
void Driver::call_once(Ended& ended, Attempt& inner) {
  ended.status = Status::failed;
  ended.too_late = false;
  ended.error.reset();
  ended.thrown = nullptr;
  try {
    if (options_.calls != nullptr) ++*options_.calls;
    DeliveryCall call(around_, ended.delivery, inner);
    auto instance = instance_of(ended.delivery.node);
    Result<void> done = instance ? call.perform(*instance.value()) : instance.error();
    ended.asked = call.asked();
    ended.patched = call.patched();
    if (!done) {
      ended.too_late = call.is_too_late(done.error());
      ended.error = std::move(done).error();
      kept_[ended.delivery.node].instance.reset();
      return;
    }
    ended.status = call.parked() ? Status::parked : Status::done;
    ended.finished = std::move(call.finished());
    if (!call.parked()) ask_hook(ended, *instance.value());
  } catch (...) {
    ended.status = Status::failed;
    ended.thrown = std::current_exception();
    kept_[ended.delivery.node].instance.reset();
  }
}

// Nothing can begin because something ends, until all have ended: then the store's thread writes
// ended deliveries while the next ones run. An observer, though, is notified of each as soon as it
// is stored.
bool Driver::gathers() const {
  return !options_.on_event && body_.spec().options.schedule == Schedule::supersteps &&
         scheduler_.waiting() == 0;
}

// Of the deliveries that end together in a superstep, none is needed before all are stored, unless
// their executors have more to do in it.
bool Driver::is_awaited(const std::vector<Ended>& ended) const {
  return options_.on_event || body_.spec().options.schedule == Schedule::eager ||
         std::any_of(ended.begin(), ended.end(),
                     [&](const Ended& one) { return scheduler_.has_more(one.delivery.node); });
}

Result<void> Driver::collect() {
  std::vector<Ended> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended.swap(ended_);
  }
  if (auto stored = is_awaited(ended) ? store() : outcome::success(); !stored) {
    for (const Ended& one : ended) scheduler_.leave(one.delivery);  // It has led to nothing.
    return stored;
  }
  Result<void> settled = outcome::success();
  for (Ended& one : ended) {
    Result<void> done = settle(std::move(one));
    if (!done && settled) settled = std::move(done);
  }
  if (auto error = attempt_.error()) return *std::move(error);  // For example, from the store.
  return settled;
}

Result<void> Driver::settle(Ended ended) {
  const Delivery& delivery = ended.delivery;
  if (ended.status != Status::done) scheduler_.leave(delivery);
  if (ended.status == Status::not_begun) {
    not_begun_.push_back(std::move(ended.delivery));
    return outcome::success();
  }
  if (ended.status == Status::parked) {
    if (!options_.store) {
      return Error{Errc::unsupported, "executor \"" + plan_.nodes[delivery.node].path +
                                          "\" asks somebody outside, and a run without a store "
                                          "cannot be answered; a MemoryStore will do"};
    }
    note(ended, Ran::waits);
    parked_.push_back(std::move(ended));
    return outcome::success();
  }
  if (ended.status == Status::failed) {
    note(ended, Ran::failed);
    failed_.push_back(std::move(ended));
    return outcome::success();
  }
  note(ended, ended.reused ? Ran::reused : Ran::done);
  if (ended.reused) kept_[delivery.node].instance.reset();  // It has not seen this one.
  if (!ended.finished.failed.empty()) {
    failed_tasks_.push_back("executor \"" + plan_.nodes[delivery.node].path +
                            "\": " + ended.finished.failed);
  }
  if (ended.finished.saved) kept_[delivery.node].saved = *ended.finished.saved;
  for (std::size_t i = 0; i < ended.finished.outputs.size(); ++i) {
    outputs_.push_back(
        {delivery.superstep, {delivery.node, delivery.occurrence}, i, ended.finished.outputs[i]});
  }
  Result<void> added = values_.add(delivery, ended.finished.writes);
  const auto migrated = migrated_.find(delivery.node);
  if (added && migrated != migrated_.end() && ended.reused &&
      migrated->second.value("after", 0) == delivery.occurrence) {
    added = take_migrated(delivery, migrated->second);
  }
  if (retrying_ && !ended.unsaved) {
    const Json* before =
        before_.find(finished_key(plan_.nodes[delivery.node].path, delivery.occurrence));
    if (before != nullptr && !before->is_null()) looked_at(1);
  }
  scheduler_.settle(delivery, std::move(ended.finished.sent));
  return added;
}

Json Driver::result(Driven& driven) {
  std::sort(outputs_.begin(), outputs_.end(), [](const Emitted& a, const Emitted& b) {
    return std::tie(a.superstep, a.origin, a.index) < std::tie(b.superstep, b.origin, b.index);
  });
  Json places = Json::array();
  for (const Emitted& one : outputs_) {
    places.push_back(
        Json::array({plan_.nodes[one.origin.node].path, one.origin.occurrence, one.index}));
  }
  driven.outputs = std::move(outputs_);
  return places;
}

}  // namespace triage::inline v0_1::workflow::detail
