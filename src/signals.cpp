// SPDX-License-Identifier: MIT
// Waits inside an attempt: until a time, or for a signal from outside.
#include "continuation.hpp"
#include "run.hpp"
#include "shield.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/detail/try.hpp"
#include "waits.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::string_view space = "triage/signals";
constexpr std::size_t longest_name = 256;
constexpr WallTime::duration longest_wait = std::chrono::hours(24 * 36'500);  // Fits nanoseconds.
constexpr Duration poll_interval = std::chrono::milliseconds(50);

// A run id has no slash.
std::string key_of(const RunId& run, std::string_view name) {
  return run + "/" + std::string(name);
}

Result<void> check_name(std::string_view name) {
  if (!name.empty() && name.size() <= longest_name) return outcome::success();
  return Error{Errc::invalid_argument, "a signal's name has " + std::to_string(name.size()) +
                                           " bytes; allowed are 1 to 256"};
}

}  // namespace

Result<std::optional<Json>> read_signal(KeySpace& store, const RunId& run, std::string_view name) {
  TRIAGE_TRY(sent, shielded([&] { return store.get(space, key_of(run, name)); }));
  if (!sent) return outcome::success(std::nullopt);
  TRIAGE_TRY(body, decode_cbor(sent->bytes));
  if (!body.is_object() || !body.contains("value")) {
    return Error{Errc::corrupt, "signal \"" + printable(name) + "\" is damaged"};
  }
  return std::optional<Json>(std::move(body["value"]));
}

// Answers are in the journal by now.
void Run::tidy_keys(bool finished) {
  RunBody& b = *body_;
  if (b.detached || b.fenced || !b.started) return;
  if (b.made_extras) forget_ticket(*b.store, std::exchange(b.made_extras->spent_ticket, {}));
  if (!finished) return;  // While a run may go on, a second signal must still be a conflict.
  for (const auto& [name, value] : b.journal.signals()) {
    const std::string key = key_of(id(), name);
    const auto sent = shielded([&] { return b.store->get(space, key); });
    if (!sent || !sent.value()) continue;
    static_cast<void>(
        shielded([&] { return b.store->erase_if(space, key, sent.value()->version); }));
  }
}

Result<void> send_signal(const AgentCore& core, const RunId& run, std::string_view name,
                         const Json& value) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRYV(check_name(name));
  TRIAGE_TRYV(check_json(value, "a signal's value"));
  const auto& store = core.options.store;
  if (!store) {
    return Error{Errc::not_found, "the signal cannot be sent: the agent has no store"};
  }
  const auto info = shielded([&] { return store->run(run); });
  if (info && info.value().status == RunStatus::finished) {
    return Error{Errc::conflict, "signal \"" + printable(name) + "\" cannot be sent: run \"" + run +
                                     "\" has finished"};
  }
  std::string bytes;
  encode_cbor(Json{{"value", value}}, bytes);
  const std::string key = key_of(run, name);
  const auto sent = shielded([&] { return store->put_if(space, key, 0, bytes); });
  if (sent) return outcome::success();
  if (sent.error().code != Errc::conflict) return sent.error();
  TRIAGE_TRY(before, shielded([&] { return store->get(space, key); }));
  if (before && before->bytes == bytes) return outcome::success();
  return Error{Errc::conflict, "signal \"" + printable(name) + "\" of run \"" + run +
                                   "\" was sent before, with another value"};
}

// One bout of waiting inside an attempt. The run is suspended if it would be too long a one.
Result<void> Run::pause(int attempt, WallTime until, Duration at_most, std::string_view signal) {
  const Duration left = std::min<WallTime::duration>(until - core_.clock->wall_now(), longest_wait);
  if (const auto until_deadline = deadline(); until_deadline && left >= *until_deadline - now()) {
    const std::scoped_lock lock(mutex_);
    body().no_attempt = no_time_left;
    body_->failure = Failure{.text = "the attempt would wait beyond the deadline",
                             .type = FailureType::timeout,
                             .reason = "deadline"};
    return Error{Errc::escalated, body_->failure.text};
  }
  {
    const std::scoped_lock lock(mutex_);
    if (is_late(attempt)) {
      return Error{Errc::invalid_argument,
                   "the callable has returned: its attempt takes nothing any more"};
    }
    RunBody& b = body();
    if (limits().max_wait != Duration::zero() && left > limits().max_wait && outlives_process()) {
      RecoveryAction waiting = RecoveryAction::suspend(
          signal.empty() ? "waits until a time that is named"
                         : "waits for signal \"" + printable(signal) + "\"");
      waiting.until = until;
      RunExtras& extras = b.extras();
      extras.parked = std::move(waiting);
      extras.awaited = signal;
      return Error{Errc::suspended, extras.parked->message};
    }
  }
  TRIAGE_TRYV(drain_or_degrade());  // Whoever waits may be killed meanwhile.
  if (rest_until(now() + std::min(left, at_most))) {
    if (!body_->fenced) return outcome::success();
    return drain_strictly();  // Says who has the run.
  }
  return Error{Errc::cancelled, "the stop token was triggered while the attempt waited"};
}

Result<void> Run::sleep_until(int attempt, WallTime when) {
  while (core_.clock->wall_now() < when) {
    TRIAGE_TRYV(pause(attempt, when, Duration::max(), {}));
  }
  return outcome::success();
}

Result<std::optional<Json>> Run::wait_for_signal(int attempt, std::string_view name,
                                                 WallTime deadline) {
  TRIAGE_TRYV(check_name(name));
  {
    const std::scoped_lock lock(mutex_);
    if (!has_store()) {
      return Error{Errc::unsupported, "a run without a store cannot be sent signals"};
    }
    const auto& known = body_->journal.signals();
    if (const auto answer = known.find(name); answer != known.end()) return answer->second;
  }
  for (;;) {
    const bool over = core_.clock->wall_now() >= deadline;
    TRIAGE_TRY(sent, read_signal(*body_->store, id(), name));
    if (sent || over) {
      TRIAGE_TRYV(record_signal(attempt, name, sent));
      return outcome::success(std::move(sent));
    }
    TRIAGE_TRYV(pause(attempt, deadline, poll_interval, name));
  }
}

// The answer is durable before it is given.
Result<void> Run::record_signal(int attempt, std::string_view name,
                                const std::optional<Json>& value) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_late(attempt)) {
      return Error{Errc::invalid_argument,
                   "the callable has returned: its attempt takes nothing any more"};
    }
    Json fields{{"name", std::string(name)}};
    if (value) fields["value"] = *value;
    make_room();
    enqueue(body_->journal.add(RecordKind::signal_received, core_.clock->wall_now(),
                               std::move(fields)));
  }
  return drain_strictly();
}

}  // namespace triage::inline v0_1::detail
