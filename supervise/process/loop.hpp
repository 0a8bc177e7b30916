// SPDX-License-Identifier: MIT
#pragma once
// Waits for several files and one point in time.

#include "triage/clock.hpp"
#include "triage/detail/later.hpp"

#include <functional>
#include <map>
#include <optional>

namespace triage::inline v0_1::supervise {

using detail::later;

// Thread-safety: none.
class Loop {
 public:
  using Handler = std::function<void(short events)>;

  // The handler is called when poll(2) reports one of `events`, an error or the end. events 0: the
  // file is not polled until this changes.
  void watch(int file, short events, Handler handler);
  void set_events(int file, short events);
  void forget(int file);
  [[nodiscard]] bool watches(int file) const { return files_.contains(file); }

  // Called once by turn(), when that time has come.
  void call_at(TimePoint when, std::function<void()> handler);

  // Waits for an event, at most until `when`, and calls the handlers.
  void turn(std::optional<TimePoint> when, Clock& clock);

 private:
  struct Watched {
    short events = 0;
    Handler handler{};
  };
  std::map<int, Watched> files_{};
  std::multimap<TimePoint, std::function<void()>> timers_{};
};

}  // namespace triage::inline v0_1::supervise
