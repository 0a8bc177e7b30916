// SPDX-License-Identifier: MIT
// What is taken from the store instead of being run, and what is put there.
#include "base/digest.hpp"
#include "base/json_words.hpp"
#include "base/run_catching.hpp"
#include "driver.hpp"
#include "records/compatible.hpp"
#include "schedule/router.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::workflow::detail {

// What is tried again may end differently, and then what was derived from it does not count.
// Stored, because the run may be interrupted when only the first of these has been tried again.
void Driver::note_verify() {
  retrying_ = before_.contains(retried_key);
  const bool known = retrying_ || before_.contains(edits_key);
  verify_ = known;
  each_of(before_, withheld_prefix,
          [&](const std::string&, const Json& since) { verify_ |= !since.is_null(); });
  each_of(before_, finished_prefix, [&](const std::string&, const Json& finished) {
    if (!finished.is_null()) ++doubtful_;
    if (finished.is_object() && finished.contains("failed")) verify_ |= options_.retry_failed;
  });
  if (verify_ && !known) {
    attempt_.update_state(Json{{std::string(retried_key), true}});
    retrying_ = true;
  }
  looked_at(0);
}

// So many deliveries that were stored before have been verified, made anew or dropped. With the
// last one the retry has come to its end: later goes need not verify what they find.
void Driver::looked_at(std::size_t stored) {
  if (!retrying_) return;
  doubtful_ -= stored;
  if (doubtful_ > 0) return;
  attempt_.remove_state(retried_key);
  retrying_ = false;
}

// A finished delivery is not run again, unless something it read has changed. True if it was taken
// from the store.
Result<bool> Driver::replay(const Delivery& delivery) {
  if (before_.empty()) return outcome::success(false);
  const std::string& path = plan_.nodes[delivery.node].path;
  const std::string key = finished_key(path, delivery.occurrence);
  const Json* stored = before_.find(key);
  if (stored == nullptr || stored->is_null()) return outcome::success(false);
  auto known = from_stored(plan_, parts_, key, *stored);
  // Its message went along an edge that is gone, which it may be if the executor did nothing.
  const bool outdated =
      !known && known.error().code == Errc::conflict && !counts_as_done(path, *stored);
  if (outdated) return outcome::success(false);
  TRIAGE_TRY(finished, std::move(known));
  if (!finished.failed.empty() && options_.retry_failed) return outcome::success(false);
  if (verify_ && !still_true(delivery, finished)) return outcome::success(false);
  if (finished.edited && !finished.routed) {
    TRIAGE_TRYV(route_again(delivery, finished));
  }
  if (!counts_as_done(path, *stored)) {
    TRIAGE_TRYV(tell_new_ones(delivery, finished));
  }
  TRIAGE_TRYV(settle({.delivery = delivery, .finished = std::move(finished), .reused = true}));
  return outcome::success(true);
}

// An edited result stands, whatever the executor would produce now.
bool Driver::still_true(const Delivery& delivery, const Finished& finished) const {
  if (finished.edited) return true;
  if (finished.input != digest_of(delivery.message)) return false;
  if (!knows_the_same(delivery.node, finished)) return false;
  for (const Read& read : finished.reads) {
    JsonPtr value;
    if (read.scope != inputs_scope) {
      value = values_.read(delivery, read.scope, read.key);
    } else if (inputs_.is_object() && inputs_.contains(read.key)) {
      value = std::make_shared<const Json>(inputs_.at(read.key));
    }
    if (digests_.of(read.scope, read.key, value) != read.digest) return false;
  }
  return true;
}

// A hash of what the executor's hook gave last; empty if nothing of it is stored.
std::string Driver::known_to(std::size_t node) const {
  const bool stored = options_.store && plan_.nodes[node].spec->type.has_hooks &&
                      policies_.of_node[node] != Policies::off;
  if (!stored) return {};
  return triage::detail::digest(show(kept_[node].saved)).substr(0, 16);
}

// Whether the executor's members are as they were when it began this.
bool Driver::knows_the_same(std::size_t node, const Finished& finished) const {
  const std::string now = known_to(node);
  if (now.empty()) return true;
  // A record of an earlier version: what has run again may have changed them.
  if (finished.began.empty()) return kept_[node].instance == nullptr;
  return finished.began == now && kept_[node].withheld.empty();
}

