// SPDX-License-Identifier: MIT
#include "triage/exit_status.hpp"

#include <string>

namespace triage::inline v0_1 {
namespace {

class ExitStatusCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "exit_status"; }
  [[nodiscard]] std::string message(int status) const override {
    return "exited with status " + std::to_string(status);
  }
};

}  // namespace

const std::error_category& exit_status_category() noexcept {
  static const ExitStatusCategory category;
  return category;
}

}  // namespace triage::inline v0_1
