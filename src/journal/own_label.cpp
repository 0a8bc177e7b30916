// SPDX-License-Identifier: MIT
#include "triage/detail/own_label.hpp"

namespace triage::inline v0_1::detail {

CheckpointInfo as_listed(CheckpointInfo stored) {
  if (!is_reserved(stored.label)) return stored;
  stored.trigger = stored.label.substr(own_prefix.size());
  stored.label.clear();
  return stored;
}

std::string stored_label(const CheckpointInfo& listed) {
  return listed.trigger.empty() ? listed.label : std::string(own_prefix) + listed.trigger;
}

}  // namespace triage::inline v0_1::detail
