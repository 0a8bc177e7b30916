// SPDX-License-Identifier: MIT
#pragma once
// Memory for sealed bodies that is used again. An allocator gives the memory of a large group back
// to the system after each append, and then gets it anew, page by page: that costs as much as
// encrypting it.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Thread-safety: all members may be called from several threads at once. Texts may outlive it.
class SpareBuffers {
 public:
  // An empty text; it may have room. It comes back by itself when the last that has it lets it go.
  [[nodiscard]] std::shared_ptr<std::string> take(std::size_t wanted) {
    if (wanted < least_size) return std::make_shared<std::string>();
    return {spare_->take().release(), [spare = spare_](std::string* text) {
              spare->keep(std::unique_ptr<std::string>(text));
            }};
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{2} << 20U;
  static constexpr std::size_t least_size = 4096;

  class Spare {
   public:
    Spare() { texts_.reserve(most_kept / least_size); }

    std::unique_ptr<std::string> take() {
      const std::scoped_lock here(mutex_);
      if (texts_.empty()) return std::make_unique<std::string>();
      auto text = std::move(texts_.back());
      texts_.pop_back();
      kept_ -= text->capacity();
      text->clear();
      return text;
    }
    void keep(std::unique_ptr<std::string> text) noexcept {
      const std::size_t size = text->capacity();
      const std::scoped_lock here(mutex_);
      if (size < least_size || kept_ + size > most_kept) return;
      kept_ += size;
      texts_.push_back(std::move(text));  // No more than were reserved, as each has its least size.
    }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::string>> texts_{};
    std::size_t kept_ = 0;
  };

  std::shared_ptr<Spare> spare_ = std::make_shared<Spare>();
};

}  // namespace triage::inline v0_1::detail
