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
  // What is damaged, a sentence each.
  [[nodiscard]] Result<std::vector<std::string>> check();
  // Moves damaged lines to a file beside, where nothing reads them, so that what the other lines
  // say counts. Returns what it has moved.
  [[nodiscard]] Result<std::vector<std::string>> set_damage_aside();

 private:
  using Place = std::pair<std::string, std::string>;

  [[nodiscard]] std::string path() const { return folder_ + "/keys.jsonl"; }
  [[nodiscard]] Result<FileLock> lock(bool shared) const;
  // Refreshes before an answer. Without a lock where nothing may be written, as that is a file.
  [[nodiscard]] Result<void> look();
  // Reads what others have written.
  [[nodiscard]] Result<void> refresh();
  // False: it is damaged.
  [[nodiscard]] bool take_line(std::string_view line);
  // Errors: Errc::corrupt if a damaged line may be the last one about the key.
  [[nodiscard]] Result<void> check_known(const Place& place) const;
  [[nodiscard]] Error unknown(std::string_view what) const;
  [[nodiscard]] Result<void> rewrite();
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
    std::uint64_t at = 0;  // Where its line begins.
  };
  struct Damaged {
    std::uint64_t at = 0;
    std::string line{};
  };
  std::map<Place, Kept> values_{};
  std::vector<Damaged> damaged_{};  // Ascending.
  File file_{};                     // What was read, kept open: no other file gets its number …
  std::uint64_t number_ = 0;        // … which is this …
  std::uint64_t end_ = 0;           // … up to this position.
  std::uint64_t live_bytes_ = 0;    // Of the lines of values_.
  bool folder_synced_ = false;      // Since the file of this number came into it.
};

}  // namespace triage::inline v0_1::detail
