// SPDX-License-Identifier: MIT
#pragma once
// The waiting line for one resource within a process: one caller has its turn, the others wait.

#include "triage/clock.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

// Thread-safety: all members may be called from several threads at once.
class ResourceQueue {
 public:
  // A place in a line; whoever destroys it leaves.
  class Place {
   public:
    Place(Place&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)),
          resource_(std::move(other.resource_)),
          ticket_(other.ticket_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (queue_ != nullptr) queue_->leave(resource_, ticket_);
    }
    [[nodiscard]] bool is_first() const {
      const std::scoped_lock lock(queue_->mutex_);
      return queue_->is_first(resource_, ticket_);
    }
    // Returns when it is first. False if a stop is requested or the deadline passes before.
    [[nodiscard]] bool wait(Clock& clock, std::optional<TimePoint> deadline, std::stop_token stop) {
      return queue_->wait(*this, clock, deadline, std::move(stop));
    }

   private:
    friend class ResourceQueue;
    Place(ResourceQueue* queue, std::string resource, std::uint64_t ticket)
        : queue_(queue), resource_(std::move(resource)), ticket_(ticket) {}
    ResourceQueue* queue_;
    std::string resource_;
    std::uint64_t ticket_;
  };

  // Who came first is first.
  [[nodiscard]] Place enter(std::string resource) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t ticket = next_++;
    lines_[resource].push_back(ticket);
    return {this, std::move(resource), ticket};
  }

 private:
  [[nodiscard]] bool is_first(const std::string& resource, std::uint64_t ticket) const {
    return lines_.at(resource).front() == ticket;
  }
  bool wait(const Place& place, Clock& clock, std::optional<TimePoint> deadline,
            std::stop_token stop) {
    bool late = false;
    const auto ring = [&] {
      const std::scoped_lock now(mutex_);
      late = true;
      changed_.notify_all();
    };
    const std::unique_ptr<Alarm> alarm = deadline ? clock.alarm(*deadline, ring) : nullptr;
    std::unique_lock lock(mutex_);
    const auto first = [&] { return is_first(place.resource_, place.ticket_); };
    const bool woken = changed_.wait(lock, std::move(stop), [&] { return late || first(); });
    const bool mine = woken && first();
    lock.unlock();  // The alarm may be ringing.
    return mine;
  }
  void leave(const std::string& resource, std::uint64_t ticket) {
    {
      const std::scoped_lock lock(mutex_);
      const auto line = lines_.find(resource);
      std::erase(line->second, ticket);
      if (line->second.empty()) lines_.erase(line);
    }
    changed_.notify_all();
  }

  std::mutex mutex_{};
  std::condition_variable_any changed_{};
  std::map<std::string, std::deque<std::uint64_t>> lines_{};  // Without empty ones.
  std::uint64_t next_ = 0;
};

}  // namespace triage::inline v0_1::workflow::detail
