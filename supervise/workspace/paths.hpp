// SPDX-License-Identifier: MIT
#pragma once
// Paths within a workspace, and what lies there. `folder` is the workspace's; paths are relative to
// it.

#include "triage/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace triage::inline v0_1::supervise {

// A list of git's, whose elements end with null bytes.
[[nodiscard]] std::vector<std::string> split_paths(std::string_view text);

// Whether one of its folders is a link by now: what is found there is not the workspace's.
[[nodiscard]] bool is_behind_link(const std::string& folder, const std::string& path);

[[nodiscard]] bool is_readable(const std::string& whole);

// Replaces a file as a whole. Errors: Errc::io.
[[nodiscard]] Result<void> write_whole(const std::string& whole, const std::string& text);

// Whether move_aside() has made it, or a folder around it.
[[nodiscard]] bool is_aside(const std::string& path);

// Of a file or link: what differs once somebody has written it, or replaced it. Without times of a
// coarse file system, a change of the same size in the same moment may be missed.
struct FileState {
  dev_t device = 0;
  ino_t number = 0;
  mode_t mode = 0;
  off_t size = 0;
  std::int64_t written = 0;  // In nanoseconds since 1970.
  std::int64_t changed = 0;  // Likewise; a new name changes it, too.

  bool operator==(const FileState&) const = default;
};
// Empty if nothing is there.
[[nodiscard]] std::optional<FileState> state_of(const std::string& whole);

// Renames a file or folder to NAME.triage-conflict, or NAME.triage-conflict-2 and so on, which it
// returns; of a long NAME only what fits. Errors: Errc::io.
[[nodiscard]] Result<std::string> move_aside(const std::string& whole);

// Of a folder, whose path ends with '/': it and the folders in it, if there is nothing else, or
// only what is disregarded; empty if there is, or if nobody can tell.
[[nodiscard]] std::optional<std::set<std::string>> only_folders(
    const std::string& folder, const std::string& path,
    const std::function<bool(const std::string& path)>& disregarded = {});

// What prevents a file from being written to a path: something other than a folder above it, or
// anything at all in its place, but for folders without files. A whole path; empty if nothing does.
[[nodiscard]] std::string obstacle(const std::string& folder, const std::string& path);

// Removes a folder in which there are at most folders.
void remove_folders(const std::string& folder, const std::string& path);

// Removes the folders around a path that are empty, but not those that are to stay.
void remove_empty_folders(const std::string& folder, const std::string& path,
                          const std::set<std::string>& stay);

}  // namespace triage::inline v0_1::supervise
