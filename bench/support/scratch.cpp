// SPDX-License-Identifier: MIT
#include "support/scratch.hpp"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace triage::bench {

Scratch::Scratch() : path_("bench-data-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "making a folder " + path_);
  }
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Scratch::fresh(const std::string& name) const {
  const std::string file = path_ + "/" + name;
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(file + part);
  return file;
}

std::size_t bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::size_t value = 0;
  while (io >> key >> value) {
    if (key == "wchar:") return value;
  }
  return 0;
}

}  // namespace triage::bench
