// SPDX-License-Identifier: MIT
// Waits inside an attempt: until a time, or for a signal from outside.
#include "base/digest.hpp"
#include "base/may_pass.hpp"
#include "base/run_catching.hpp"
#include "resume/continuation.hpp"
#include "resume/waits.hpp"
#include "run/run.hpp"
#include "storage/run_keys.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_signal_name = 256;
constexpr WallTime::duration longest_wait = std::chrono::hours(24 * 36'500);  // Fits nanoseconds.
constexpr Duration poll_interval = std::chrono::milliseconds(50);

}  // namespace

Result<void> check_wait_name(std::string_view name, const char* whose) {
  if (!name.empty() && name.size() <= longest_signal_name) return outcome::success();
  return Error{Errc::invalid_argument, std::string(whose) + " name has " +
                                           std::to_string(name.size()) +
                                           " bytes; allowed are 1 to 256"};
}

Result<std::optional<Json>> read_signal(KeySpace& store, const RunId& run, std::string_view name) {
  TRIAGE_TRY(sent, run_catching([&] { return store.get(signal_space, signal_key(run, name)); }));
  if (!sent) return outcome::success(std::nullopt);
  TRIAGE_TRY(body, decode_cbor(sent->bytes));
  if (!body.is_object() || !body.contains("value")) {
    return Error{Errc::corrupt, "signal \"" + printable(name) + "\" is damaged"};
  }
  return std::optional<Json>(std::move(body["value"]));
}

// Answers are in the journal, which a continued run reads first. The keys only make a second signal
// a conflict while the run is active or waiting.
static void forget_signals(CheckpointStore& store, const Journal& journal) {
  for (const auto& [name, value] : journal.signals()) {
    const std::string key = signal_key(journal.run(), name);
    const auto sent = run_catching([&] { return store.get(signal_space, key); });
    if (!sent || !sent.value()) continue;
    static_cast<void>(
        run_catching([&] { return store.erase_if(signal_space, key, sent.value()->version); }));
  }
}

void Run::tidy_keys(bool ended) {
  RunData& data = *data_;
  if (data.detached || data.fenced || !data.started) return;
  if (data.made_extras)
    forget_ticket(*data.store, std::exchange(data.made_extras->spent_ticket, {}));
  if (ended) forget_signals(*data.store, data.journal);
}

namespace {

// Whether two lengths of the same wait agree, allowing for the work done before it.
bool about_as_long(WallTime::duration one, WallTime::duration other) {
  const WallTime::duration slack =
      std::min<WallTime::duration>(std::chrono::seconds(1), std::max(one, other) / 10);
  return one - other <= slack && other - one <= slack;
}

}  // namespace

Error Run::too_late_for(int attempt, std::string text) {
  const char* const why = no_time_left(name_of_end());
  const std::scoped_lock lock(mutex_);
  if (is_late(attempt)) return ended_attempt();
  made_data().attempt.no_attempt = why;
  Error error(Failure{.text = std::move(text), .type = FailureType::timeout, .reason = "deadline"});
  data_->attempt.reported = error.reported();
  return error;
}

// An attempt whose steps must not be repeated cannot be made again, so it waits in place.
bool Run::may_suspend() const {
  if (limits().max_wait == Duration::zero() || !data_ || !outlives_process()) return false;
  const RunData& data = *data_;
  return !unsafe_to_rerun(core_, data.journal.trajectory(), data.restored_steps,
                          RecoveryAction::Kind::resume);
}

bool Run::can_suspend(int attempt) {
  if (data_ && data_->detached) static_cast<void>(drain_or_degrade());  // It may work again.
  const std::scoped_lock lock(mutex_);
  return !is_late(attempt) && may_suspend();
}

Result<WaitFacts> Run::measure_wait(int attempt, const Pause& what) {
  WaitFacts facts;
  const WallTime wall = core_.clock->wall_now();
  facts.left =
      what.until < wall ? WallTime::duration(-1) : std::min(what.until - wall, longest_wait);
  if (what.latest) facts.left = std::min(facts.left, *what.latest - now());
  if (const auto latest = deadline()) facts.deadline_left = *latest - now();
  if (const auto latest = run_time_ends()) facts.time_left = *latest - now();
  const std::scoped_lock lock(mutex_);
  if (is_late(attempt)) return ended_attempt();
  facts.can_suspend = may_suspend();
  return outcome::success(facts);
}

