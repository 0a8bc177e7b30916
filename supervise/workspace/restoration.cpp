// SPDX-License-Identifier: MIT
// Restoring the files of a workspace, without losing any that are not kept.
#include "supervise/process/file_descriptor.hpp"
#include "supervise/workspace/paths.hpp"
#include "supervise/workspace/workspace.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <sys/stat.h>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

Result<void> move_aside_into(Restored& restored, const std::string& whole) {
  auto beside = move_aside(whole);
  if (!beside && !state_of(whole)) return outcome::success();  // Somebody has removed it.
  TRIAGE_TRYV(beside);
  restored.conflicts.push_back(std::move(beside).value());
  return outcome::success();
}

// What is kept. Whoever replaces it at this moment has it moved aside: what a name stands for
// cannot be looked at and removed at once.
Result<void> remove_kept(const std::string& whole, FileState kept, Restored& restored) {
  auto beside = move_aside(whole);
  if (!beside && !state_of(whole)) return outcome::success();
  TRIAGE_TRYV(beside);
  const auto moved = state_of(beside.value());
  if (moved) kept.changed = moved->changed;
  if (moved != kept) {
    restored.conflicts.push_back(std::move(beside).value());
  } else if (::unlink(beside.value().c_str()) != 0 && errno != ENOENT) {
    return system_error(printable(beside.value()) + " cannot be removed");
  }
  return outcome::success();
}

// Whether git has refused to write over something.
bool is_in_the_way(const Error& error) {
  constexpr std::array<std::string_view, 5> complaints{"already exists", "File exists",
                                                       "cannot create directory", "is a directory",
                                                       "Not a directory"};
  return std::any_of(complaints.begin(), complaints.end(), [&error](std::string_view one) {
    return error.detail.find(one) != std::string::npos;
  });
}

// So many files are missing at most while they are replaced.
constexpr std::size_t written_at_once = 256;
// How often what somebody puts in the way of the same file is moved aside.
constexpr int most_rounds = 5;

constexpr mode_t all_read = 0444;

// Whether there are files that not everybody may read.
bool has_private(const Notes& notes) {
  return std::any_of(notes.modes.begin(), notes.modes.end(),
                     [](const auto& one) { return (one.second & all_read) != all_read; });
}

std::string lines_of(const std::vector<std::string>& all) {
  std::string lines;
  for (const std::string& path : all) lines += path + '\0';
  return lines;
}

}  // namespace

Result<Restored> Workspace::restore(const FilesId& files, const std::string& origin) {
  // What is restored may be another run's, which is forgotten at this moment.
  TRIAGE_TRY(in_use, ShadowLock::use(git_.repository, git_.watch));
  static_cast<void>(in_use);
  if (!has(files)) {
    return Error{Errc::not_found, "the files \"" + printable(files.substr(0, 64)) +
                                      "\" are not in the workspace's repository " +
                                      git_.repository};
  }
  std::error_code problem;
  fs::create_directory(options_.folder, problem);  // The program may have removed it.
  TRIAGE_TRY(before, state_before(origin));
  TRIAGE_TRY(now, keep_now());
  TRIAGE_TRY(target, hold(files));
  TRIAGE_TRY(planned, plan(now, target));
  Restored restored;
  TRIAGE_TRYV(put_aside_others(before, now, planned, restored));
  TRIAGE_TRYV(write_whole(journal(), target + "\n"));
  TRIAGE_TRYV(repository("update-ref", "-d", reference("before", "")));
  TRIAGE_TRYV(remove(planned, restored));
  TRIAGE_TRYV(bring_back(planned, restored));
  return outcome::success(std::move(restored));
}

// What the attempts have left, as far as anybody knows. Keeping makes what others changed since the
// newest state: if this is cut off before their files are moved, the next restoration must still
// know the state before.
Result<std::optional<FilesId>> Workspace::state_before(const std::string& origin) {
  TRIAGE_TRY(before, named("before"));
  if (before) return outcome::success(std::move(before));
  if (!newest_.empty()) {
    before = newest_;
  } else if (!origin.empty()) {
    TRIAGE_TRY(origins, known_of(origin));
    if (!origins.newest.empty()) {
      before = origins.newest;
      TRIAGE_TRY(others, others_of(origins));
      others_ = std::move(others);
      TRIAGE_TRYV(git("read-tree", *before));  // It tracks what its origin did, ignored or not.
    }
  }
  if (before) {
    TRIAGE_TRYV(name("before", *before));
  }
  return outcome::success(std::move(before));
}

