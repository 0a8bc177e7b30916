// SPDX-License-Identifier: MIT
#pragma once
// The files of a folder, kept with a run's checkpoints in a separate repository.

#include "supervise/workspace/git.hpp"
#include "supervise/workspace/notes.hpp"
#include "supervise/workspace/paths.hpp"
#include "supervise/workspace/shadow.hpp"

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
  // The run is new: what is there was left by another one of its name, and is not its own.
  bool begins = false;
  // Where the run is stored, which forget_files() must know. Empty: its files are never forgotten.
  std::string store{};
  // Excluded absolute paths: files (with their SQLite companions) and folders.
  std::vector<std::string> left_out{};
  std::uint64_t largest_file = 100U << 20U;  // Bytes; larger files are left out.
  GitWatch watch{};                          // Of each call of git.
  // False: nobody but the run changes the folder, so that there are no conflicts.
  bool shared = true;
};

struct Restored {
  std::vector<std::string> conflicts{};  // Where what others changed has been moved.
};

// Checks that a folder can be a workspace, and returns its real path: it must exist and not be `/`,
// a home folder or above one, and git must be installed. Errors: Errc::invalid_argument,
// Errc::not_found, Errc::unsupported.
[[nodiscard]] Result<std::string> check_workspace(const std::string& folder);

// Where the files of a folder are kept. folder: as check_workspace returns it.
[[nodiscard]] std::string shadow_repository(const std::string& shadows, const std::string& folder);

// Kept by content are files and links with their permissions, deletions too, untracked ones too,
// and empty folders; not what .gitignore and .triageignore name, nor sockets and other special
// files, repositories within it, what is too large, and conflicts. Thread-safety: none; one object
// a run.
class Workspace {
 public:
  // Completes an interrupted restoration. Errors: Errc::unsupported without git; Errc::io.
  [[nodiscard]] static Result<Workspace> open(WorkspaceOptions options);
  // What open() kept beside the files of that restoration.
  [[nodiscard]] const Restored& completed() const noexcept { return completed_; }

  // Keeps the current files. The id is the same as before if nothing has changed, also after a
  // restoration of what this run has kept. What has changed at rest counts as others' doing.
  [[nodiscard]] Result<FilesId> keep();
  // Restores the files, in a folder of its own if that is gone. Nothing is removed or overwritten
  // that may not be among the kept files: what was there already when `files` were kept, without
  // being kept, stays as it is now; what others changed since the newest keep(), or at rest since
  // `files` were kept, or change meanwhile, and what is in the way of a file that comes back, is
  // moved beside it, to NAME.triage-conflict or NAME.triage-conflict-2. origin: the run that this
  // one is a branch of, whose newest keep() counts if this one has kept nothing yet. Errors:
  // Errc::not_found for an unknown id; Errc::io.
  [[nodiscard]] Result<Restored> restore(const FilesId& files, const std::string& origin = {});

  // At rest, no program of the run can change the files. Outlives this object; false for a run that
  // begins. Errors: Errc::io.
  [[nodiscard]] Result<void> set_at_rest(bool at_rest);

  // Names a state of this run, such as "start". Errors: Errc::io.
  [[nodiscard]] Result<void> name(const std::string& name, const FilesId& files);
  // Errors: Errc::io.
  [[nodiscard]] Result<void> remove_name(const std::string& name);
  // The run that this one is a branch of finds these files when it, or another branch of it,
  // begins: what a branch leaves is no change by others. Errors: Errc::io.
  [[nodiscard]] Result<void> leave_to(const std::string& origin, const FilesId& files) const;
  // Empty if the name is unknown. Errors: Errc::io.
  [[nodiscard]] Result<std::optional<FilesId>> named(const std::string& name,
                                                     const std::string& run = {}) const;
  // Whether the files are among the kept ones.
  [[nodiscard]] bool has(const FilesId& files) const;

  // Files that keep() left out because they are too large, or because they cannot be read.
  [[nodiscard]] const std::set<std::string>& too_large() const noexcept { return too_large_; }
  [[nodiscard]] const std::set<std::string>& unreadable() const noexcept { return unreadable_; }

