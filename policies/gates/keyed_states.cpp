// SPDX-License-Identifier: MIT
#include "keyed_states.hpp"

namespace triage::inline v0_1::detail {

std::string gate_key(const GateRequest& request) {
  std::string key = std::to_string(request.tool.size()) + ":";
  key += request.tool;
  key += '@';
  key += request.endpoint;
  return key;
}

std::string gate_subject(const GateRequest& request) {
  std::string text = "\"" + printable(request.tool) + "\"";
  if (!request.endpoint.empty()) text += " at \"" + printable(request.endpoint) + "\"";
  return text;
}

void OptionMistakes::refuse(std::string_view option, const std::string& value,
                            std::string_view allowed) {
  lines_ += lines_.empty() ? "" : "\n";
  lines_ +=
      gate_ + ": " + std::string(option) + " is " + value + "; allowed is " + std::string(allowed);
}

Result<void> OptionMistakes::result() const {
  if (lines_.empty()) return outcome::success();
  return Error{Errc::invalid_argument, lines_};
}

}  // namespace triage::inline v0_1::detail
