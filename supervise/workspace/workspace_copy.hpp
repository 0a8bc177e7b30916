// SPDX-License-Identifier: MIT
#pragma once
// A copy of a run's workspace, in which the run is tried out again without touching the folder.

#include "supervise/process/private_folder.hpp"
#include "supervise/spec/spec.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// The folder is copied as it is, what is ignored too; a re-run's Workspace then brings the files
// back as they were. Left out are files above 100 MB, sockets and other special files, and a file
// called .git, which leads to a repository elsewhere. Removed with this object.
class WorkspaceCopy {
 public:
  // shadows: where the run's files are kept; nothing there is changed. Errors: Errc::not_found if
  // none are; Errc::unsupported if the program would not work in the copy: it runs elsewhere, or is
  // given the folder's path; those of git.
  [[nodiscard]] static Result<WorkspaceCopy> make(const RunSpec& spec, const std::string& shadows);

  // Copies the folder anew. Errors: Errc::io.
  [[nodiscard]] Result<void> renew() const;
  // The same run in the copy.
  [[nodiscard]] RunSpec moved(RunSpec spec) const;
  // Where the copy's files are kept: what the run has kept can be found there.
  [[nodiscard]] std::string shadows() const { return place_.path() + "/shadows"; }

 private:
  WorkspaceCopy() = default;
  [[nodiscard]] std::string folder() const { return place_.path() + "/files"; }

  PrivateFolder place_{};
  std::string original_{};
};

}  // namespace triage::inline v0_1::supervise
