// SPDX-License-Identifier: MIT
#pragma once
// A folder for the socket and the files of one supervisor.

#include "triage/result.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// For its owner alone (0700); removed with this object. What a supervisor that was killed has left
// there is removed by the next one.
class PrivateFolder {
 public:
  // base: where; empty: in $XDG_RUNTIME_DIR, $TMPDIR or /tmp: the first of them that can be used
  // and has a path short enough for a socket. Errors: Errc::io.
  [[nodiscard]] static Result<PrivateFolder> make(const std::string& base = {});
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
  // False also if somebody has removed it: folders for temporary files are tidied up.
  [[nodiscard]] bool exists() const;

 private:
  std::string path_{};
};

}  // namespace triage::inline v0_1::supervise
