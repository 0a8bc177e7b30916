// SPDX-License-Identifier: MIT
#include "supervise/workspace/workspace.hpp"

#include "supervise/process/child.hpp"
#include "supervise/process/file_descriptor.hpp"
#include "supervise/workspace/paths.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

// Of write-tree.
bool lacks_object(const Error& error) {
  return error.detail.find("invalid object") != std::string::npos;
}

}  // namespace

std::string shadow_repository(const std::string& shadows, const std::string& folder) {
  return shadows + "/" + shadow_name(folder);
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
  std::error_code problem;
  const fs::path real = fs::weakly_canonical(made.options_.shadows, problem);
  made.options_.left_out.push_back(problem ? made.options_.shadows : real.string());
  const std::string base = shadow_repository(made.options_.shadows, made.options_.folder);
  made.git_ = {.repository = base,
               .index = index_of(base, shadow_name(made.options_.run)),
               .tree = made.options_.folder,
               .watch = made.options_.watch};
  TRIAGE_TRYV(made.prepare());
  made.at_rest_ = fs::exists(made.rest(), problem);
  TRIAGE_TRYV(made.find_kept());
  std::ifstream cut_off(made.journal());
  std::string target;
  if (cut_off >> target && is_object_name(target)) {
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
  fs::create_directory(git_.repository, problem);
  // Runs that begin in the same folder share its repository.
  const std::string lock = git_.repository + "/prepare.lock";
  const FileDescriptor locked(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!locked) return system_error("the lock " + printable(lock));
  while (::flock(locked.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return system_error("the lock " + printable(lock));
  }
  constexpr std::chrono::seconds longest_use{10};
  if (has_shared_locks(git_.repository) && ShadowLock::remove(git_.repository, longest_use)) {
    remove_shared_locks(git_.repository);
  }
  // Takes precedence over the tree's own attributes, so that none changes a byte. Written last:
  // with it, the repository is complete.
  const std::string attributes =
      "* -text !eol -filter -ident !working-tree-encoding -merge -diff\n";
  const std::string file = git_.repository + "/info/attributes";
  std::ifstream written(file, std::ios::binary);
  if (std::string(std::istreambuf_iterator<char>(written), {}) != attributes) {
    TRIAGE_TRYV(repository("init", "--quiet", "--bare", git_.repository));
    fs::create_directories(git_.repository + "/info", problem);
    TRIAGE_TRYV(write_whole(file, attributes));
  }
  remove_locks_of(git_.repository, shadow_name(options_.run));
  return outcome::success();
}

bool Workspace::left_out(const std::string& path) const {
  if (is_aside(path)) return true;
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
  return outcome::success(split_paths(printed));
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
      // Earlier versions kept it.
      if (is_aside(path)) found_paths.hidden += path + '\0';
      continue;
    }
    if (path.back() == '/' || left_out(path)) continue;  // A nested repository.
    if (is_behind_link(options_.folder, path)) {
      found_paths.hidden += path + '\0';
      continue;
    }
    struct stat found {};
    const std::string whole = options_.folder + "/" + path;
    const bool there = ::lstat(whole.c_str(), &found) == 0;
    // With a file that cannot be looked at, git would keep nothing at all.
    const bool readable = there ? !S_ISREG(found.st_mode) || is_readable(whole) : errno != EACCES;
    if (there && !S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode)) {
      not_kept_.insert(path);
      continue;
    }
    if (there && static_cast<std::uint64_t>(found.st_size) > options_.largest_file) {
      too_large_.insert(path);
      not_kept_.insert(path);
      continue;
    }
    if (!readable) {
      unreadable_.insert(path);
      not_kept_.insert(path);
      continue;
    }
    found_paths.paths += path + '\0';
    if (line.front() == '?') found_paths.all.push_back(path);
  }
  return outcome::success(std::move(found_paths));
}

// Permissions that git does not restore.
std::map<std::string, mode_t> Workspace::modes_of(const std::vector<std::string>& all) const {
  std::map<std::string, mode_t> modes;
  for (const std::string& path : all) {
    struct stat found {};
    if (::lstat((options_.folder + "/" + path).c_str(), &found) != 0) continue;
    const mode_t mode = found.st_mode & all_bits;
    if (S_ISREG(found.st_mode) && mode != plain_mode && mode != executable_mode) {
      modes[path] = mode;
    }
  }
  return modes;
}

// What lies in the folder without being in the index, which has what is kept: git takes folders
// together, and looks into none of those.
Result<NotKept> Workspace::find_not_kept() const {
  TRIAGE_TRY(listed, paths("ls-files", "-z", "--others", "--directory"));
  const auto is_left_out = [this](const std::string& path) { return left_out(path); };
  NotKept not_kept;
  for (const std::string& path : listed) {
    if (left_out(path)) continue;
    auto folders =
        path.back() != '/' ? std::nullopt : only_folders(options_.folder, path, is_left_out);
    if (folders) not_kept.empty.merge(*folders);
    if (!folders) not_kept.paths.insert(path);
  }
  return outcome::success(std::move(not_kept));
}

