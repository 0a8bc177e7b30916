// SPDX-License-Identifier: MIT
// Attempts with a time limit: AgentOptions::attempt_timeout.
#include "run/attempt_time.hpp"

#include "run/run.hpp"

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
  data().extras().attempt_time = std::move(time);
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
    if (time != nullptr) until = std::min(until.value_or(time->until()), time->until());
  }
  return until;
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
  RunData& b = *data_;
  if (b.failure().type) return;
  Failure failure = b.failure();
  failure.text = time_is_over(core_.options.attempt_timeout) +
                 (failure.text.empty() ? "" : "; it ended with: " + failure.text);
  failure.type = FailureType::timeout;
  failure.reason = attempt_timeout;
  b.report(std::move(failure));
  b.child.reset();
}

}  // namespace triage::inline v0_1::detail