// Routes an edited message anew, unless the one before it was sent to somebody in particular.
Result<void> Driver::route_again(const Delivery& delivery, Finished& finished) const {
  for (Sent& sent : finished.sent) {
    for (const auto* exits :
         {&plan_.nodes[delivery.node].edges, exits_of_output(plan_, delivery.node)}) {
      if (exits == nullptr || exits->empty()) continue;
      if (finished.was) {
        TRIAGE_TRY(before, routes_of(plan_, *exits, *finished.was));
        if (before != sent.routes) continue;
      }
      TRIAGE_TRY(routes, routes_of(plan_, *exits, sent.message));
      sent.routes = std::move(routes);
      break;
    }
  }
  return outcome::success();
}

// A task that was left out may have got tasks after it since.
Result<void> Driver::tell_new_ones(const Delivery& delivery, Finished& finished) {
  if (finished.sent.size() + finished.outputs.size() != 1) return outcome::success();
  Message told = finished.sent.empty() ? finished.outputs.front() : finished.sent.front().message;
  TRIAGE_TRY(now, replaced(delivery, std::move(told)));
  const auto routes_in = [](const Finished& one) {
    return one.sent.empty() ? std::vector<Route>() : one.sent.front().routes;
  };
  if (routes_in(now) == routes_in(finished)) return outcome::success();
  finished.sent = std::move(now.sent);
  finished.outputs = std::move(now.outputs);
  Json none;
  attempt_.update_state(Json{{finished_key(plan_.nodes[delivery.node].path, delivery.occurrence),
                              to_stored(plan_, finished, {.fresh = none})}});
  return outcome::success();
}

// What a delivery ends with if this takes the place of its result: it goes where a result would.
Result<Finished> Driver::replaced(const Delivery& delivery, Message message) const {
  message = completed(std::move(message));
  TRIAGE_TRYV(check_json(message.json(), "what is sent instead"));
  Finished finished = begun_as(plan_, delivery, around_.stored);
  finished.began = known_to(delivery.node);
  const auto* exits = &plan_.nodes[delivery.node].edges;
  if (exits->empty()) exits = exits_of_output(plan_, delivery.node);
  if (exits == nullptr) {
    finished.outputs.push_back(std::move(message));
    return outcome::success(std::move(finished));
  }
  TRIAGE_TRY(routes, routes_of(plan_, *exits, message));
  finished.sent.push_back({std::move(message), std::move(routes)});
  return outcome::success(std::move(finished));
}

// What a delivery ends with if its executor's policy falls back on this value.
Result<Finished> Driver::fallen_back(const Delivery& delivery, const Json& value) const {
  struct Making final : Instance {
    const ExecutorOptions& own;
    const Json& value;
    Making(const ExecutorOptions& options, const Json& json) : own(options), value(json) {}
    Result<void> handle(const Message& message, Context& context) override {
      send_returned(context, own.fallback(value, message, context));
      return outcome::success();
    }
  };
  const ExecutorOptions& own = plan_.nodes[delivery.node].spec->options;
  if (!own.fallback) return replaced(delivery, message_of_inputs(value));
  try {
    Making making(own, value);
    DeliveryCall call(around_, delivery, attempt_);
    TRIAGE_TRYV(call.perform(making));
    if (call.parked()) return Error{Errc::invalid_argument, "what makes it asks somebody"};
    call.finished().began = known_to(delivery.node);
    return outcome::success(std::move(call.finished()));
  } catch (...) {
    return Error{Errc::invalid_argument, triage::detail::current_exception_text()};
  }
}

