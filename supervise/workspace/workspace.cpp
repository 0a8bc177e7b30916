// SPDX-License-Identifier: MIT
#include "supervise/workspace/workspace.hpp"

#include "supervise/process/child.hpp"
#include "supervise/process/file_descriptor.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <sys/stat.h>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

constexpr mode_t all_bits = 07777;
// The modes that git restores by itself.
constexpr mode_t plain_mode = 0644;
constexpr mode_t executable_mode = 0755;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Paths may be any bytes; commit messages may not.
std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(c));
    text += digits.data();
  }
  return text;
}

std::string unhex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::strtol(text.substr(i, 2).c_str(), nullptr, 16));
  }
  return bytes;
}

// A name for a folder's repository, or for a run in it, which is safe for files and references.
// Source: FNV-1a, 64 bits.
std::string name_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

bool is_id(const std::string& text) {
  return text.size() >= 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<void> write_whole(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code problem;
  if (file) fs::rename(unfinished, path, problem);
  if (file && !problem) return outcome::success();
  return Error{Errc::io, path + " cannot be written"};
}

// Whether one of its folders is a link by now: what is found there is not the workspace's.
bool is_behind_link(const std::string& folder, const std::string& path) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    struct stat found {};
    if (::lstat((folder + "/" + path.substr(0, end)).c_str(), &found) != 0) return false;
    if (S_ISLNK(found.st_mode)) return true;
  }
  return false;
}

bool is_readable(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
}

// A file that cannot be read is moved instead: it is about to be replaced.
Result<std::string> copy_beside(const std::string& path) {
  std::error_code problem;
  std::string beside = path + ".triage-conflict";
  for (int n = 2; fs::exists(fs::symlink_status(beside, problem)); ++n) {
    beside = path + ".triage-conflict-" + std::to_string(n);
  }
  if (fs::is_symlink(fs::symlink_status(path, problem)) || is_readable(path)) {
    fs::copy(path, beside, fs::copy_options::copy_symlinks, problem);
  } else {
    fs::rename(path, beside, problem);
  }
  if (!problem) return outcome::success(std::move(beside));
  return Error{Errc::io, beside + " cannot be written: " + problem.message()};
}

}  // namespace

std::string shadow_repository(const std::string& shadows, const std::string& folder) {
  return shadows + "/" + name_of(folder);
}

Result<std::string> check_workspace(const std::string& folder) {
  std::error_code problem;
  const fs::path path = fs::canonical(folder, problem);
  if (problem || !fs::is_directory(path, problem)) {
    return Error{Errc::not_found, "the workspace \"" + printable(folder) + "\" is not a folder"};
  }
  const char* home = std::getenv("HOME");
  std::error_code ignored;
  const fs::path own = fs::canonical(home == nullptr || *home == '\0' ? "/root" : home, ignored);
  const bool above =
      path == "/" || path == own || (own.string() + "/").starts_with(path.string() + "/");
  if (above) {
    return Error{Errc::invalid_argument,
                 "the workspace \"" + printable(path.string()) +
                     "\" is the root of the file system, or a home folder or above it; name the "
                     "folder that the program works in"};
  }
  if (!find_program("git", path.string())) {
    return Error{Errc::unsupported, "a workspace needs git, which is not in the PATH"};
  }
  return path.string();
}

Result<Workspace> Workspace::open(WorkspaceOptions options) {
  Workspace made;
  made.options_ = std::move(options);
  if (made.options_.shadows.empty()) {
    return Error{Errc::not_found,
                 "neither XDG_STATE_HOME nor HOME says where the files of a "
                 "workspace can be kept"};
  }
  made.options_.left_out.push_back(made.options_.shadows);
  const std::string base = shadow_repository(made.options_.shadows, made.options_.folder);
  made.git_ = {.repository = base,
               .index = base + "/index-" + name_of(made.options_.run),
               .tree = made.options_.folder};
  TRIAGE_TRYV(made.prepare());
  std::ifstream cut_off(made.journal());
  std::string target;
  if (const auto newest = made.named("newest")) made.newest_ = *newest;
  if (cut_off >> target && is_id(target)) {
    // The newest files are those before the restoration: what is neither theirs nor the target's
    // was changed since.
    TRIAGE_TRY(completed, made.restore(target));
    made.completed_ = std::move(completed);
  }
  return outcome::success(std::move(made));
}

