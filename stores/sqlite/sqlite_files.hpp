// SPDX-License-Identifier: MIT
#pragma once
// The files of a store: created for their owner alone, and read without leaving anything behind.

#include <cstdint>
#include <optional>
#include <string>

namespace triage::inline v0_1::detail {

// Creates an empty file that only its owner can read and write, if there is none. SQLite gives the
// files beside it the same permissions. Failures are ignored: opening the file will report them.
// Whether this call has created it.
bool make_private_file(const std::string& path) noexcept;

// Disables SQLite's special file names: Debian's build takes "file:…" for a URI.
[[nodiscard]] std::string plain_name(const std::string& path);

// Tells whether the files were changed or replaced.
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

// How to open a file for reading so that nothing is created beside it.
struct Look {
  std::string uri{};
  // Set if no locks are taken: what was read only counts if this is unchanged.
  std::optional<FilePrint> print{};
  const char* vfs = nullptr;  // The default one.
  // PRAGMA locking_mode = EXCLUSIVE: the log is read without shared memory.
  bool exclusive = false;
};
[[nodiscard]] Look choose_look(const std::string& path);

}  // namespace triage::inline v0_1::detail
