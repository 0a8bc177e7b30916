// SPDX-License-Identifier: MIT
#pragma once
// Another program, started and watched.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace demo {

// Starts a program with its standard output going to a file. Thread-safety: one thread at a time.
class Child {
 public:
  // arguments: the program's path first. Throws std::runtime_error.
  Child(const std::vector<std::string>& arguments, const std::string& output_file);
  ~Child();  // Kills it if it still runs.
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The exit status, or 128 + the signal's number; empty while it runs.
  std::optional<int> poll();
  int wait();
  void kill();  // SIGKILL: it cannot clean anything up.

 private:
  pid_t pid_ = -1;
  std::optional<int> status_{};
};

}  // namespace demo
