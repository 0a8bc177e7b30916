// SPDX-License-Identifier: MIT
// What can keep an attempt from starting, and how long attempts take.
#include "run/run.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

std::string milliseconds_text(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " ms";
}

}  // namespace

Input Run::check_start() { return refuse_to_start().value_or(Input::done); }

// What happens instead of an attempt if the run is cancelled or its time is over.
std::optional<Input> Run::refuse_to_start() {
  if (stop_token().stop_requested()) [[unlikely]]
    return cancel("the stop token was triggered");
  if (data_ && std::exchange(data_->died_at_limit, false)) [[unlikely]] {
    return refuse_attempt({.text = "the process of the run died in its last attempt",
                           .type = FailureType::crashed,
                           .reason = "process_died"},
                          nullptr);  // The machine names the limit.
  }
  if (options_.parent != nullptr) [[unlikely]] {
    if (auto recursion = find_recursion()) {
      return refuse_attempt(*std::move(recursion),
                            "the agent is at work on the same task further up");
    }
  }
  if (const std::optional<TimePoint> until = time_ends()) {
    // Without set-up nothing takes time between the run's start and its first attempt.
    const TimePoint instant = attempt_ == 0 && began_ && !data_ ? *began_ : now();
    if (!began_) began_ = instant;
    attempt_began_ = instant;
    if (deadline() && instant >= *deadline()) {
      return too_late_to_start("the deadline had passed before the attempt could begin");
    }
    // With max_elapsed spent, somebody has continued the run: as beyond other limits, for an
    // attempt.
    const Duration expected = expected_duration();
    const Duration left = *until - instant;
    const bool tight = left > Duration::zero() && expected > Duration::zero() && expected >= left;
    if (tight && !tries_anyway(left)) {
      return too_late_to_start("the attempt could not end before " + std::string(name_of_end()) +
                               ": it takes some " + milliseconds_text(expected) + ", and " +
                               milliseconds_text(left) + " are left");
    }
  }
  return std::nullopt;
}

Input Run::refuse_attempt(Failure failure, const char* why) {
  RunData& data = made_data();
  data.report(std::move(failure));
  if (data.made_extras) data.made_extras->attempt.broken_return.reset();
  data.attempt.child.reset();
  data.attempt.no_attempt = why;
  return Input::failed;
}

Input Run::too_late_to_start(std::string text) {
  return refuse_attempt(
      {.text = std::move(text), .type = FailureType::timeout, .reason = "deadline"},
      no_time_left(name_of_end()));
}

Duration Run::expected_duration() const noexcept {
  const Duration learnt(core_.learnt_duration.load(std::memory_order_relaxed));
  return std::max(core_.options.expected_duration, learnt);
}

std::optional<TimePoint> Run::learn_duration() noexcept {
  if (!core_.options.learn_duration) return std::nullopt;
  const TimePoint ended = now();
  const Duration::rep took = (ended - *attempt_began_).count();
  const Duration::rep before = core_.learnt_duration.load(std::memory_order_relaxed);
  // Success despite the average leaving no time for it proves the average wrong.
  const auto until = time_ends();
  const bool proved = until && Duration(before) >= *until - *attempt_began_;
  core_.learnt_duration.store(before == 0 || proved ? took : before + (took - before) / 8,
                              std::memory_order_relaxed);
  return ended;
}

// Only successes teach durations, so without exceptions a wrong average would stay for ever.
bool Run::tries_anyway(Duration left) const noexcept {
  constexpr std::uint64_t every = 8;
  if (core_.options.expected_duration >= left) return false;
  return (core_.refused_by_average.fetch_add(1, std::memory_order_relaxed) + 1) % every == 0;
}

}  // namespace triage::inline v0_1::detail
