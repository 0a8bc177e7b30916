// SPDX-License-Identifier: MIT
#pragma once
// Files and locks of the JSON-file store: all of its system calls.

#include "storage/own_process.hpp"
#include "triage/result.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// An open file; closed with the object.
class File {
 public:
  File() = default;
  explicit File(int handle) noexcept : handle_(handle) {}
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~File();
  [[nodiscard]] int handle() const noexcept { return handle_; }

 private:
  int handle_ = -1;
};

// Tells whether a file is the one that was seen, and as it was: a later file may get the number of
// an earlier one that was removed.
struct FileMark {
  std::uint64_t number = 0;
  std::int64_t changed_ns = 0;  // Of its content, or of what the system keeps about it.
  [[nodiscard]] bool operator==(const FileMark&) const = default;
};
[[nodiscard]] FileMark mark_of(const struct stat& status) noexcept;

// Translates errno for `path`: Errc::not_found if the file does not exist, else Errc::io.
[[nodiscard]] Error file_error(std::string_view doing, const std::string& path);

[[nodiscard]] Result<File> open_file(const std::string& path, int flags);
[[nodiscard]] Result<struct stat> status_of(const File& file, const std::string& path);
// At most `most` bytes from `from` on; fewer at the end of the file.
[[nodiscard]] Result<std::string> read_at(const File& file, const std::string& path,
                                          std::uint64_t from, std::uint64_t most);
[[nodiscard]] Result<std::string> read_whole(const std::string& path);
// Truncates the file at `at`, then writes there. On failure the file keeps its length if the system
// permits that. `synced`: fdatasync.
[[nodiscard]] Result<void> write_at(const File& file, const std::string& path, std::uint64_t at,
                                    std::string_view bytes, bool synced);
// Creates a file with all its bytes, or not at all. `synced`: fdatasync; syncing its folder is left
// to the caller. Errors: Errc::conflict if it exists.
[[nodiscard]] Result<void> link_whole(const std::string& folder, const std::string& path,
                                      std::string_view bytes, bool synced);
// The same, with its folder synced. Takes the file back if that fails, so for files that nobody
// else uses yet.
[[nodiscard]] Result<void> create_whole(const std::string& folder, const std::string& path,
                                        std::string_view bytes, bool synced);
// As link_whole(), replacing an existing file. After an error the former file is still there.
[[nodiscard]] Result<void> replace_whole(const std::string& folder, const std::string& path,
                                         std::string_view bytes, bool synced);
[[nodiscard]] Result<void> sync_folder(const std::string& path);
// What the folder holds, in no order. Errors: Errc::not_found.
[[nodiscard]] Result<std::vector<std::string>> names_in(const std::string& folder);
[[nodiscard]] Result<void> make_folder(const std::string& path);
// It is not an error if the file does not exist.
[[nodiscard]] Result<void> remove_file(const std::string& path);
[[nodiscard]] bool exists(const std::string& path) noexcept;

// A lock between processes, and between threads, held while the object lives. The system gives it
// up when the process ends. Errors: Errc::busy after `timeout`.
class FileLock {
 public:
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();
  [[nodiscard]] static Result<FileLock> take(const std::string& path, bool shared,
                                             std::chrono::milliseconds timeout);

 private:
  explicit FileLock(File file) noexcept : file_(std::move(file)) {}
  File file_;
  OwnProcess process_{};
};

}  // namespace triage::inline v0_1::detail
