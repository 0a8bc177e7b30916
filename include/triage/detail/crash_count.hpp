// SPDX-License-Identifier: MIT
#pragma once
// A journal's part about deaths: whether a run whose process keeps dying gets on all the same.

#include "triage/record.hpp"
#include "triage/step.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// How often in a row the run's process died without getting on: since an attempt last ended, an
// effect was completed, or something else was recorded than by the process that died before.
// Thread-safety: none; its owner locks.
class CrashCount {
 public:
  [[nodiscard]] int value() const noexcept { return crashes_; }
  // The run went on, because its process died or for another reason; or an attempt of it ended.
  void note_resumed(bool died);
  void note_progress() noexcept { crashes_ = 0; }
  // Whether the functions below have anything to do.
  [[nodiscard]] bool watching() const noexcept { return resumed_after_death_; }
  // What the process recorded: a step, or a change of the state as text.
  void note(const Step& step);
  void note(const Record& step);
  void note(std::string_view change);

 private:
  int crashes_ = 0;
  // What each of the last two processes that resumed the run after a death recorded first, hashed;
  // empty where nobody did.
  std::vector<std::size_t> life_{};
  std::vector<std::size_t> life_before_{};
  bool resumed_after_death_ = false;
};

}  // namespace triage::inline v0_1::detail
