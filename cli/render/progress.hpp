// SPDX-License-Identifier: MIT
#pragma once
// Progress of a long operation, on standard error.

#include "triage/clock.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1::cli {

// "routing: 12,000 of 90,000 (13 %), 40 s left": a changing line on a terminal, otherwise a line
// every 30 s; of JSON where JSON is asked for. The time left is extrapolated from the first call of
// tell(). Not thread-safe.
class Progress {
 public:
  // terminal: whether standard error is a terminal.
  Progress(std::string what, std::shared_ptr<Clock> clock, bool terminal = is_terminal());

  void tell(std::uint64_t done, std::uint64_t all);
  void end();  // Removes the line.

  // The line if one is due, else empty.
  [[nodiscard]] std::string next(std::uint64_t done, std::uint64_t all);
  [[nodiscard]] static bool is_terminal() noexcept;

 private:
  std::string what_;
  std::shared_ptr<Clock> clock_;
  bool terminal_;
  bool shown_ = false;
  TimePoint began_;
  TimePoint next_;
  std::uint64_t first_ = 0;  // How much was done at the start.
  bool begun_ = false;
};

}  // namespace triage::inline v0_1::cli
