// SPDX-License-Identifier: MIT
#pragma once
// A child process in its own process group, which waits before it runs its program.

#include "supervise/process/file_descriptor.hpp"
#include "supervise/spec/spec.hpp"

#include <string>
#include <vector>

#include <sys/types.h>
#include <csignal>

namespace triage::inline v0_1::supervise {

struct ChildPlan {
  std::string program{};  // A path; see find_program.
  std::vector<std::string> arguments{};
  std::vector<std::string> environment{};  // "NAME=value".
  std::string folder{};
  int in = -1;  // Become 0, 1 and 2; -1: inherited.
  int out = -1;
  int error = -1;
  int inherited = -1;     // Remains open as inherited_as; -1: none.
  int inherited_as = -1;  // See low_number().
  bool terminal = false;  // `in` becomes the controlling terminal of a new session.
  // False: it stays in ours, so that it may read from a terminal. Ignored if `terminal`.
  bool own_group = true;
  bool private_files = false;  // What it makes is for its owner alone (umask).
  ChildLimits limits{};
  sigset_t signals{};          // Blocked in the child.
  int at_our_death = SIGKILL;  // The signal it gets then.
};

// A descriptor from 3 to 9, the only ones some shells can redirect, that is not inherited already;
// `otherwise` if there is none.
[[nodiscard]] int low_number(int otherwise) noexcept;

// The path of the current folder. Errors: Errc::io if it was removed.
[[nodiscard]] Result<std::string> current_folder();

// The file that a shell would execute for this name. Errors: Errc::not_found; Errc::io if what was
// found cannot be executed.
[[nodiscard]] Result<std::string> find_program(const std::string& name, const std::string& folder);

// Move-only. If destroyed before let_go(), the child ends without running anything.
class Child {
 public:
  // Forks. The child leads its own group and is killed when this process dies, unless planned
  // otherwise, and waits. Only the calling thread may end the process. Errors: Errc::io.
  [[nodiscard]] static Result<Child> fork_gated(const ChildPlan& plan);

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }  // Also of its own group.
  // Executes the program and returns when that is done. Errors: Errc::io, naming the reason; the
  // child then ends by itself.
  [[nodiscard]] Result<void> let_go();

 private:
  pid_t pid_ = -1;
  std::string program_{};
  FileDescriptor gate_{};     // Written to in let_go().
  FileDescriptor trouble_{};  // Receives the error if exec fails.
};

}  // namespace triage::inline v0_1::supervise