 private:
  Workspace() = default;
  Result<void> prepare();
  [[nodiscard]] std::map<std::string, mode_t> modes_of(const std::vector<std::string>& all) const;
  [[nodiscard]] Result<NotKept> find_not_kept() const;
  [[nodiscard]] std::string reference(const std::string& name, const std::string& run) const;
  [[nodiscard]] Result<std::vector<std::string>> paths_of(
      const std::vector<std::string>& arguments) const;
  template <class... Words>
  [[nodiscard]] Result<std::string> git(const Words&... words) const {
    return run_git(git_, {std::string(words)...});
  }
  // Neither needs the folder nor looks at it.
  [[nodiscard]] GitPlace without_tree() const {
    return {.repository = git_.repository, .index = git_.index, .watch = git_.watch};
  }
  template <class... Words>
  [[nodiscard]] Result<std::string> repository(const Words&... words) const {
    return run_git(without_tree(), {std::string(words)...});
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
  Result<std::string> take_in(const Changes& changes);
  Result<void> note_others(const std::string& tree, NotKept& not_kept) const;
  Result<FilesId> keep_now();
  // In chain.cpp.
  struct Content {  // Of a state.
    std::string tree{};
    std::string message{};  // Of its commit: its notes.

    bool operator==(const Content&) const = default;
  };
  struct Known {  // Of a run; empty names if there are none.
    FilesId newest{};
    bool newest_is_tree = false;  // As leave_to() writes it.
    FilesId kept{};
    std::string left{};  // With such a tree: a commit whose message is a NotKept.
  };
  [[nodiscard]] Result<Known> known_of(const std::string& run) const;
  [[nodiscard]] Result<std::map<std::string, std::string>> others_of(const Known& known) const;
  Result<void> find_kept();
  [[nodiscard]] Result<void> note_store(bool known) const;
  Result<void> leave_others();
  [[nodiscard]] Result<Content> content_of(const FilesId& files) const;
  [[nodiscard]] Result<std::optional<NotKept>> not_kept_of(const Notes& notes) const;
  [[nodiscard]] Result<std::string> commit_not_kept(const std::string& bytes,
                                                    const std::string& tree) const;
  [[nodiscard]] bool is_kept(const FilesId& files) const;
  Result<FilesId> add(const Content& content, const std::string& not_kept, bool as_newest);
  Result<FilesId> add_behind_kept(const Content& content, const std::string& not_kept,
                                  bool as_newest);
  Result<FilesId> hold(const FilesId& files);
  // In restoration.cpp.
  struct Plan {
    FilesId target{};
    Content content{};                    // Of the target.
    Notes notes{};                        // Likewise.
    std::optional<NotKept> not_kept{};    // At the target; empty if that is unknown.
    std::vector<std::string> removed{};   // Are kept now, but not in the target.
    std::vector<std::string> added{};     // The other way round.
    std::vector<std::string> replaced{};  // Are in both, with other contents.
    // Of what is removed or replaced, if what lies there is kept.
    std::map<std::string, FileState> kept{};
  };
  [[nodiscard]] Result<std::optional<FilesId>> state_before(const std::string& origin);
  [[nodiscard]] Result<Plan> plan(const FilesId& now, const FilesId& target) const;
  [[nodiscard]] Result<void> note_kept(Plan& plan) const;
  [[nodiscard]] static bool stays(const Plan& plan, const std::string& path);
  Result<void> put_aside_others(const std::optional<FilesId>& before, const FilesId& now,
                                const Plan& plan, Restored& restored) const;
  Result<void> remove(const Plan& plan, Restored& restored) const;
  Result<void> take_away(const Plan& plan, const std::string& path, Restored& restored) const;
  [[nodiscard]] Result<std::vector<std::string>> written_by(const Plan& plan) const;
  Result<void> write(const GitPlace& place, const Plan& plan, std::vector<std::string> files,
                     Restored& restored) const;
  Result<void> bring_back(const Plan& plan, Restored& restored);
  Result<void> set_modes(const Notes& notes) const;
  [[nodiscard]] std::string journal() const { return git_.index + ".restoring"; }
  [[nodiscard]] std::string rest() const {
    return rest_file(git_.repository, shadow_name(options_.run));
  }
  [[nodiscard]] bool left_out(const std::string& path) const;

  WorkspaceOptions options_{};
  GitPlace git_{};
  FilesId newest_{};
  std::optional<Content> newest_content_{};  // Empty if it is not this run's, or not known.
  // The newest commit that this run has made: from it, all that it has kept can be reached.
  FilesId kept_{};
  std::string not_kept_within_{};  // A commit that says what was not kept, and can be reached, too.
  std::string noted_{};            // The NotKept of the newest state, and its commit.
  std::string noted_in_{};
  std::map<std::string, std::string> others_{};  // Likewise: NotKept::others.
  bool at_rest_ = false;
  // All that the index names can be reached: the newest keep() did not fail.
  bool sure_ = false;
  std::set<std::string> too_large_{};
  std::set<std::string> unreadable_{};
  // Of the newest keep(): either, and what is no file or link. Earlier ones may be in the index.
  std::set<std::string> not_kept_{};
  Restored completed_{};
};

}  // namespace triage::inline v0_1::supervise
