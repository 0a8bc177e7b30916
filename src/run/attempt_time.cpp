// SPDX-License-Identifier: MIT
// Attempts with a time limit: AgentOptions::attempt_timeout, and the end of the whole run's time.
#include "run/attempt_time.hpp"

#include "run/run.hpp"

#include "triage/detail/later.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr const char* attempt_timeout = "attempt_timeout";

std::string time_is_over(Duration timeout) {
  using std::chrono::milliseconds;
  return "the attempt took longer than its " +
         std::to_string(std::chrono::duration_cast<milliseconds>(timeout).count()) + " ms";
}

}  // namespace

void Run::begin_attempt_time() {
  auto time = std::make_unique<AttemptTime>(*core_.clock, after(core_.options.attempt_timeout),
                                            stop_token());
  const Lock lock(mutex_);
  made_data().extras().attempt_time = std::move(time);
}

bool Run::end_attempt_time() {
  std::unique_ptr<AttemptTime> time;  // Destroyed after unlocking: stop callbacks may lock.
  const Lock lock(mutex_);
  time = std::move(data_->extras().attempt_time);
  return now() >= time->until();
}

// Null outside of attempts. The caller holds the lock.
const AttemptTime* Run::attempt_time() const noexcept {
  return data_ && data_->made_extras ? data_->made_extras->attempt_time.get() : nullptr;
}

std::stop_token Run::attempt_stop_token() const {
  if (core_.options.attempt_timeout != Duration::zero()) {
    const Lock lock(mutex_);
    if (const AttemptTime* time = attempt_time()) return time->token();
  }
  return stop_token();
}

std::optional<TimePoint> Run::attempt_deadline() const {
  std::optional<TimePoint> until = deadline();
  if (core_.options.attempt_timeout != Duration::zero()) {
    const Lock lock(mutex_);
    const AttemptTime* time = attempt_time();
    if (time != nullptr) until = earlier(until, time->until());
  }
  return until;
}

// When the run's time is over, or that of a run around it: a deadline or Limits::max_elapsed.
std::optional<TimePoint> Run::run_time_ends() const {
  std::optional<TimePoint> ends = options_.deadline;
  if (limits().max_elapsed != Duration::zero() && data_ && data_->started_at) {
    ends = earlier(ends, later(*data_->started_at, limits().max_elapsed));
  }
  return options_.parent == nullptr ? ends : earlier(ends, options_.parent->run_->run_time_ends());
}

// What attempts, and waits in this process, must fit in.
std::optional<TimePoint> Run::time_ends() const { return earlier(deadline(), run_time_ends()); }

std::string_view Run::name_of_end() const {
  const auto by_deadline = deadline();
  return by_deadline && by_deadline == time_ends()
             ? the_deadline
             : std::string_view("the end of limits.max_elapsed");
}

// The alarm is set when a callable first asks, because it may cost a thread.
std::stop_token Run::timed_stop_token() {
  const std::stop_token cancelled = attempt_stop_token();
  const std::optional<TimePoint> ends = run_time_ends();
  if (!ends) return cancelled;
  RunData& data = made_data();
  std::unique_ptr<AttemptTime> made;
  Lock lock(mutex_);
  if (!data.extras().run_time) {
    lock.unlock();  // A clock may ring other alarms meanwhile, and their callbacks lock.
    made = std::make_unique<AttemptTime>(*core_.clock, *ends, cancelled);
    lock.lock();
    if (!data.extras().run_time) data.extras().run_time = std::move(made);
  }
  return data.extras().run_time->token();
}

// From here on nothing triggers the tokens that the attempt gave out.
void Run::end_run_time() {
  std::unique_ptr<AttemptTime> time;  // As above.
  const Lock lock(mutex_);
  if (data_->made_extras) time = std::move(data_->made_extras->run_time);
}

// Whether the current attempt's time is over.
bool Run::attempt_is_over() const {
  if (core_.options.attempt_timeout == Duration::zero()) return false;
  const Lock lock(mutex_);
  const AttemptTime* time = attempt_time();
  return time != nullptr && now() >= time->until();
}

Error Run::out_of_time(int attempt) {
  return report(attempt, {.text = time_is_over(core_.options.attempt_timeout),
                          .type = FailureType::timeout,
                          .reason = attempt_timeout});
}

// The failure is blamed on the time limit, unless it names its own type.
void Run::blame_attempt_time() {
  RunData& data = *data_;
  if (data.failure().type) return;
  Failure failure = data.failure();
  failure.text = time_is_over(core_.options.attempt_timeout) +
                 (failure.text.empty() ? "" : "; it ended with: " + failure.text);
  failure.type = FailureType::timeout;
  failure.reason = attempt_timeout;
  data.report(std::move(failure));
  data.attempt.child.reset();
}

}  // namespace triage::inline v0_1::detail