// Ends the attempt; it is made again when its time comes.
Error Run::ask_to_suspend(int attempt, const Pause& what) {
  const std::scoped_lock lock(mutex_);
  if (is_late(attempt)) return ended_attempt();
  RunExtras& extras = made_data().extras();
  AskedWait wait{.until = what.until,
                 .signal = std::string(what.signal),
                 .place = what.place,
                 .length = what.until - core_.clock->wall_now(),
                 .message = what.signal.empty()
                                ? "waits until a time that is named"
                                : "waits for signal \"" + printable(what.signal) + "\"",
                 .beside = extras.carried.contains(std::this_thread::get_id())};
  Error error{Errc::suspended, wait.message};
  const auto same = std::find_if(extras.attempt.waits.begin(), extras.attempt.waits.end(),
                                 [&](const AskedWait& other) {
                                   return other.signal == wait.signal && other.place == wait.place;
                                 });
  if (same == extras.attempt.waits.end()) {
    extras.attempt.waits.push_back(std::move(wait));
  } else {
    wait.until = std::min(wait.until, same->until);
    wait.beside = wait.beside && same->beside;
    *same = std::move(wait);
  }
  return error;
}

Result<void> Run::rest_in_attempt(int attempt, Duration delay) {
  if (!rest_until(now() + delay)) {
    if (attempt_is_over() && !stop_token().stop_requested()) return out_of_time(attempt);
    return Error{Errc::cancelled, "the stop token was triggered while the attempt waited"};
  }
  if (data_->fenced) return drain_strictly();  // Reports the run's new owner.
  return outcome::success();
}

// Whether another look, later, may find what this one could not.
bool Run::may_look_again(const Error& failed) const noexcept {
  return may_pass(failed.code) && !fails_with_store();
}

// Drives one wait, blocking. *signal receives the signal's value, if one was sent.
Result<void> Run::pause(int attempt, const Pause& what, std::optional<Json>* signal) {
  if (data_ && data_->detached) {  // It may work again.
    TRIAGE_TRYV(drain_or_degrade());
  }
  const WaitMachine machine(signal != nullptr, limits().max_wait, poll_interval);
  WaitFacts facts;
  WaitInput input = WaitInput::start;
  for (;;) {
    const WaitNext next = machine.next(input, facts);
    switch (next.what) {
      case WaitDo::measure: {
        TRIAGE_TRY(measured, measure_wait(attempt, what));
        facts = measured;
        input = WaitInput::measured;
        break;
      }
      case WaitDo::look: {
        auto sent = read_signal(*data_->store, id(), what.signal);
        // After the last look it is recorded that no signal came, so that one must not fail.
        const bool is_last = facts.left <= WallTime::duration::zero();
        if (!sent && (is_last || !may_look_again(sent.error()))) return std::move(sent).error();
        *signal = sent ? std::move(sent).value() : std::nullopt;
        input = *signal ? WaitInput::seen : WaitInput::unseen;
        break;
      }
      case WaitDo::drain: {
        TRIAGE_TRYV(drain_or_degrade());
        input = WaitInput::drained;
        break;
      }
      case WaitDo::rest: {
        TRIAGE_TRYV(rest_in_attempt(attempt, next.delay));
        input = WaitInput::woke;
        break;
      }
      case WaitDo::refuse:
        return too_late_for(attempt, "the attempt would wait beyond " + std::string(name_of_end()));
      case WaitDo::suspend: return ask_to_suspend(attempt, what);
      case WaitDo::done: return outcome::success();
    }
  }
}

// --- Until a time.

// A callable that says "in two hours" names a new time at each call and would be suspended for
// ever. So a sleep is identified by its place: the attempt's state there, and the number of earlier
// sleeps with that state. After a suspension the callable reaches the same place; if it then asks
// for a wait of the same length, that wait is over.
std::string Run::place_of_sleep(int attempt) {
  const std::scoped_lock lock(mutex_);
  if (open_attempt_.load(std::memory_order_relaxed) != attempt) return {};
  if (!may_suspend() && made_data().journal.served_waits().empty()) return {};
  std::string state = digest(show(made_data().journal.state().json())).substr(0, 16);
  const int before = made_data().extras().attempt.sleeps[state]++;
  return state + "/" + std::to_string(before);
}

bool Run::is_served(const std::string& place, WallTime when) {
  const WallTime wall = core_.clock->wall_now();
  const std::scoped_lock lock(mutex_);
  if (place.empty() || !data_) return false;
  const auto& served = data_->journal.served_waits();
  const auto found = served.find(place);
  return found != served.end() && about_as_long(found->second, when - wall);
}

