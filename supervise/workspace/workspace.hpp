// SPDX-License-Identifier: MIT
#pragma once
// The files of a folder, kept with a run's checkpoints in a separate repository.

#include "supervise/workspace/git.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

// Identifies a state of all files: a commit of the shadow repository.
using FilesId = std::string;

struct WorkspaceOptions {
  std::string folder{};   // An existing folder; see check_workspace.
  std::string shadows{};  // Folder of shadow repositories; created if missing.
  std::string run{};      // Selects the index and references.
  // Excluded absolute paths: files (with their SQLite companions) and folders.
  std::vector<std::string> left_out{};
  std::uint64_t largest_file = 100U << 20U;  // Bytes; larger files are left out.
};

struct Restored {
  std::vector<std::string> conflicts{};  // Copies of others' changes.
};

// Checks that a folder can be a workspace, and returns its real path: it must exist and not be `/`,
// a home folder or above one, and git must be installed. Errors: Errc::invalid_argument,
// Errc::not_found, Errc::unsupported.
[[nodiscard]] Result<std::string> check_workspace(const std::string& folder);

// Where the files of a folder are kept. folder: as check_workspace returns it.
[[nodiscard]] std::string shadow_repository(const std::string& shadows, const std::string& folder);

// Kept by content are files and links with their permissions, deletions too, untracked ones too;
// not what .gitignore and .triageignore name, nor empty folders, sockets and other special files,
// repositories within it, and what is too large. Thread-safety: none; one object a run.
class Workspace {
 public:
  // Completes an interrupted restoration. Errors: Errc::unsupported without git; Errc::io.
  [[nodiscard]] static Result<Workspace> open(WorkspaceOptions options);
  // What open() kept beside the files of that restoration.
  [[nodiscard]] const Restored& completed() const noexcept { return completed_; }

  // Keeps the current files. The id is the same as before if nothing has changed.
  [[nodiscard]] Result<FilesId> keep();
  // Restores the files. First keeps what others changed since the newest keep() beside them, as
  // NAME.triage-conflict or NAME.triage-conflict-2. Errors: Errc::not_found for an unknown id;
  // Errc::io.
  [[nodiscard]] Result<Restored> restore(const FilesId& files);

  // Names a state, such as "start". Errors: Errc::io.
  [[nodiscard]] Result<void> name(const std::string& name, const FilesId& files);
  // Empty if the name is unknown. run: whose name; empty: this run's.
  [[nodiscard]] std::optional<FilesId> named(const std::string& name,
                                             const std::string& run = {}) const;

  // Files that keep() left out because they are too large, or because they cannot be read.
  [[nodiscard]] const std::set<std::string>& too_large() const noexcept { return too_large_; }
  [[nodiscard]] const std::set<std::string>& unreadable() const noexcept { return unreadable_; }

 private:
  Workspace() = default;
  Result<void> prepare();
  [[nodiscard]] std::string modes_of(const std::vector<std::string>& all) const;
  Result<void> set_modes(const FilesId& files) const;
  [[nodiscard]] Result<std::vector<std::string>> paths_of(
      const std::vector<std::string>& arguments) const;
  template <class... Words>
  [[nodiscard]] Result<std::string> git(const Words&... words) const {
    return run_git(git_, {std::string(words)...});
  }
  template <class... Words>
  [[nodiscard]] Result<std::vector<std::string>> paths(const Words&... words) const {
    return paths_of({std::string(words)...});
  }
  struct Changes {
    std::vector<std::string> all{};  // Kept before or now; some may be gone.
    std::string paths{};             // That differ from the index, separated by null bytes.
    std::string hidden{};  // Gone, because a link has taken a folder's place: git refuses those.
  };
  Result<Changes> changes();
  Result<void> put_aside(const FilesId& before, const FilesId& now, const FilesId& target,
                         Restored& restored) const;
  Result<void> put_aside_not_kept(const FilesId& target, Restored& restored) const;
  Result<void> bring_back(const FilesId& files);
  [[nodiscard]] std::string journal() const { return git_.index + ".restoring"; }
  [[nodiscard]] bool left_out(const std::string& path) const;

  WorkspaceOptions options_{};
  GitPlace git_{};
  FilesId newest_{};
  std::string newest_tree_{};
  std::set<std::string> too_large_{};
  std::set<std::string> unreadable_{};
  std::set<std::string> not_kept_{};  // Of the newest keep(): either.
  Restored completed_{};
};

}  // namespace triage::inline v0_1::supervise
