// SPDX-License-Identifier: MIT
#pragma once
// Schedules one world: a single time, waits in order, ties broken by the seed.

#include "lab/base/draws.hpp"
#include "lab/simulation/fiber.hpp"

#include "triage/clock.hpp"
#include "triage/detail/later.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::lab::detail {

using triage::detail::later;

class Scheduler {
 public:
  Scheduler(StackPool& stacks, std::uint64_t seed, bool keep_trace)
      : stacks_(stacks), seed_(seed), keep_trace_(keep_trace), hash_(seed) {}

  void start(Duration after, std::string name, std::function<void()> body);
  // Runs everything to the end, stop() or a limit. on_turn is called after each turn of a task or
  // an alarm, and before time advances within one.
  void run(TimePoint latest, std::uint64_t most_events, const std::function<void()>& on_turn);
  // Ends all waits at once, so that every task can finish.
  void stop() noexcept { stopping_ = true; }
  // Gives the remaining tasks this many turns to end. Returns how many did not.
  [[nodiscard]] std::size_t wind_up(int turns);

  // Suspends the task until `when`; false if it was stopped earlier.
  bool sleep_until(TimePoint when, const std::stop_token& stop);
  // Rings outside all tasks unless it is cancelled; at once if `when` is past.
  std::uint64_t set_alarm(TimePoint when, std::function<void()> ring);
  void cancel_alarm(std::uint64_t number) noexcept { alarms_.erase(number); }
  // Store operations must not be interrupted, because they hold locks.
  void enter_store() noexcept { ++in_store_; }
  void leave_store() noexcept { --in_store_; }

  [[nodiscard]] TimePoint now() const noexcept { return now_; }
  [[nodiscard]] Duration elapsed() const noexcept { return now_ - testing::SimulatedClock::start; }
  [[nodiscard]] bool is_over_limit() const noexcept { return over_limit_; }

  // One line of the trace.
  void trace(std::string_view who, std::string_view what, std::string_view text = {},
             std::uint64_t number = 0);
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::vector<std::string> take_trace() { return std::move(lines_); }

 private:
  struct Task {
    Task(std::string its_name, StackPool& stacks, std::function<void()> body)
        : name(std::move(its_name)), fiber(stacks, std::move(body)) {}
    std::string name;
    Fiber fiber;
    std::uint64_t wait = 0;  // The number of its current wait.
    bool stopped = false;    // The wait was ended by a stop.
  };
  struct Wake {
    TimePoint at;
    std::uint64_t tie;   // Breaks ties: drawn from the seed, so that seeds try different orders.
    std::size_t task;    // Or `is_alarm`.
    std::uint64_t wait;  // Or an alarm's number.
    friend bool operator>(const Wake& a, const Wake& b) {
      return a.at != b.at ? a.at > b.at : a.tie > b.tie;
    }
  };
  static constexpr std::size_t is_alarm = static_cast<std::size_t>(-1);
  void push(TimePoint at, std::size_t task, std::uint64_t wait);
  [[nodiscard]] bool is_void(const Wake& wake) const;
  void turn(std::size_t task);
  void ring(std::uint64_t alarm);

  StackPool& stacks_;
  std::uint64_t seed_;
  bool keep_trace_;
  std::uint64_t hash_;
  std::uint64_t events_ = 0;
  std::uint64_t pushed_ = 0;
  TimePoint now_ = testing::SimulatedClock::start;
  std::deque<Task> tasks_{};
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_{};
  std::map<std::uint64_t, std::function<void()>> alarms_{};
  std::uint64_t last_alarm_ = 0;
  Task* current_ = nullptr;
  std::size_t current_index_ = 0;
  TimePoint latest_ = TimePoint::max();
  std::uint64_t most_events_ = 0;
  std::function<void()> on_turn_{};
  int in_store_ = 0;
  bool stopping_ = false;
  bool over_limit_ = false;
  std::vector<std::string> lines_{};
};

// The world's time, as seen by one process.
class WorldClock final : public Clock {
 public:
  explicit WorldClock(Scheduler& scheduler) : scheduler_(scheduler) {}
  TimePoint now() override { return scheduler_.now(); }
  WallTime wall_now() override {
    return testing::SimulatedClock::wall_start +
           std::chrono::floor<std::chrono::milliseconds>(scheduler_.elapsed());
  }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    return scheduler_.sleep_until(when, stop);
  }
  std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override {
    return std::make_unique<Set>(scheduler_, scheduler_.set_alarm(when, std::move(ring)));
  }

 private:
  class Set final : public Alarm {
   public:
    Set(Scheduler& scheduler, std::uint64_t number) : scheduler_(scheduler), number_(number) {}
    ~Set() override { scheduler_.cancel_alarm(number_); }

   private:
    Scheduler& scheduler_;
    const std::uint64_t number_;
  };

  Scheduler& scheduler_;
};

}  // namespace triage::inline v0_1::lab::detail
