// SPDX-License-Identifier: MIT
#pragma once
// An open file that is closed with its owner.

#include "triage/result.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace triage::inline v0_1::supervise {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

struct Pipe {
  FileDescriptor read{};
  FileDescriptor write{};
};

[[nodiscard]] inline Error system_error(const std::string& what) {
  return {Errc::io, what + ": " + std::strerror(errno)};
}

// Both ends are closed in programs that are executed.
[[nodiscard]] inline Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("a pipe cannot be made");
  Pipe made;
  made.read = FileDescriptor(ends[0]);
  made.write = FileDescriptor(ends[1]);
  return outcome::success(std::move(made));
}

}  // namespace triage::inline v0_1::supervise
