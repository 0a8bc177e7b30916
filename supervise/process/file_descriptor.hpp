// SPDX-License-Identifier: MIT
#pragma once
// Pipes, and open files that close with their owner.

#include "triage/detail/file_descriptor.hpp"
#include "triage/result.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace triage::inline v0_1::supervise {

using detail::FileDescriptor;

struct Pipe {
  FileDescriptor read{};
  FileDescriptor write{};
};

[[nodiscard]] inline Error system_error(const std::string& what) {
  return {Errc::io, what + ": " + std::strerror(errno)};
}

// Both ends are close-on-exec.
[[nodiscard]] inline Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("a pipe cannot be made");
  Pipe made;
  made.read = FileDescriptor(ends[0]);
  made.write = FileDescriptor(ends[1]);
  return outcome::success(std::move(made));
}

}  // namespace triage::inline v0_1::supervise
