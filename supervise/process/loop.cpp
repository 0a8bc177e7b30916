// SPDX-License-Identifier: MIT
#include "supervise/process/loop.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <poll.h>

namespace triage::inline v0_1::supervise {

void Loop::watch(int file, short events, Handler handler) {
  files_[file] = {events, std::move(handler)};
}

void Loop::set_events(int file, short events) {
  if (const auto found = files_.find(file); found != files_.end()) found->second.events = events;
}

void Loop::forget(int file) { files_.erase(file); }

void Loop::call_at(TimePoint when, std::function<void()> handler) {
  timers_.emplace(when, std::move(handler));
}

void Loop::turn(std::optional<TimePoint> when, Clock& clock) {
  std::vector<pollfd> polled;
  for (const auto& [file, watched] : files_) {
    if (watched.events != 0) polled.push_back({file, watched.events, 0});
  }
  if (!timers_.empty()) when = std::min(when.value_or(TimePoint::max()), timers_.begin()->first);
  int wait_ms = -1;
  if (when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*when - clock.now()).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  const int ready = ::poll(polled.data(), polled.size(), wait_ms);
  while (!timers_.empty() && timers_.begin()->first <= clock.now()) {
    auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
  }
  if (ready <= 0) return;
  for (const pollfd& one : polled) {
    if (one.revents == 0) continue;
    const auto found = files_.find(one.fd);  // An earlier handler may have removed it.
    if (found == files_.end()) continue;
    const Handler handler = found->second.handler;  // A copy: the handler may remove itself.
    handler(one.revents);
  }
}

}  // namespace triage::inline v0_1::supervise
