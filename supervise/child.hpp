// SPDX-License-Identifier: MIT
#pragma once
// A child process in a process group of its own, which runs its program only when it is let go.

#include "supervise/file_descriptor.hpp"
#include "supervise/spec.hpp"

#include <string>
#include <vector>

#include <sys/types.h>
#include <csignal>

namespace triage::inline v0_1::supervise {

struct ChildPlan {
  std::string program{};  // A path: see find_program.
  std::vector<std::string> arguments{};
  std::vector<std::string> environment{};  // "NAME=value".
  std::string folder{};
  int in = -1;  // Become 0, 1 and 2; -1: as in this process.
  int out = -1;
  int error = -1;
  int inherited = -1;     // Stays open as inherited_as; -1: none.
  int inherited_as = -1;  // See low_number().
  bool terminal = false;  // `in` becomes the terminal of a session of its own.
  ChildLimits limits{};
  sigset_t signals{};  // Blocked in the child.
};

// A number from 3 to 9, which is all that some shells can redirect, that no file has which the
// child inherits anyway; `otherwise` if there is none.
[[nodiscard]] int low_number(int otherwise) noexcept;

// The file that a shell would execute for this name. Errors: Errc::not_found; Errc::io if what was
// found cannot be executed.
[[nodiscard]] Result<std::string> find_program(const std::string& name, const std::string& folder);

// Move-only. Destroyed before let_go(), the child ends without having run anything.
class Child {
 public:
  // Forks. The child is the leader of its own group, is killed when this process dies, and waits.
  // Only the thread that calls this may end the process. Errors: Errc::io.
  [[nodiscard]] static Result<Child> fork_gated(const ChildPlan& plan);

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }  // Of the group, too.
  // Lets it execute its program, and returns when it does. Errors: Errc::io, naming the reason; the
  // child ends by itself then.
  [[nodiscard]] Result<void> let_go();

 private:
  pid_t pid_ = -1;
  std::string program_{};
  FileDescriptor gate_{};     // Written to, to let it go.
  FileDescriptor trouble_{};  // Says why it could not be executed.
};

}  // namespace triage::inline v0_1::supervise
