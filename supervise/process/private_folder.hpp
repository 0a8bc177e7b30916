// SPDX-License-Identifier: MIT
#pragma once
// A folder for the socket and the files of one supervisor.

#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

// For its owner alone (0700); removed with this object. What a supervisor that was killed has left
// there is removed by the next one.
class PrivateFolder {
 public:
  // base: where; empty: in the first of bases() that can be used. Errors: Errc::io.
  [[nodiscard]] static Result<PrivateFolder> make(const std::string& base = {});
  // $TMPDIR, /tmp and others, best first; only those whose paths leave room for a socket.
  [[nodiscard]] static std::vector<std::string> bases();
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
