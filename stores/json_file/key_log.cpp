// SPDX-License-Identifier: MIT
#include "key_log.hpp"

#include "lines.hpp"
#include "triage/detail/try.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::string_view owner_of_lines = "keys";
// Rewritten above this size, if it is several times as large as its live contents.
constexpr std::uint64_t small_log = 1U << 20U;
constexpr std::uint64_t most_waste = 4;

std::string line_of(std::string_view space, std::string_view key, std::uint64_t version,
                    const std::string_view* bytes) {
  std::string members = bytes_member("space", space) + "," + bytes_member("key", key) +
                        ",\"version\":" + std::to_string(version);
  if (bytes != nullptr) members += "," + bytes_member("value", *bytes);
  return seal_line(owner_of_lines, members);
}

Error conflict(std::string_view key, std::uint64_t stored, std::uint64_t expected) {
  return {Errc::conflict, "key \"" + printable(key) + "\" has version " + std::to_string(stored) +
                              ", expected " + std::to_string(expected)};
}

}  // namespace

Result<FileLock> KeyLog::lock(bool shared) const {
  return FileLock::take(folder_ + "/locks/keys", shared, timeout_);
}

Result<void> KeyLog::look() {
  if (!read_only_) {
    auto locked = lock(true);
    if (!locked) return locked.error();
    return refresh();
  }
  const std::size_t before = damaged_.size();
  const auto seen = refresh();
  if (!seen || damaged_.size() <= before) return seen;
  number_ = 0;  // It may have been read while it was being written: once more, from the beginning.
  return refresh();
}

Result<void> KeyLog::refresh() {
  struct stat status {};
  if (::stat(path().c_str(), &status) != 0) {
    if (errno != ENOENT) return file_error("looking at", path());
    values_.clear();
    damaged_.clear();
    file_ = File();
    folder_synced_ = false;
    number_ = end_ = live_bytes_ = 0;
    return outcome::success();
  }
  if (status.st_ino != number_ || static_cast<std::uint64_t>(status.st_size) < end_) {
    TRIAGE_TRY(file, open_file(path(), O_RDONLY));
    values_.clear();  // The file was rewritten.
    damaged_.clear();
    file_ = std::move(file);
    folder_synced_ = false;
    number_ = status.st_ino;
    end_ = live_bytes_ = 0;
  }
  if (static_cast<std::uint64_t>(status.st_size) == end_) return outcome::success();
  TRIAGE_TRY(text, read_at(file_, path(), end_, std::numeric_limits<std::uint64_t>::max()));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) break;  // Cut off by a crash, so never acknowledged.
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (!take_line(line)) damaged_.push_back({end_, std::string(line)});
    end_ += end + 1 - at;
    at = end + 1;
  }
  return outcome::success();
}

bool KeyLog::take_line(std::string_view line) {
  if (!is_sealed(owner_of_lines, line)) return false;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("version") || !json["version"].is_number_unsigned()) {
    return false;
  }
  auto space = bytes_of(json, "space");
  auto key = bytes_of(json, "key");
  if (!space || !key) return false;
  auto value = bytes_of(json, "value");
  const Place place(std::move(space).value(), std::move(key).value());
  const auto former = values_.find(place);
  if (former != values_.end()) live_bytes_ -= former->second.line_bytes;
  if (!value) {
    values_.erase(place);
    return true;
  }
  const std::uint64_t size = line.size() + 1;
  live_bytes_ += size;
  values_[place] = {{std::move(value).value(), json["version"].get<std::uint64_t>()}, size, end_};
  return true;
}

Error KeyLog::unknown(std::string_view what) const {
  return {Errc::corrupt, "the line at byte " + std::to_string(damaged_.back().at) + " of " +
                             path() + " is damaged, so " + std::string(what) +
                             " is not known; `triage checkpoint verify --repair` sets it aside"};
}

Result<void> KeyLog::check_known(const Place& place) const {
  if (damaged_.empty()) return outcome::success();
  const auto found = values_.find(place);
  if (found != values_.end() && found->second.at > damaged_.back().at) return outcome::success();
  return unknown("what key \"" + printable(place.second) + "\" is");
}

Result<void> KeyLog::write(const std::string& line) {
  TRIAGE_TRY(file, open_file(path(), O_WRONLY | O_CREAT));
  if (synced_ && !folder_synced_) {  // Before the line, which would stay if this failed.
    TRIAGE_TRYV(sync_folder(folder_));
  }
  TRIAGE_TRYV(write_at(file, path(), end_, line, synced_));
  TRIAGE_TRYV(refresh());
  folder_synced_ = true;  // Behind refresh(), to which a file just made is another one.
  return outcome::success();
}