Result<Workspace::Plan> Workspace::plan(const FilesId& now, const FilesId& target) const {
  Plan plan{.target = target};
  TRIAGE_TRY(content, content_of(target));
  plan.notes = notes_from(content.message);
  plan.content = std::move(content);
  TRIAGE_TRY(not_kept, not_kept_of(plan.notes));
  plan.not_kept = std::move(not_kept);
  TRIAGE_TRY(listed, paths("diff-tree", "-r", "-z", "--name-status", "--no-renames", now, target));
  for (std::size_t i = 0; i + 1 < listed.size(); i += 2) {  // "STATUS", "PATH"
    const char status = listed[i].front();
    auto& list = status == 'D' ? plan.removed : status == 'A' ? plan.added : plan.replaced;
    list.push_back(std::move(listed[i + 1]));
  }
  TRIAGE_TRYV(note_kept(plan));
  return outcome::success(std::move(plan));
}

// What changes later differs from what is noted here, and git knows what has changed before.
Result<void> Workspace::note_kept(Plan& plan) const {
  for (const auto* list : {&plan.removed, &plan.replaced}) {
    for (const std::string& path : *list) {
      const auto found = state_of(options_.folder + "/" + path);
      if (found && !S_ISDIR(found->mode)) plan.kept.emplace(path, *found);
    }
  }
  TRIAGE_TRY(changed, paths("ls-files", "-z", "--modified"));
  for (const std::string& path : changed) plan.kept.erase(path);
  for (const std::string& path : not_kept_) plan.kept.erase(path);  // Only an earlier content is.
  return outcome::success();
}

// Whether it may have been there at the target, though it was not kept.
bool Workspace::stays(const Plan& plan, const std::string& path) {
  return !plan.not_kept || plan.not_kept->covers(path);
}

// before: empty if nobody knows what the attempts have left.
Result<void> Workspace::put_aside_others(const std::optional<FilesId>& before, const FilesId& now,
                                         const Plan& plan, Restored& restored) const {
  if (!options_.shared || (before == now && others_.empty())) return outcome::success();
  std::set<std::string> changed;
  // In the target there is what it was before.
  const auto then = plan.not_kept.value_or(NotKept()).others;
  for (const auto& change : others_) {
    const auto found = then.find(change.first);
    if (found == then.end() || *found != change) changed.insert(change.first);
  }
  if (before) {
    TRIAGE_TRY(listed, paths("diff-tree", "-r", "-z", "--name-only", "--no-renames", *before, now));
    changed.insert(listed.begin(), listed.end());
  }
  const auto put_aside = [&](const std::string& path) -> Result<void> {
    if (before && !changed.contains(path)) return outcome::success();
    const std::string whole = options_.folder + "/" + path;
    std::error_code problem;
    // That is another file, or it was deleted.
    if (is_behind_link(options_.folder, path)) return outcome::success();
    if (!fs::exists(fs::symlink_status(whole, problem))) return outcome::success();
    return move_aside_into(restored, whole);
  };
  for (const std::string& path : plan.removed) {
    if (stays(plan, path)) continue;
    TRIAGE_TRYV(put_aside(path));
  }
  for (const std::string& path : plan.replaced) {
    TRIAGE_TRYV(put_aside(path));
  }
  return outcome::success();
}

// Removes what came after the target, and lets go of what stays.
Result<void> Workspace::remove(const Plan& plan, Restored& restored) const {
  for (const std::string& path : plan.removed) {
    const auto found = state_of(options_.folder + "/" + path);
    if (stays(plan, path) || is_behind_link(options_.folder, path) || !found ||
        S_ISDIR(found->mode)) {
      continue;
    }
    TRIAGE_TRYV(take_away(plan, path, restored));
  }
  if (plan.removed.empty()) return outcome::success();
  TRIAGE_TRYV(
      run_git(git_, {"update-index", "-z", "--force-remove", "--stdin"}, lines_of(plan.removed)));
  return outcome::success();
}

