// SPDX-License-Identifier: MIT
#include "sqlite_log_readers.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace triage::inline v0_1::detail {
namespace {

// Bytes of NAME-shm that SQLite locks: 120 + 3 + i for the i-th read mark. Mark 0 is for readers
// that need nothing from the log. Source: "WAL-mode File Format", section 2.3,
// sqlite.org/walformat.html.
constexpr std::int64_t first_read_lock = 124;
constexpr std::int64_t last_read_lock = 127;

}  // namespace

// Read from the system's list of locks: closing the file after asking it directly would drop all
// locks that this process has on it.
std::vector<std::int64_t> log_readers(const std::string& path) {
  std::vector<std::int64_t> found;
  struct stat shared {};
  if (::stat((path + "-shm").c_str(), &shared) != 0) return found;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    char type[16] = "";
    long long pid = 0;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    unsigned long long inode = 0;
    long long first = 0;
    long long last = 0;
    // "1: POSIX  ADVISORY  READ 4711 08:01:131 124 124"; waiting lockers begin with "->".
    if (std::sscanf(line.c_str(), "%*d: POSIX %*s %15s %lld %x:%x:%llu %lld %lld", type, &pid,
                    &major_number, &minor_number, &inode, &first, &last) != 7 ||
        std::string_view(type) != "READ" || inode != shared.st_ino ||
        major_number != major(shared.st_dev) || minor_number != minor(shared.st_dev) ||
        last < first_read_lock || first > last_read_lock || pid <= 0) {
      continue;
    }
    found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace triage::inline v0_1::detail
