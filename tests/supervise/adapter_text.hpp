// SPDX-License-Identifier: MIT
#pragma once
// Adapters out of JSON that a test writes.

#include "supervise/adapters/find_adapter.hpp"
#include "triage/json.hpp"

#include <string>
#include <string_view>

namespace triage::test {

inline Result<Json> read_json(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

// The text must be an adapter.
inline supervise::Adapter adapter(const std::string& text) {
  return supervise::adapter_from_text(text, &read_json).value();
}

}  // namespace triage::test
