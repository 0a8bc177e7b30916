// SPDX-License-Identifier: MIT
#include "supervise/workspace/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

constexpr std::string_view aside_mark = ".triage-conflict";
// Of a name in bytes, which file systems limit: the mark and a number are added.
constexpr std::size_t longest_stem =
    NAME_MAX - aside_mark.size() - std::string_view("-99999").size();

}  // namespace

std::vector<std::string> split_paths(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_behind_link(const std::string& folder, const std::string& path) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    struct stat found {};
    if (::lstat((folder + "/" + path.substr(0, end)).c_str(), &found) != 0) return false;
    if (S_ISLNK(found.st_mode)) return true;
  }
  return false;
}

std::optional<FileState> state_of(const std::string& whole) {
  struct stat found {};
  if (::lstat(whole.c_str(), &found) != 0) return std::nullopt;
  return FileState{.device = found.st_dev,
                   .number = found.st_ino,
                   .mode = found.st_mode,
                   .size = found.st_size,
                   .written = nanoseconds(found.st_mtim),
                   .changed = nanoseconds(found.st_ctim)};
}

bool is_readable(const std::string& whole) {
  return ::faccessat(AT_FDCWD, whole.c_str(), R_OK, AT_EACCESS) == 0;
}

Result<void> write_whole(const std::string& whole, const std::string& text) {
  const std::string unfinished = whole + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code problem;
  if (file) fs::rename(unfinished, whole, problem);
  if (file && !problem) return outcome::success();
  return Error{Errc::io, whole + " cannot be written"};
}

bool is_aside(const std::string& path) {
  for (std::size_t at = path.find(aside_mark); at != std::string::npos;
       at = path.find(aside_mark, at + 1)) {
    std::size_t end = at + aside_mark.size();
    if (end < path.size() && path[end] == '-') end = path.find_first_not_of("0123456789", end + 1);
    if (end >= path.size() || path[end] == '/') return true;
  }
  return false;
}

Result<std::string> move_aside(const std::string& whole) {
  std::error_code problem;
  const std::size_t name = whole.rfind('/') + 1;
  const std::string stem =
      whole.substr(0, std::min(whole.size(), name + longest_stem)) + std::string(aside_mark);
  std::string beside = stem;
  for (int n = 2; fs::exists(fs::symlink_status(beside, problem)); ++n) {
    beside = stem + "-" + std::to_string(n);
  }
  fs::rename(whole, beside, problem);
  if (!problem) return outcome::success(std::move(beside));
  return Error{Errc::io, whole + " cannot be moved to " + beside + ": " + problem.message()};
}

std::optional<std::set<std::string>> only_folders(
    const std::string& folder, const std::string& path,
    const std::function<bool(const std::string& path)>& disregarded) {
  std::set<std::string> folders{path};
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder + "/" + path, problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    const std::string within = entry->path().string().substr(folder.size() + 1);
    if (disregarded && disregarded(within)) {
      entry.disable_recursion_pending();
    } else if (fs::is_directory(entry->symlink_status(problem))) {
      folders.insert(within + "/");
    } else {
      return std::nullopt;
    }
  }
  return problem ? std::nullopt : std::optional(std::move(folders));
}

std::string obstacle(const std::string& folder, const std::string& path) {
  std::string above = folder;
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    std::string whole = folder + "/" + path.substr(0, end);
    struct stat found {};
    if (::lstat(whole.c_str(), &found) != 0) {
      // A folder that cannot be looked into cannot be written to.
      return errno == EACCES && above != folder ? above : std::string();
    }
    if (end == std::string::npos) {
      return S_ISDIR(found.st_mode) && only_folders(folder, path + "/") ? std::string() : whole;
    }
    if (!S_ISDIR(found.st_mode)) return whole;
    above = std::move(whole);
  }
}

void remove_folders(const std::string& folder, const std::string& path) {
  const auto folders = only_folders(folder, path + "/");
  if (!folders) return;
  for (auto one = folders->rbegin(); one != folders->rend(); ++one) {  // The innermost first.
    ::rmdir((folder + "/" + *one).c_str());
  }
}

void remove_empty_folders(const std::string& folder, const std::string& path,
                          const std::set<std::string>& stay) {
  for (std::size_t end = path.rfind('/'); end != std::string::npos && end > 0;
       end = path.rfind('/', end - 1)) {
    const std::string above = path.substr(0, end);
    if (stay.contains(above + "/") || ::rmdir((folder + "/" + above).c_str()) != 0) return;
  }
}

}  // namespace triage::inline v0_1::supervise
