// SPDX-License-Identifier: MIT
#pragma once
// Asking a run that is under way to begin nothing more.

#include "triage/workflow/run.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

// Thread-safety: all members may be called from several threads at once.
class Halt {
 public:
  // An abort replaces a pause; nothing replaces an abort. The caller triggers the returned source
  // without holding locks, which ends waits().
  [[nodiscard]] std::stop_source ask(Stopped how) {
    const std::scoped_lock lock(mutex_);
    if (how_ && how_->how == StopKind::aborted) return waits_;
    how_ = std::move(how);
    asked_ = true;
    return waits_;
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    how_.reset();
    asked_ = false;
    waits_ = std::stop_source();
  }
  // For those who wait before they begin something.
  [[nodiscard]] std::stop_token waits() const {
    const std::scoped_lock lock(mutex_);
    return waits_.get_token();
  }
  [[nodiscard]] bool asked() const noexcept { return asked_; }
  [[nodiscard]] std::optional<Stopped> how() const {
    const std::scoped_lock lock(mutex_);
    return how_;
  }

 private:
  std::atomic<bool> asked_{false};
  mutable std::mutex mutex_{};
  std::optional<Stopped> how_{};
  std::stop_source waits_{};
};

// From the value of stopped_key.
[[nodiscard]] std::optional<Stopped> stopped_from(const Json* stored);
// What observers are told; empty if nothing.
[[nodiscard]] std::optional<WorkflowEventKind> event_of(const Stopped& how);
// For people.
[[nodiscard]] std::string what_stopped(const Stopped& how);

}  // namespace triage::inline v0_1::workflow::detail
