// SPDX-License-Identifier: MIT
#include "supervise/process/terminal.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <sys/ioctl.h>

namespace triage::inline v0_1::supervise {

bool is_background_of_terminal() noexcept {
  const pid_t owner = ::tcgetpgrp(STDIN_FILENO);  // 0 or -1: it is not ours.
  return owner > 0 && owner != ::getpgrp();
}

Result<std::optional<Terminal>> Terminal::open() {
  if (::isatty(STDIN_FILENO) == 0 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) {
    return outcome::success(std::optional<Terminal>());
  }
  Terminal made;
  winsize size{};
  if (::tcgetattr(STDIN_FILENO, &made.before_) != 0) return system_error("the terminal");
  // Where poll(2) reports room there need not be room for all that was pasted.
  made.ours_ = FileDescriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 128> name{};
  if (!made.ours_ || ::grantpt(made.ours()) != 0 || ::unlockpt(made.ours()) != 0 ||
      ::ptsname_r(made.ours(), name.data(), name.size()) != 0) {
    return system_error("no pseudo terminal can be made");
  }
  made.childs_ = FileDescriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!made.childs_) return system_error("the pseudo terminal cannot be opened");
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(made.childs(), TIOCSWINSZ, &size);
  termios childs = made.before_;
  termios raw = made.before_;
  ::cfmakeraw(&raw);
  // Only one of the two ends lines. Ours does if others may print to it, such as the reader of a
  // pipe; otherwise a program that draws on the whole screen decides.
  if (::isatty(STDOUT_FILENO) == 0) std::swap(childs.c_oflag, raw.c_oflag);
  ::tcsetattr(made.childs(), TCSANOW, &childs);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  return outcome::success(std::optional(std::move(made)));
}

int Terminal::EndingKeys::signal_of(char key) const noexcept {
  if (key == interrupt) return SIGINT;
  return key == quit ? SIGQUIT : 0;
}

Terminal::EndingKeys Terminal::ending_keys() const noexcept {
  termios now{};
  if (::tcgetattr(ours(), &now) != 0 || (now.c_lflag & tcflag_t{ISIG}) == 0) return {};
  const auto key = [&now](std::size_t which) {
    const auto byte = static_cast<char>(now.c_cc[which]);
    return byte == _POSIX_VDISABLE ? std::nullopt : std::optional(byte);
  };
  return {key(VINTR), key(VQUIT)};
}

Terminal::~Terminal() {
  if (ours_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

}  // namespace triage::inline v0_1::supervise
