// SPDX-License-Identifier: MIT
#pragma once
// How far something is that takes long, on standard error.

#include "triage/clock.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1::cli {

// "routing: 12,000 of 90,000 (13 %), 40 s left": on a terminal one line that changes, elsewhere a
// line every 30 s. The time left supposes that it goes on as it went since tell() was called first.
// Not thread-safe.
class Progress {
 public:
  // terminal: whether standard error is one.
  Progress(std::string what, std::shared_ptr<Clock> clock, bool terminal = is_terminal());

  void tell(std::uint64_t done, std::uint64_t all);
  void end();  // Removes the line.

  // The line, if it is time for one; else empty.
  [[nodiscard]] std::string next(std::uint64_t done, std::uint64_t all);
  [[nodiscard]] static bool is_terminal() noexcept;

 private:
  std::string what_;
  std::shared_ptr<Clock> clock_;
  bool terminal_;
  bool shown_ = false;
  TimePoint began_;
  TimePoint next_;
  std::uint64_t first_ = 0;  // How much was done when it began.
  bool begun_ = false;
};

}  // namespace triage::inline v0_1::cli
