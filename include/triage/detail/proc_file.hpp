// SPDX-License-Identifier: MIT
#pragma once
// Files of /proc, whose processes may end while they are read.

#include <array>
#include <fstream>
#include <string>

namespace triage::inline v0_1::detail {

// Empty if the file is not there, or its process has ended. Iterators over the stream's buffer
// would throw then, as they do for a folder; read() does not.
inline std::string read_proc_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return file.bad() ? std::string() : text;
}

}  // namespace triage::inline v0_1::detail
