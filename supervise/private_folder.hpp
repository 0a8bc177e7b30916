// SPDX-License-Identifier: MIT
#pragma once
// A folder for the socket and the files of one supervisor.

#include "triage/result.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// Accessible only to its owner (0700), in $XDG_RUNTIME_DIR or the folder for temporary files;
// removed with this object. Also removes what killed supervisors have left there.
class PrivateFolder {
 public:
  // Errors: Errc::io.
  [[nodiscard]] static Result<PrivateFolder> make();
  PrivateFolder() = default;
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  PrivateFolder& operator=(PrivateFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~PrivateFolder();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }  // Empty: none.

 private:
  std::string path_{};
};

}  // namespace triage::inline v0_1::supervise
