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

Error wrong_option(std::string_view gate, std::string_view option, const std::string& value,
                   std::string_view allowed) {
  return {Errc::invalid_argument, std::string(gate) + ": " + std::string(option) + " is " + value +
                                      "; allowed is " + std::string(allowed)};
}

}  // namespace triage::inline v0_1::detail
