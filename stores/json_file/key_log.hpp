// SPDX-License-Identifier: MIT
#pragma once
// The keys of the JSON-file store: one file of lines, in which the last line of a key counts.

#include "files.hpp"
#include "triage/key_space.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Thread-safety: all members may be called from several threads and processes at once.
class KeyLog {
 public:
  KeyLog(std::string folder, bool synced, std::chrono::milliseconds timeout, bool read_only)
      : folder_(std::move(folder)), synced_(synced), timeout_(timeout), read_only_(read_only) {}

  [[nodiscard]] Result<std::optional<VersionedValue>> get(std::string_view space,
                                                          std::string_view key);
  [[nodiscard]] Result<std::uint64_t> put_if(std::string_view space, std::string_view key,
                                             std::uint64_t expected, std::string_view bytes);
  [[nodiscard]] Result<void> erase_if(std::string_view space, std::string_view key,
                                      std::uint64_t expected);
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view space,
                                                      std::string_view prefix);

 private:
  using Place = std::pair<std::string, std::string>;

  [[nodiscard]] std::string path() const { return folder_ + "/keys.jsonl"; }
  [[nodiscard]] Result<FileLock> lock(bool shared) const;
  // Refreshes before an answer. Without a lock where nothing may be written, as that is a file.
  [[nodiscard]] Result<void> look();
  // Reads what others have written. Errors: Errc::corrupt if a line is damaged.
  [[nodiscard]] Result<void> refresh();
  [[nodiscard]] Result<void> take_line(std::string_view line);
  [[nodiscard]] Result<void> write(const std::string& line);
  [[nodiscard]] Result<void> shrink_if_large();

  const std::string folder_;
  const bool synced_;
  const std::chrono::milliseconds timeout_;
  const bool read_only_;
  std::mutex mutex_;
  struct Kept {
    VersionedValue value{};
    std::uint64_t line_bytes = 0;
  };
  std::map<Place, Kept> values_{};
  File file_{};                   // What was read, kept open: no other file gets its number …
  std::uint64_t number_ = 0;      // … which is this …
  std::uint64_t end_ = 0;         // … up to this position.
  std::uint64_t live_bytes_ = 0;  // Of the lines of values_.
  bool folder_synced_ = false;    // Since the file of this number came into it.
};

}  // namespace triage::inline v0_1::detail
