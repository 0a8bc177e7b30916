// SPDX-License-Identifier: MIT
#include "lab/simulation/scheduler.hpp"

#include "triage/policies/duration.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::lab::detail {

void Scheduler::start(Duration after, std::string name, std::function<void()> body) {
  tasks_.emplace_back(std::move(name), stacks_, std::move(body));
  push(later(now_, after), tasks_.size() - 1, 0);
}

void Scheduler::push(TimePoint at, std::size_t task, std::uint64_t wait) {
  wakes_.push({at, mixed(seed_, ++pushed_), task, wait});
}

void Scheduler::turn(std::size_t index) {
  Task& task = tasks_[index];
  current_ = &task;
  current_index_ = index;
  task.fiber.resume();
  current_ = nullptr;
}

// The wait was stopped or the alarm was cancelled.
bool Scheduler::is_void(const Wake& wake) const {
  if (wake.task == is_alarm) return alarms_.count(wake.wait) == 0;
  const Task& task = tasks_[wake.task];
  return task.fiber.done() || task.wait != wake.wait;
}

std::uint64_t Scheduler::set_alarm(TimePoint when, std::function<void()> ring) {
  if (when <= now_) {
    ring();
    return 0;
  }
  alarms_.emplace(++last_alarm_, std::move(ring));
  push(when, is_alarm, last_alarm_);
  return last_alarm_;
}

void Scheduler::ring(std::uint64_t alarm) {
  const auto node = alarms_.extract(alarm);
  trace("world", "alarm");
  node.mapped()();
}

void Scheduler::run(TimePoint latest, std::uint64_t most_events,
                    const std::function<void()>& on_turn) {
  latest_ = latest;
  most_events_ = most_events;
  on_turn_ = on_turn;
  while (!wakes_.empty() && !stopping_) {
    const Wake wake = wakes_.top();
    wakes_.pop();
    if (is_void(wake)) continue;
    if (wake.at > latest_ || events_ > most_events_) {
      over_limit_ = true;
      return;
    }
    now_ = std::max(now_, wake.at);
    if (wake.task == is_alarm) {
      ring(wake.wait);
    } else {
      turn(wake.task);
    }
    on_turn_();
  }
}

std::size_t Scheduler::wind_up(int turns) {
  stopping_ = true;
  const auto is_left = [](const Task& task) { return !task.fiber.done(); };
  for (; turns > 0 && std::any_of(tasks_.begin(), tasks_.end(), is_left); --turns) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (is_left(tasks_[i])) turn(i);
    }
  }
  return static_cast<std::size_t>(std::count_if(tasks_.begin(), tasks_.end(), is_left));
}

bool Scheduler::sleep_until(TimePoint when, const std::stop_token& stop) {
  if (stopping_ || stop.stop_requested()) return false;
  if (current_ == nullptr || in_store_ > 0) {
    now_ = std::max(now_, when);
    return true;
  }
  Task& task = *current_;
  // No other task is due before that, so the time can simply advance, unless this turn stops all.
  if ((wakes_.empty() || wakes_.top().at > when) && when <= latest_ && events_ <= most_events_) {
    on_turn_();
    if (!stopping_) {
      now_ = std::max(now_, when);
      trace(task.name, "woke");
      return true;
    }
  }
  const std::uint64_t wait = ++task.wait;
  task.stopped = false;
  push(std::max(now_, when), current_index_, wait);
  {
    const std::stop_callback wake(stop, [this, &task, wait, index = current_index_] {
      task.stopped = true;
      push(now_, index, wait);
    });
    task.fiber.suspend();
  }
  if (task.wait == wait) ++task.wait;
  trace(task.name, task.stopped ? "stopped" : "woke");
  return !stopping_ && !task.stopped;
}

void Scheduler::trace(std::string_view who, std::string_view what, std::string_view text,
                      std::uint64_t number) {
  ++events_;
  const auto time = static_cast<std::uint64_t>(elapsed().count());
  hash_ = mixed(hash_, time, fnv1a(text, fnv1a(what, fnv1a(who))), number);
  if (!keep_trace_) return;
  std::string line = format_duration(elapsed());
  line.append("  ").append(who).append(": ").append(what);
  if (!text.empty()) line.append("  ").append(text);
  if (number != 0) line.append("  ").append(std::to_string(number));
  lines_.push_back(std::move(line));
}

}  // namespace triage::inline v0_1::lab::detail