// Nothing is at the path then: what is kept is removed, and all else moved aside.
Result<void> Workspace::take_away(const Plan& plan, const std::string& path,
                                  Restored& restored) const {
  const std::string there = options_.folder + "/" + path;
  const std::string whole = obstacle(options_.folder, path);
  if (whole.empty()) {
    remove_folders(options_.folder, path);
    return outcome::success();
  }
  const auto kept = plan.kept.find(path);
  if (whole == there && kept != plan.kept.end() && state_of(whole) == kept->second) {
    return remove_kept(whole, kept->second, restored);
  }
  return move_aside_into(restored, whole);
}

// The paths whose files have to be written.
Result<std::vector<std::string>> Workspace::written_by(const Plan& plan) const {
  std::vector<std::string> written = plan.added;
  written.insert(written.end(), plan.replaced.begin(), plan.replaced.end());
  if (!not_kept_.empty()) {
    TRIAGE_TRY(listed, paths("ls-tree", "-r", "-z", "--name-only", plan.target));
    const std::set<std::string> there(listed.begin(), listed.end());
    std::set_intersection(not_kept_.begin(), not_kept_.end(), there.begin(), there.end(),
                          std::back_inserter(written));
  }
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  return outcome::success(std::move(written));
}

// Git, which has the target's index, writes over nothing: what somebody has put in its way since it
// was cleared is moved aside, too.
Result<void> Workspace::write(const GitPlace& place, const Plan& plan,
                              std::vector<std::string> files, Restored& restored) const {
  for (int round = 1; !files.empty(); ++round) {
    for (const std::string& path : files) {
      TRIAGE_TRYV(take_away(plan, path, restored));
      if (!place.private_files) continue;
      // Folders have the usual permissions; those of files are set at the end.
      std::error_code problem;
      fs::create_directories(fs::path(options_.folder + "/" + path).parent_path(), problem);
    }
    const auto written = run_git(place, {"checkout-index", "-u", "-z", "--stdin"}, lines_of(files));
    if (written) return outcome::success();
    if (round == most_rounds || !is_in_the_way(written.error())) return written.error();
    TRIAGE_TRY(listed, paths("ls-files", "-z", "--modified"));
    const std::set<std::string> missing(listed.begin(), listed.end());
    std::erase_if(files, [&missing](const std::string& path) { return !missing.contains(path); });
  }
  return outcome::success();
}

// Idempotent, even after a partial restoration.
Result<void> Workspace::bring_back(const Plan& plan, Restored& restored) {
  GitPlace place = git_;
  place.private_files = has_private(plan.notes);
  TRIAGE_TRY(written, written_by(plan));
  TRIAGE_TRYV(git("read-tree", "--reset", plan.target));
  for (auto from = written.begin(); from != written.end();) {
    const auto rest = static_cast<std::size_t>(written.end() - from);
    const auto to = from + static_cast<std::ptrdiff_t>(std::min(written_at_once, rest));
    TRIAGE_TRYV(write(place, plan, {from, to}, restored));
    from = to;
  }
  const NotKept not_kept = plan.not_kept.value_or(NotKept());
  for (const std::string& path : plan.removed) {
    remove_empty_folders(options_.folder, path, not_kept.empty);
  }
  for (const std::string& path : not_kept.empty) {
    std::error_code problem;
    if (is_behind_link(options_.folder, path)) continue;
    fs::create_directories(options_.folder + "/" + path, problem);
  }
  TRIAGE_TRYV(set_modes(plan.notes));
  static_cast<void>(git("update-index", "-q", "--refresh"));
  TRIAGE_TRYV(name("newest", plan.target));
  newest_ = plan.target;
  newest_content_ = plan.content;
  others_ = not_kept.others;
  std::error_code ignored;
  fs::remove(journal(), ignored);
  return outcome::success();
}

Result<void> Workspace::set_modes(const Notes& notes) const {
  TRIAGE_TRY(listed, paths("ls-files", "-z", "--stage"));
  for (const std::string& line : listed) {  // "MODE ID STAGE\tPATH"
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || !line.starts_with("100")) continue;
    const std::string path = line.substr(tab + 1);
    const auto own = notes.modes.find(path);
    const mode_t wanted = own != notes.modes.end()     ? own->second
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
