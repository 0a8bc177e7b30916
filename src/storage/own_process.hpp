// SPDX-License-Identifier: MIT
#pragma once
// The process that opened a store: its files and connections cannot be used in a child.

#include "triage/result.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Remembers the process it is made in.
class OwnProcess {
 public:
  // False in a child process.
  [[nodiscard]] bool is_here() const noexcept { return ::getpid() == pid_; }
  // `kind` of a store: "SQLite". Errors: Errc::unsupported in a child process.
  [[nodiscard]] Result<void> check(std::string_view kind) const {
    if (is_here()) return outcome::success();
    return Error{Errc::unsupported, "this " + std::string(kind) +
                                        " store was opened before fork() and cannot be used in the "
                                        "child; open it again there"};
  }

 private:
  pid_t pid_ = ::getpid();
};

}  // namespace triage::inline v0_1::detail
