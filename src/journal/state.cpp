// SPDX-License-Identifier: MIT
#include "triage/state.hpp"

namespace triage::inline v0_1 {

const Json* State::find(std::string_view key) const& {
  if (!values_) return nullptr;
  const auto found = values_->find(key);
  return found == values_->end() ? nullptr : found->second.get();
}

Json State::json() const {
  Json object = Json::object();
  if (values_) {
    for (const auto& [key, value] : *values_) object[key] = *value;
  }
  return object;
}

}  // namespace triage::inline v0_1