// An executor that defines a replacement for its failed result lets the others continue.
void Driver::take_instead(Ended& ended) {
  const ExecutorOptions& own = plan_.nodes[ended.delivery.node].spec->options;
  if (!own.instead || attempt_.error() || stop_.stop_requested()) return;
  Error error(Errc::escalated, "");
  try {
    if (ended.thrown) std::rethrow_exception(ended.thrown);
    error = *ended.error;
  } catch (const std::exception& e) {
    error.detail = triage::detail::json_words(e.what());
  } catch (...) {
    error.detail = "an exception that is not a std::exception";
  }
  if (error.code == Errc::suspended || error.code == Errc::cancelled) return;
  const auto fail = [&](const std::string& why) {
    ended.error = Error(Errc::escalated, error.detail + " (and what to send instead: " + why + ")");
    ended.thrown = nullptr;
  };
  try {
    auto finished = replaced(ended.delivery, own.instead(error, ended.delivery.message));
    if (!finished) return fail(finished.error().detail);
    ended.finished = std::move(finished).value();
    if (own.instead_is_failure) {
      ended.finished.failed = error.detail.empty() ? "failed" : error.message();
      ended.finished.outdated = outdated(ended.delivery);
    }
    ended.status = Status::done;
  } catch (const std::exception& e) {
    fail(triage::detail::json_words(e.what()));
  } catch (...) {
    fail("an exception that is not a std::exception");
  }
}

// The private state of an executor excluded from checkpoints is not stored.
Json Driver::stored_form(const Ended& ended, Shrunk shrunk) const {
  const std::size_t node = ended.delivery.node;
  if (policies_.of_node[node] != Policies::off) return to_stored(plan_, ended.finished, shrunk);
  return to_stored(plan_, without_private(ended.finished, private_scope(plan_.nodes[node].path)),
                   shrunk);
}

void Driver::store_finished(const Ended& ended) {
  const std::size_t node = ended.delivery.node;
  const std::string& path = plan_.nodes[node].path;
  Json patch = Json::object();
  Json stored = stored_form(ended, {&parts_, patch});
  const std::string key = finished_key(path, ended.delivery.occurrence);
  Json& withheld = kept_[node].withheld;
  const std::string mark = std::string(withheld_prefix) + path;
  patch[key] = std::move(stored);
  const std::size_t bytes = checkpoints_.counts_bytes() ? show(patch).size() : 0;
  if (ended.unsaved) {
    withheld.update(patch);
    checkpoints_.failed(node, ended.delivery.occurrence, *ended.unsaved);
    attempt_.update_state(Json{{mark, ended.delivery.occurrence}});
    return;
  }
  if (!withheld.empty()) {
    patch.update(std::exchange(withheld, Json::object()));
    patch[mark] = nullptr;
  }
  const Json parts = Parts::of(patch);
  attempt_.update_state(std::move(patch));
  parts_.learn(parts);  // Only now: others must not refer to parts that are not stored.
  checkpoints_.recorded(node, 0, bytes);
}

// Reports external sources that have changed to the observer; the new ones count.
void Driver::compare_resources() {
  if (options_.resources.empty()) return;
  Json now = Json::object();
  for (const Resource& one : options_.resources) {
    now[one.name] = Json{{"kind", one.kind}, {"digest", one.digest}};
  }
  const Json* before = before_.find(resources_key);
  if (before != nullptr && *before == now) return;
  for (const Resource& one : options_.resources) {
    if (before == nullptr || !before->contains(one.name)) continue;
    const Json& known = before->at(one.name);
    if (known.value("digest", std::string()) == one.digest) continue;
    checkpoints_.tell({.kind = WorkflowEventKind::resource_changed,
                       .value = Json{{"name", one.name},
                                     {"kind", one.kind},
                                     {"before", known.value("digest", std::string())},
                                     {"now", one.digest}}});
  }
  attempt_.update_state(Json{{std::string(resources_key), std::move(now)}});
}

// A failing hook costs the executor its state, but not the delivery.
void Driver::ask_hook(Ended& ended, const Instance& instance) {
  const std::size_t node = ended.delivery.node;
  ended.unsaved.reset();
  ended.finished.began = known_to(node);
  if (!instance.has_state()) return;
  try {
    Json saved = instance.save();
    if (auto checked = check_json(saved, "what the executor's save() gave"); !checked) {
      ended.unsaved = std::move(checked).error();
    } else if (saved != kept_[node].saved) {
      ended.finished.saved = std::move(saved);
    }
  } catch (const std::exception& e) {
    ended.unsaved = Error(Errc::invalid_argument,
                          "the executor's save() threw: " + triage::detail::json_words(e.what()));
  } catch (...) {
    ended.unsaved = Error(Errc::invalid_argument, "the executor's save() threw no std::exception");
  }
  if (!ended.unsaved || policies_.of_node[node] != Policies::off) return;
  ended.unsaved.reset();  // Nothing of it is stored anyway.
  ended.finished.saved = Json();
}

