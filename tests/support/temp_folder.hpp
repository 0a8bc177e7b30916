// SPDX-License-Identifier: MIT
#pragma once
// A folder for one test or campaign, removed with its contents at the end.

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace triage::test {

class TempFolder {
 public:
  TempFolder() {
    const std::string unique(6, 'X');  // Replaced by mkdtemp.
    std::string name =
        (std::filesystem::temp_directory_path() / ("triage-test-" + unique)).string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder can be made as " + name);
    }
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_{};
};

}  // namespace triage::test
