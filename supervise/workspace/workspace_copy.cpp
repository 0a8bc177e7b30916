// SPDX-License-Identifier: MIT
#include "supervise/workspace/workspace_copy.hpp"

#include "supervise/workspace/git.hpp"
#include "supervise/workspace/shadow.hpp"
#include "supervise/workspace/workspace.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

// In the copy everything has another path: a program that was told one would leave it.
Result<void> check_movable(const RunSpec& spec) {
  const std::string of = "workspace \"" + printable(spec.workspace) + "\"";
  if (!is_within(spec.folder, spec.workspace)) {
    return Error{Errc::unsupported, "the program runs in \"" + printable(spec.folder) +
                                        "\", outside of its " + of +
                                        ": re-runs would change the files there"};
  }
  for (const std::string& word : spec.command) {
    if (word.find(spec.workspace) == std::string::npos) continue;
    return Error{Errc::unsupported, "\"" + printable(word) + "\" of the command names the " + of +
                                        ": re-runs would change the files there; begin such runs "
                                        "with paths relative to it"};
  }
  return outcome::success();
}

// A repository with its own index and references, which finds what the other one has.
Result<void> link_repository(const std::string& from, const std::string& to) {
  const GitPlace place{.repository = to, .index = to + "/index"};
  TRIAGE_TRYV(run_git(place, {"init", "--quiet", "--bare", to}));
  std::error_code problem;
  fs::create_directories(to + "/objects/info", problem);
  const auto in_use = ShadowLock::use(from);  // Tidying up moves references into one file.
  std::ofstream(to + "/objects/info/alternates") << from << "/objects\n";
  fs::copy(from + "/refs", to + "/refs",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing, problem);
  if (problem) return Error{Errc::io, to + "/refs cannot be written: " + problem.message()};
  fs::copy_file(from + "/packed-refs", to + "/packed-refs", problem);  // There need not be one.
  return outcome::success();
}

void copy_entry(const fs::directory_entry& entry, const fs::path& to, std::error_code& problem) {
  std::error_code ignored;
  if (entry.is_symlink(ignored)) return fs::copy_symlink(entry.path(), to, problem);
  if (entry.is_directory(ignored)) {
    fs::create_directory(to, problem);
    return;
  }
  const bool kept = entry.is_regular_file(ignored) && to.filename() != ".git" &&
                    entry.file_size(ignored) <= WorkspaceOptions{}.largest_file;
  if (!kept || !fs::copy_file(entry.path(), to, problem)) return;
  fs::last_write_time(to, entry.last_write_time(ignored), ignored);
}

}  // namespace

Result<WorkspaceCopy> WorkspaceCopy::make(const RunSpec& spec, const std::string& shadows) {
  TRIAGE_TRYV(check_movable(spec));
  TRIAGE_TRY(original, check_workspace(spec.workspace));
  const std::string kept = shadow_repository(shadows, original);
  std::error_code problem;
  if (!fs::exists(kept + "/HEAD", problem)) {
    return Error{Errc::not_found, "no files of the workspace \"" + printable(original) +
                                      "\" are kept here, in " + printable(kept)};
  }
  WorkspaceCopy made;
  // Not where the sockets are: that folder is often in memory.
  TRIAGE_TRY(place, PrivateFolder::make(fs::temp_directory_path(problem)));
  made.place_ = std::move(place);
  made.original_ = std::move(original);
  fs::create_directory(made.shadows(), problem);
  TRIAGE_TRYV(link_repository(kept, shadow_repository(made.shadows(), made.folder())));
  return outcome::success(std::move(made));
}

Result<void> WorkspaceCopy::renew() const {
  std::error_code problem;
  fs::remove_all(folder(), problem);
  if (!problem) fs::create_directory(folder(), problem);
  fs::recursive_directory_iterator entry(original_, fs::directory_options::skip_permission_denied,
                                         problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    copy_entry(*entry, folder() / entry->path().lexically_relative(original_), problem);
    if (problem == std::errc::no_such_file_or_directory) problem.clear();  // Gone since then.
    if (problem) break;
  }
  if (!problem) return outcome::success();
  return Error{Errc::io,
               "the workspace cannot be copied into " + folder() + ": " + problem.message()};
}

RunSpec WorkspaceCopy::moved(RunSpec spec) const {
  spec.folder = folder() + spec.folder.substr(spec.workspace.size());
  spec.workspace = folder();
  return spec;
}

}  // namespace triage::inline v0_1::supervise
