// SPDX-License-Identifier: MIT
#pragma once
// What the outside world saw: a file that outlives its writers.

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace triage::test {

// One write() per line with O_APPEND: a line survives the process entirely or not at all.
class SideLog {
 public:
  explicit SideLog(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~SideLog() { ::close(file_); }
  SideLog(const SideLog&) = delete;
  SideLog& operator=(const SideLog&) = delete;
  void line(std::string text) const {
    text += '\n';
    if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error("the side log cannot be written");
    }
  }

 private:
  int file_;
};

}  // namespace triage::test
