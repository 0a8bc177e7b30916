// SPDX-License-Identifier: MIT
#pragma once
// Deeply nested values, and schemas that are expensive to check against them.

#include "triage/json_schema.hpp"

namespace triage::test {

// [[…[]…]] with this many arrays.
inline Json nested_arrays(int levels) {
  Json value = Json::array();
  for (int i = 1; i < levels; ++i) value = Json::array({std::move(value)});
  return value;
}

// Takes three times the work for each level of arrays.
inline JsonSchema schema_that_multiplies() {
  return Json::parse(R"({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}})");
}

}  // namespace triage::test
