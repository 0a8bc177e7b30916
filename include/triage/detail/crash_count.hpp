// SPDX-License-Identifier: MIT
#pragma once
// The part of a journal that tells whether a run whose process keeps dying makes progress.

#include "triage/record.hpp"
#include "triage/step.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// How often in a row the run's process died without progress: since an attempt last ended, an
// effect completed, or a process recorded something other than its predecessor. Thread-safety:
// none; its owner locks.
class CrashCount {
 public:
  [[nodiscard]] int value() const noexcept { return crashes_; }
  // The run continued, after its process died or for another reason; or an attempt ended.
  void note_resumed(bool died);
  void note_progress() noexcept { crashes_ = 0; }
  // Whether the functions below have anything to do.
  [[nodiscard]] bool watching() const noexcept { return resumed_after_death_; }
  // Something the process recorded: a step, or a state change as text.
  void note(const Step& step);
  void note(const Record& step);
  void note(std::string_view change);

 private:
  int crashes_ = 0;
  // Hashes of what each of the last two processes that resumed after a death recorded first; empty
  // without one.
  std::vector<std::size_t> life_{};
  std::vector<std::size_t> life_before_{};
  bool resumed_after_death_ = false;
};

}  // namespace triage::inline v0_1::detail