Result<void> Workspace::prepare() {
  std::error_code problem;
  fs::create_directories(options_.shadows, problem);
  fs::permissions(options_.shadows, fs::perms::owner_all, problem);
  if (!fs::exists(git_.repository + "/HEAD", problem)) {
    const std::vector<std::string> words{"init", "--quiet", "--bare", git_.repository};
    const GitPlace place{.repository = git_.repository, .index = git_.index};
    TRIAGE_TRYV(run_git(place, words));
  }
  // Takes precedence over the tree's own attributes, so that none changes a byte.
  fs::create_directories(git_.repository + "/info", problem);
  TRIAGE_TRYV(write_whole(git_.repository + "/info/attributes",
                          "* -text !eol -filter -ident !working-tree-encoding -merge -diff\n"));
  fs::remove(git_.index + ".lock", problem);  // Left by a killed one: a run has one supervisor.
  return outcome::success();
}

bool Workspace::left_out(const std::string& path) const {
  const std::string whole = options_.folder + "/" + path;
  return std::any_of(options_.left_out.begin(), options_.left_out.end(),
                     [&whole](const std::string& one) {
                       return whole == one || whole == one + "-wal" || whole == one + "-shm" ||
                              whole == one + "-journal" || whole.starts_with(one + "/");
                     });
}

Result<std::vector<std::string>> Workspace::paths_of(
    const std::vector<std::string>& arguments) const {
  TRIAGE_TRY(printed, run_git(git_, arguments));
  return outcome::success(split(printed));
}

// One call of git, which reads the index and looks at every file: most of what a checkpoint takes.
Result<Workspace::Changes> Workspace::changes() {
  std::vector<std::string> arguments{
      "ls-files", "-z",         "-t",        "--cached",
      "--others", "--modified", "--deleted", "--exclude-per-directory=.gitignore"};
  const std::string own = options_.folder + "/.triageignore";
  std::error_code ignored;
  if (fs::is_regular_file(own, ignored)) arguments.push_back("--exclude-from=" + own);
  TRIAGE_TRY(paths, paths_of(arguments));
  Changes found_paths;
  not_kept_.clear();
  for (const std::string& line : paths) {  // "TAG PATH"
    if (line.size() < 3) continue;
    const std::string path = line.substr(2);
    if (line.front() == 'H') {  // In the index, as it is or not.
      found_paths.all.push_back(path);
      continue;
    }
    if (path.back() == '/' || left_out(path)) continue;  // A nested repository.
    if (is_behind_link(options_.folder, path)) {
      found_paths.hidden += path + '\0';
      continue;
    }
    struct stat found {};
    const bool there = ::lstat((options_.folder + "/" + path).c_str(), &found) == 0;
    if (there && !S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode)) continue;
    if (there && static_cast<std::uint64_t>(found.st_size) > options_.largest_file) {
      too_large_.insert(path);
      not_kept_.insert(path);
      continue;
    }
    if (there && S_ISREG(found.st_mode) && !is_readable(options_.folder + "/" + path)) {
      unreadable_.insert(path);
      not_kept_.insert(path);
      continue;
    }
    found_paths.paths += path + '\0';
    if (line.front() == '?') found_paths.all.push_back(path);
  }
  return outcome::success(std::move(found_paths));
}

// Permissions that git does not restore, as JSON.
std::string Workspace::modes_of(const std::vector<std::string>& all) const {
  Json modes = Json::object();
  for (const std::string& path : all) {
    struct stat found {};
    if (::lstat((options_.folder + "/" + path).c_str(), &found) != 0) continue;
    const mode_t mode = found.st_mode & all_bits;
    if (S_ISREG(found.st_mode) && mode != plain_mode && mode != executable_mode) {
      modes[hex(path)] = mode;
    }
  }
  return modes.dump();
}

Result<FilesId> Workspace::keep() {
  TRIAGE_TRY(wanted, changes());
  if (!wanted.hidden.empty()) {
    const std::vector<std::string> words{"update-index", "-z", "--force-remove", "--stdin"};
    TRIAGE_TRYV(run_git(git_, words, wanted.hidden));
  }
  if (!wanted.paths.empty()) {
    const std::vector<std::string> words{"update-index", "-z",        "--add",
                                         "--remove",     "--replace", "--stdin"};
    TRIAGE_TRYV(run_git(git_, words, wanted.paths));
  }
  TRIAGE_TRY(printed, git("write-tree"));
  const std::string tree = without_end(printed);
  const std::string message = modes_of(wanted.all);
  if (!newest_.empty() && tree + message == newest_tree_) return outcome::success(newest_);
  const std::vector<std::string> words{"commit-tree", tree};
  TRIAGE_TRY(commit, run_git(git_, words, message));
  TRIAGE_TRYV(name("newest", without_end(commit)));
  newest_ = without_end(commit);
  newest_tree_ = tree + message;
  return outcome::success(newest_);
}

Result<void> Workspace::name(const std::string& name, const FilesId& files) {
  TRIAGE_TRYV(git("update-ref", "refs/" + name_of(options_.run) + "/" + name, files));
  return outcome::success();
}