// The run has finished, so the state is no longer needed.
void Driver::store_withheld() {
  for (Kept& kept : kept_) {
    if (!kept.withheld.empty()) attempt_.update_state(std::exchange(kept.withheld, Json::object()));
  }
}

// Observers hear of what has ended before they hear of the checkpoints that it makes, as the
// journal has it.
void Driver::store_ended(Ended& ended) {
  if (!options_.store || ended.status == Status::not_begun) return;
  const std::size_t node = ended.delivery.node;
  const auto happened = [&](CheckpointTrigger trigger) {
    checkpoints_.happened(trigger, node, ended.delivery.occurrence);
  };
  const bool failed = ended.thrown != nullptr || ended.error.has_value();
  const bool opened = ended.status == Status::parked && store_asked(ended);
  if (ended.status == Status::done) store_finished(ended);
  if ((!stores_soon_ || options_.on_event) && !store()) return;
  if (options_.on_event) {
    tell(ended, ended.status == Status::parked   ? Ran::waits
                : ended.status == Status::failed ? Ran::failed
                                                 : Ran::done);
    ended.told = true;
  }
  if (opened) happened(CheckpointTrigger::request_opened);
  if (ended.status == Status::parked) return;
  happened(failed ? CheckpointTrigger::task_failed : CheckpointTrigger::task_completed);
  if (ended.patched && !failed) happened(CheckpointTrigger::plan_patched);
}

void Driver::superstep_ended(int superstep) {
  if (!called_.empty() && body_.spec().options.schedule == Schedule::supersteps) {
    checkpoints_.superstep_ended(superstep, called_);
  }
  called_.clear();
}

static std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    return triage::detail::current_exception_text();
  }
}

// Notifies observers, in settling order.
void Driver::tell(const Ended& ended, Ran how) const {
  using Kind = WorkflowEventKind;
  WorkflowEvent event{.executor = plan_.nodes[ended.delivery.node].path,
                      .occurrence = ended.delivery.occurrence,
                      .superstep = ended.delivery.superstep};
  const auto send = [&](Kind kind, Json value) {
    event.kind = kind;
    event.value = std::move(value);
    checkpoints_.tell(event);
  };
  for (const Asked& asked : ended.asked) {
    event.request = asked.id;
    if (how == Ran::waits) send(Kind::request_opened, asked.payload);
  }
  event.request.clear();
  if (how == Ran::waits) return;
  event.error = ended.error;
  if (how == Ran::failed) {
    return send(Kind::executor_failed, ended.thrown ? Json(text_of(ended.thrown)) : Json());
  }
  Json sent = Json::array();
  for (const Sent& one : ended.finished.sent) sent.push_back(one.message.json());
  if (how == Ran::reused) {
    for (const Message& output : ended.finished.outputs) sent.push_back(output.json());
    return send(Kind::executor_reused, std::move(sent));
  }
  if (!ended.finished.failed.empty()) {
    send(Kind::executor_failed, ended.finished.failed);
  } else {
    send(Kind::executor_completed, std::move(sent));
  }
  for (const Message& output : ended.finished.outputs) send(Kind::output, output.json());
}

void Driver::note(const Ended& ended, Ran how) {
  Viewed view{.node = ended.delivery.node,
              .occurrence = ended.delivery.occurrence,
              .superstep = ended.delivery.superstep,
              .how = how};
  view.sent.reserve(ended.finished.sent.size() + ended.finished.outputs.size());
  for (const Sent& sent : ended.finished.sent) view.sent.push_back(sent.message.value);
  for (const Message& message : ended.finished.outputs) view.sent.push_back(message.value);
  views_.push_back(std::move(view));
  if (options_.on_event && !ended.told) tell(ended, how);
}

}  // namespace triage::inline v0_1::workflow::detail
