// SPDX-License-Identifier: MIT
#pragma once
// A terminal for the child where the supervisor's standard input is one.

#include "supervise/process/file_descriptor.hpp"

#include <optional>

#include <termios.h>

namespace triage::inline v0_1::supervise {

// Whether standard input is our terminal, which another process group has.
[[nodiscard]] bool is_background_of_terminal() noexcept;

// A pseudo-terminal with the modes and size of standard input, which is in raw mode during this
// object's life and restored afterwards.
class Terminal {
 public:
  // Empty if standard input is not a terminal, or is in the background. Errors: Errc::io.
  [[nodiscard]] static Result<std::optional<Terminal>> open();
  Terminal(Terminal&& other) noexcept = default;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  // What the child's terminal turns into signals that end programs: ^C and ^\, or nothing.
  struct EndingKeys {
    std::optional<char> interrupt{};
    std::optional<char> quit{};
    // The signal; 0: none.
    [[nodiscard]] int signal_of(char key) const noexcept;
  };
  [[nodiscard]] EndingKeys ending_keys() const noexcept;

  [[nodiscard]] int ours() const noexcept { return ours_.get(); }
  [[nodiscard]] int childs() const noexcept { return childs_.get(); }
  void close_childs() noexcept { childs_.close(); }

 private:
  Terminal() = default;

  FileDescriptor ours_{};
  FileDescriptor childs_{};
  termios before_{};
};

}  // namespace triage::inline v0_1::supervise
