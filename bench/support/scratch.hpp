// SPDX-License-Identifier: MIT
#pragma once
// A folder for databases below the current one, so that it is on the disk to be measured.

#include <cstddef>
#include <string>

namespace triage::bench {

class Scratch {
 public:
  Scratch();
  ~Scratch();  // Removes the folder.
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Path of a file in the folder; removes any existing file of that name and its logs.
  [[nodiscard]] std::string fresh(const std::string& name) const;

 private:
  std::string path_;
};

// Bytes that this process has passed to write calls so far (Linux: /proc/self/io).
[[nodiscard]] std::size_t bytes_written();

}  // namespace triage::bench