Result<void> KeyLog::shrink_if_large() {
  const bool small = end_ < small_log || live_bytes_ * most_waste > end_;
  return small || !damaged_.empty() ? outcome::success() : rewrite();
}

Result<void> KeyLog::rewrite() {
  std::string text;
  for (const auto& [place, kept] : values_) {
    const std::string_view bytes = kept.value.bytes;
    text += line_of(place.first, place.second, kept.value.version, &bytes);
  }
  // The next write syncs the folder. Until then the former file, with the same values, will do.
  return replace_whole(folder_ + "/tmp", path(), text, synced_);
}

Result<std::optional<VersionedValue>> KeyLog::get(std::string_view space, std::string_view key) {
  const std::scoped_lock here(mutex_);
  TRIAGE_TRYV(look());
  TRIAGE_TRYV(check_known(Place(space, key)));
  const auto found = values_.find(Place(space, key));
  if (found == values_.end()) return outcome::success(std::optional<VersionedValue>());
  return outcome::success(std::optional<VersionedValue>(found->second.value));
}

Result<std::uint64_t> KeyLog::put_if(std::string_view space, std::string_view key,
                                     std::uint64_t expected, std::string_view bytes) {
  const std::scoped_lock here(mutex_);
  auto locked = lock(false);
  if (!locked) return locked.error();
  TRIAGE_TRYV(refresh());
  TRIAGE_TRYV(check_known(Place(space, key)));
  const auto found = values_.find(Place(space, key));
  const std::uint64_t stored = found == values_.end() ? 0 : found->second.value.version;
  if (stored != expected) return conflict(key, stored, expected);
  TRIAGE_TRYV(write(line_of(space, key, stored + 1, &bytes)));
  static_cast<void>(shrink_if_large());  // The requested change is already done.
  return outcome::success(stored + 1);
}

Result<void> KeyLog::erase_if(std::string_view space, std::string_view key,
                              std::uint64_t expected) {
  const std::scoped_lock here(mutex_);
  auto locked = lock(false);
  if (!locked) return locked.error();
  TRIAGE_TRYV(refresh());
  TRIAGE_TRYV(check_known(Place(space, key)));
  const auto found = values_.find(Place(space, key));
  if (found == values_.end()) return outcome::success();
  const std::uint64_t stored = found->second.value.version;
  if (stored != expected) return conflict(key, stored, expected);
  return write(line_of(space, key, expected, nullptr));
}

Result<std::vector<std::string>> KeyLog::list(std::string_view space, std::string_view prefix) {
  const std::scoped_lock here(mutex_);
  TRIAGE_TRYV(look());
  if (!damaged_.empty()) return unknown("which keys there are");
  std::vector<std::string> keys;
  for (auto at = values_.lower_bound(Place(space, prefix)); at != values_.end(); ++at) {
    if (at->first.first != space || !at->first.second.starts_with(prefix)) break;
    keys.push_back(at->first.second);
  }
  return outcome::success(std::move(keys));
}

Result<std::vector<std::string>> KeyLog::check() {
  const std::scoped_lock here(mutex_);
  TRIAGE_TRYV(look());
  std::vector<std::string> wrong;
  for (const Damaged& one : damaged_) {
    wrong.push_back("the line at byte " + std::to_string(one.at) + " of " + path() +
                    " is damaged: what keys were before it is not known");
  }
  return outcome::success(std::move(wrong));
}

Result<std::vector<std::string>> KeyLog::set_damage_aside() {
  const std::scoped_lock here(mutex_);
  auto locked = lock(false);
  if (!locked) return locked.error();
  TRIAGE_TRYV(refresh());
  std::vector<std::string> moved;
  if (damaged_.empty()) return outcome::success(std::move(moved));
  // Kept before it goes: after a crash in between, the lines are in both files.
  const std::string aside = folder_ + "/keys.damaged";
  TRIAGE_TRY(file, open_file(aside, O_WRONLY | O_CREAT));
  TRIAGE_TRY(status, status_of(file, aside));
  std::string text;
  for (const Damaged& one : damaged_) {
    text += one.line + "\n";
    moved.push_back("the damaged line at byte " + std::to_string(one.at) + " of " + path() +
                    " is now in " + aside + "; its key is as before that line, or missing");
  }
  TRIAGE_TRYV(write_at(file, aside, static_cast<std::uint64_t>(status.st_size), text, synced_));
  TRIAGE_TRYV(rewrite());
  if (synced_) {
    TRIAGE_TRYV(sync_folder(folder_));
  }
  return outcome::success(std::move(moved));
}

}  // namespace triage::inline v0_1::detail
