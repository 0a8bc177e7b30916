// SPDX-License-Identifier: MIT
#pragma once
// Memory for sealed bodies that is used again. An allocator gives the memory of a large group back
// to the system after each append, and then gets it anew, page by page: that costs as much as
// encrypting it.

#include "triage/record.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Thread-safety: all members may be called from several threads at once.
class SpareBuffers {
 public:
  // An empty text; it may have room.
  [[nodiscard]] std::shared_ptr<std::string> take(std::size_t wanted) {
    const std::scoped_lock here(mutex_);
    if (wanted < least_size || spare_.empty()) return std::make_shared<std::string>();
    auto buffer = std::move(spare_.back());
    spare_.pop_back();
    kept_ -= buffer->capacity();
    buffer->clear();
    return buffer;
  }

  // The bodies of records that were made of such texts. Those that somebody else still has are his.
  void give_back(std::vector<Record> used) {
    std::vector<std::shared_ptr<const std::string>> bodies;
    for (const Record& record : used) {
      if ((*record.bytes())->capacity() >= least_size) bodies.push_back(*record.bytes());
    }
    used.clear();
    if (bodies.empty()) return;
    const std::scoped_lock here(mutex_);
    for (auto& body : bodies) {
      if (body.use_count() != 1 || kept_ + body->capacity() > most_kept) continue;
      std::atomic_thread_fence(std::memory_order_acquire);  // After the last reader let go of it.
      kept_ += body->capacity();
      spare_.push_back(std::const_pointer_cast<std::string>(std::move(body)));
    }
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{2} << 20U;
  static constexpr std::size_t least_size = 4096;

  std::mutex mutex_;
  std::vector<std::shared_ptr<std::string>> spare_{};
  std::size_t kept_ = 0;
};

}  // namespace triage::inline v0_1::detail
