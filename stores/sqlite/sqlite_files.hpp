// SPDX-License-Identifier: MIT
#pragma once
// The files of a store as files: made for their owner alone, and looked at without leaving
// anything.

#include <cstdint>
#include <optional>
#include <string>

namespace triage::inline v0_1::detail {

// Makes an empty file that only its owner can read and write, if there is none. SQLite gives the
// files beside it the same permissions. A failure is nobody's: opening the file then says why.
void make_private_file(const std::string& path) noexcept;

// What tells whether the files were changed, or others took their place.
struct FilePrint {
  struct One {
    bool exists = false;
    std::uint64_t file = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const One&) const = default;
  };
  One database{};
  One log{};
  bool shared = false;  // The log's shared memory exists.
  bool operator==(const FilePrint&) const = default;
};
[[nodiscard]] FilePrint take_print(const std::string& path);

// How a file is looked at so that nothing is made beside it.
struct Look {
  std::string uri{};
  // Not empty: no locks are taken, so what was read counts only if this did not change.
  std::optional<FilePrint> print{};
  const char* vfs = nullptr;  // The default one.
  bool exclusive =
      false;  // PRAGMA locking_mode = EXCLUSIVE: the log is read without shared memory.
};
[[nodiscard]] Look choose_look(const std::string& path);

}  // namespace triage::inline v0_1::detail