Result<void> Run::sleep_until(int attempt, WallTime when) {
  const std::string place = place_of_sleep(attempt);
  if (core_.clock->wall_now() < when && is_served(place, when)) return outcome::success();
  if (core_.clock->wall_now() >= when) return outcome::success();
  return pause(attempt, {.until = when, .place = place});
}

Result<void> Run::sleep_for(int attempt, std::string_view name, Duration length) {
  TRIAGE_TRYV(check_wait_name(name, "a sleep's"));
  // The wall clock has whole milliseconds; the extra one keeps sleeps from being too short.
  const auto rounded = std::min<WallTime::duration>(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(length, Duration::zero())),
      longest_wait);
  const auto length_ms = rounded + std::chrono::milliseconds(1);
  Pause what{.until = core_.clock->wall_now() + length_ms};
  {
    const std::scoped_lock lock(mutex_);
    if (is_late(attempt)) return ended_attempt();
    Journal& journal = made_data().journal;
    if (const auto known = journal.sleeps().find(name); known != journal.sleeps().end()) {
      what.until = known->second;
    } else {
      what.latest = now() + length_ms;
      make_room();
      enqueue(journal.add(
          RecordKind::sleep_begun, core_.clock->wall_now(),
          Json{{"name", std::string(name)}, {"until_ms", what.until.time_since_epoch().count()}}));
    }
  }
  return pause(attempt, what);
}

// --- For a signal.

// The recorded answer; the outer optional tells whether there is one.
Result<std::optional<std::optional<Json>>> Run::known_signal(std::string_view name) {
  TRIAGE_TRYV(check_wait_name(name, "a signal's"));
  std::optional<Json> value;
  Sequence at = 0;  // Of its record, if this process made it.
  {
    const std::scoped_lock lock(mutex_);
    if (!has_store()) {
      return Error{Errc::unsupported, "a run without a store cannot be sent signals"};
    }
    const auto& known = data_->journal.signals();
    const auto answer = known.find(name);
    if (answer == known.end()) return outcome::success(std::nullopt);
    value = answer->second;
    if (data_->made_extras) {
      const auto& recorded = data_->made_extras->answered;
      if (const auto record = recorded.find(name); record != recorded.end()) at = record->second;
    }
    if (at <= data_->writer.durable) return outcome::success(std::optional(std::move(value)));
  }
  TRIAGE_TRYV(drain_strictly(at));  // Another thread may just have recorded it.
  return outcome::success(std::optional(std::move(value)));
}

Result<std::optional<Json>> Run::signal_received(int attempt, std::string_view name) {
  TRIAGE_TRY(known, known_signal(name));
  if (known) return outcome::success(*std::move(known));
  auto sent = read_signal(*data_->store, id(), name);
  if (!sent && !may_look_again(sent.error())) return std::move(sent).error();
  if (!sent || !sent.value()) return outcome::success(std::nullopt);
  return record_signal(attempt, name, std::move(sent).value());
}

Result<std::optional<Json>> Run::wait_for_signal(int attempt, std::string_view name,
                                                 WallTime deadline) {
  TRIAGE_TRY(known, known_signal(name));
  if (known) return outcome::success(*std::move(known));
  std::optional<Json> sent;
  TRIAGE_TRYV(pause(attempt, {.until = deadline, .signal = name}, &sent));
  return record_signal(attempt, name, std::move(sent));
}

// The answer is durable before it is returned. If several threads wait for one name, the first
// one's answer counts.
Result<std::optional<Json>> Run::record_signal(int attempt, std::string_view name,
                                               std::optional<Json> value) {
  Sequence at = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (is_late(attempt)) return ended_attempt();
    Journal& journal = data_->journal;
    if (const auto answer = journal.signals().find(name); answer != journal.signals().end()) {
      value = answer->second;
    } else {
      Json fields{{"name", std::string(name)}};
      if (value) fields["value"] = *value;
      make_room();
      enqueue(journal.add(RecordKind::signal_received, core_.clock->wall_now(), std::move(fields)));
      at = journal.last();
      data_->extras().answered.emplace(name, at);
    }
  }
  TRIAGE_TRYV(drain_strictly(at));
  return outcome::success(std::move(value));
}

}  // namespace triage::inline v0_1::detail