// Updates the index, and returns the name of its tree.
Result<std::string> Workspace::take_in(const Changes& changes) {
  if (!changes.hidden.empty()) {
    const std::vector<std::string> words{"update-index", "-z", "--force-remove", "--stdin"};
    TRIAGE_TRYV(run_git(git_, words, changes.hidden));
  }
  if (!changes.paths.empty()) {
    const std::vector<std::string> words{"update-index", "-z",        "--add",
                                         "--remove",     "--replace", "--stdin"};
    TRIAGE_TRYV(run_git(git_, words, changes.paths));
  }
  if (!sure_) return git("write-tree");
  // Without asking for every stored file, a third of the time this takes: what can be reached is
  // not removed.
  return git("write-tree", "--missing-ok");
}

Result<FilesId> Workspace::keep() {
  // While git collects, it may drop with its pack even what somebody has just written once more.
  TRIAGE_TRY(in_use, ShadowLock::use(git_.repository, git_.watch));
  static_cast<void>(in_use);
  return keep_now();
}

// tree: of the files as they are now.
Result<void> Workspace::note_others(const std::string& tree, NotKept& not_kept) const {
  not_kept.others = others_;
  const bool changed = !newest_.empty() && (!newest_content_ || newest_content_->tree != tree);
  if (!at_rest_ || !options_.shared || !changed) return outcome::success();
  TRIAGE_TRY(listed,
             paths("diff-tree", "-r", "-z", "--name-status", "--no-renames", newest_, tree));
  for (std::size_t i = 0; i + 1 < listed.size(); i += 2) {  // "STATUS", "PATH"
    if (listed[i].front() == 'D') {
      not_kept.others.erase(listed[i + 1]);
    } else {
      not_kept.others[listed[i + 1]] = newest_;
    }
  }
  return outcome::success();
}

Result<void> Workspace::set_at_rest(bool at_rest) {
  if (at_rest) {
    TRIAGE_TRYV(write_whole(rest(), ""));
  } else if (::unlink(rest().c_str()) != 0 && errno != ENOENT) {
    return system_error(printable(rest()) + " cannot be removed");
  }
  at_rest_ = at_rest;
  return outcome::success();
}

Result<FilesId> Workspace::keep_now() {
  std::error_code problem;
  if (!fs::is_directory(options_.folder, problem)) {
    return Error{Errc::not_found, "the workspace \"" + printable(options_.folder) + "\" is gone"};
  }
  TRIAGE_TRY(wanted, changes());
  auto tree = take_in(wanted);
  // An earlier one was cut off, and what only the index names has been removed since.
  for (const FilesId& base : {newest_, FilesId()}) {
    if (tree || sure_ || !lacks_object(tree.error())) break;
    fs::remove(git_.index, problem);
    if (!base.empty()) {
      TRIAGE_TRYV(git("read-tree", base));
    }
    TRIAGE_TRY(again, changes());
    wanted = std::move(again);
    tree = take_in(wanted);
  }
  sure_ = false;
  TRIAGE_TRYV(tree);
  Content content{.tree = name_printed(tree.value())};
  TRIAGE_TRY(not_kept, find_not_kept());
  TRIAGE_TRYV(note_others(content.tree, not_kept));
  std::string bytes = to_bytes(not_kept);
  std::string not_kept_in = noted_in_;
  if (bytes != noted_) {
    TRIAGE_TRY(named, commit_not_kept(bytes, content.tree));
    not_kept_in = std::move(named);
  }
  content.message = to_message({.modes = modes_of(wanted.all), .not_kept = not_kept_in});
  if (newest_content_ != content) {
    TRIAGE_TRYV(add(content, not_kept_in, true));
  }
  noted_ = std::move(bytes);
  noted_in_ = std::move(not_kept_in);
  others_ = std::move(not_kept.others);
  sure_ = true;
  return outcome::success(newest_);
}

std::string Workspace::reference(const std::string& name, const std::string& run) const {
  return references_of(shadow_name(run.empty() ? options_.run : run)) + name;
}

Result<void> Workspace::name(const std::string& name, const FilesId& files) {
  TRIAGE_TRYV(repository("update-ref", reference(name, ""), files));
  return outcome::success();
}

Result<void> Workspace::remove_name(const std::string& name) {
  TRIAGE_TRY(known, named(name));
  if (!known) return outcome::success();
  TRIAGE_TRYV(repository("update-ref", "-d", reference(name, "")));
  return outcome::success();
}

Result<std::optional<FilesId>> Workspace::named(const std::string& name,
                                                const std::string& run) const {
  TRIAGE_TRY(found, repository("for-each-ref", "--format=%(objectname)", reference(name, run)));
  std::string id = name_printed(std::move(found));
  return outcome::success(is_object_name(id) ? std::optional(std::move(id)) : std::nullopt);
}

bool Workspace::has(const FilesId& files) const {
  return is_object_name(files) && repository("cat-file", "-e", files + "^{commit}").has_value();
}

}  // namespace triage::inline v0_1::supervise
