// SPDX-License-Identifier: MIT
#pragma once
// Values that are nested deeply, and schemas for which that is much work.

#include "triage/json_schema.hpp"

namespace triage::test {

// [[…[]…]]: so many arrays.
inline Json nested_arrays(int levels) {
  Json value = Json::array();
  for (int i = 1; i < levels; ++i) value = Json::array({std::move(value)});
  return value;
}

// Takes three times the work for every level of arrays.
inline JsonSchema schema_that_multiplies() {
  return Json::parse(R"({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}})");
}

}  // namespace triage::test