std::optional<FilesId> Workspace::named(const std::string& name, const std::string& run) const {
  const std::string whose = name_of(run.empty() ? options_.run : run);
  const auto found = git("rev-parse", "--verify", "--quiet", "refs/" + whose + "/" + name);
  if (!found) return std::nullopt;
  std::string id = without_end(found.value());
  return is_id(id) ? std::optional(std::move(id)) : std::nullopt;
}

// Copies what others changed between two states, unless the target has the same content.
Result<void> Workspace::put_aside(const FilesId& before, const FilesId& now, const FilesId& target,
                                  Restored& restored) const {
  const auto differing = [this](const FilesId& one, const FilesId& other) {
    return paths("diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other);
  };
  TRIAGE_TRY(changed, differing(before, now));
  TRIAGE_TRY(replaced, differing(now, target));
  const std::set<std::string> lost(replaced.begin(), replaced.end());
  for (const std::string& path : changed) {
    if (!lost.contains(path)) continue;
    const std::string whole = options_.folder + "/" + path;
    std::error_code problem;
    if (is_behind_link(options_.folder, path)) continue;            // That is another file.
    if (!fs::exists(fs::symlink_status(whole, problem))) continue;  // It was deleted.
    TRIAGE_TRY(beside, copy_beside(whole));
    restored.conflicts.push_back(beside);
  }
  return outcome::success();
}

// A file that could not be kept must not be lost.
Result<void> Workspace::put_aside_not_kept(const FilesId& target, Restored& restored) const {
  for (const std::string& path : not_kept_) {
    if (!git("cat-file", "-e", target + ":" + path)) continue;
    TRIAGE_TRY(beside, copy_beside(options_.folder + "/" + path));
    restored.conflicts.push_back(beside);
  }
  return outcome::success();
}

Result<Restored> Workspace::restore(const FilesId& files) {
  if (!is_id(files) || !git("cat-file", "-e", files + "^{commit}")) {
    return Error{Errc::not_found, "the files \"" + printable(files.substr(0, 64)) +
                                      "\" are not in the workspace's repository " +
                                      git_.repository};
  }
  // Keeping makes what others changed the newest state: if this is cut off before their files are
  // copied, the next restoration must still know the state before.
  const FilesId before = named("before").value_or(newest_);
  if (!before.empty()) {
    TRIAGE_TRYV(name("before", before));
  }
  TRIAGE_TRY(now, keep());
  Restored restored;
  if (!before.empty() && now != before) {
    TRIAGE_TRYV(put_aside(before, now, files, restored));
  }
  TRIAGE_TRYV(put_aside_not_kept(files, restored));
  TRIAGE_TRYV(write_whole(journal(), files + "\n"));
  if (!before.empty()) {
    TRIAGE_TRYV(git("update-ref", "-d", "refs/" + name_of(options_.run) + "/before"));
  }
  TRIAGE_TRYV(bring_back(files));
  return outcome::success(std::move(restored));
}

// Idempotent, even after a partial restoration.
Result<void> Workspace::bring_back(const FilesId& files) {
  TRIAGE_TRYV(git("read-tree", "--reset", "-u", files));
  TRIAGE_TRYV(set_modes(files));
  static_cast<void>(git("update-index", "-q", "--refresh"));
  TRIAGE_TRYV(name("newest", files));
  newest_ = files;
  newest_tree_.clear();
  std::error_code ignored;
  fs::remove(journal(), ignored);
  return outcome::success();
}

Result<void> Workspace::set_modes(const FilesId& files) const {
  TRIAGE_TRY(commit, git("cat-file", "commit", files));
  const std::size_t body = commit.find("\n\n");
  const Json modes =
      Json::parse(body == std::string::npos ? "" : commit.substr(body), nullptr, false);
  std::map<std::string, mode_t> kept;
  if (modes.is_object()) {
    for (const auto& [path, mode] : modes.items()) {
      if (mode.is_number_unsigned()) kept[unhex(path)] = mode.get<mode_t>() & all_bits;
    }
  }
  TRIAGE_TRY(listed, paths("ls-files", "-z", "--stage"));
  for (const std::string& line : listed) {  // "MODE ID STAGE\tPATH"
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || !line.starts_with("100")) continue;
    const std::string path = line.substr(tab + 1);
    const auto own = kept.find(path);
    const mode_t wanted = own != kept.end()            ? own->second
                          : line.starts_with("100755") ? executable_mode
                                                       : plain_mode;
    const std::string whole = options_.folder + "/" + path;
    struct stat found {};
    if (::lstat(whole.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    if ((found.st_mode & all_bits) != wanted && ::chmod(whole.c_str(), wanted) != 0) {
      return system_error("the permissions of " + printable(whole));
    }
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
