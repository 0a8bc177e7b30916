// SPDX-License-Identifier: MIT
#pragma once
// Executors of one run that act on one resource: one has its turn, the others wait in line.

#include "triage/clock.hpp"
#include "work.hpp"

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
    Place() = default;
    Place(Place&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)),
          resource_(std::move(other.resource_)),
          ticket_(other.ticket_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (queue_ != nullptr) queue_->leave(resource_, ticket_);
    }

   private:
    friend class ResourceQueue;
    Place(ResourceQueue* queue, std::string resource, std::uint64_t ticket)
        : queue_(queue), resource_(std::move(resource)), ticket_(ticket) {}
    ResourceQueue* queue_ = nullptr;
    std::string resource_{};
    std::uint64_t ticket_ = 0;
  };

  explicit ResourceQueue(Work& work) : work_(work) {}

  // Returns when it is this caller's turn: who came first is first. Nothing if a stop is requested
  // or the deadline passes before.
  [[nodiscard]] std::optional<Place> enter(const std::string& resource, Clock& clock,
                                           std::optional<TimePoint> deadline,
                                           std::stop_token stop) {
    std::unique_lock lock(mutex_);
    std::deque<std::uint64_t>& line = lines_[resource];
    const std::uint64_t ticket = next_++;
    line.push_back(ticket);
    Place place(this, resource, ticket);
    if (line.front() == ticket) return place;
    lock.unlock();
    bool late = false;
    const auto ring = [&] {
      const std::scoped_lock now(mutex_);
      late = true;
      changed_.notify_all();
    };
    const std::unique_ptr<Alarm> alarm = deadline ? clock.alarm(*deadline, ring) : nullptr;
    work_.lend();
    lock.lock();
    const bool turn =
        changed_.wait(lock, std::move(stop), [&] { return late || line.front() == ticket; });
    const bool mine = turn && line.front() == ticket;
    lock.unlock();
    work_.take_back();
    if (!mine) return std::nullopt;
    return place;
  }

 private:
  void leave(const std::string& resource, std::uint64_t ticket) {
    {
      const std::scoped_lock lock(mutex_);
      const auto line = lines_.find(resource);
      std::erase(line->second, ticket);
      if (line->second.empty()) lines_.erase(line);
    }
    changed_.notify_all();
  }

  Work& work_;
  std::mutex mutex_{};
  std::condition_variable_any changed_{};
  std::map<std::string, std::deque<std::uint64_t>> lines_{};  // Without empty ones.
  std::uint64_t next_ = 0;
};

}  // namespace triage::inline v0_1::workflow::detail
