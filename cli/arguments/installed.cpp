// SPDX-License-Identifier: MIT
#include "installed.hpp"

#include <filesystem>
#include <system_error>

namespace triage::inline v0_1::cli {

std::string installed(std::string_view name) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path().parent_path() / "share/triage" / name).string();
}

}  // namespace triage::inline v0_1::cli
