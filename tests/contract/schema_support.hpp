// SPDX-License-Identifier: MIT
#pragma once
// Helpers for the tests of JSON Schemas: what a value breaks, and what is wrong with a schema.

#include "support/catch.hpp"
#include "triage/json_schema.hpp"

#include <optional>
#include <string>
#include <utility>

namespace triage::test {

inline std::optional<SchemaBreach> breach_of(const JsonSchema& schema, const Json& value) {
  const auto checked = schema.check(value);
  INFO((checked ? std::string() : checked.error().detail));
  REQUIRE(checked);
  return checked.value();
}

inline bool fits(const JsonSchema& schema, const Json& value) { return !breach_of(schema, value); }

inline std::string problem_of(Json schema) {
  const auto compiled = JsonSchema::compile(std::move(schema));
  REQUIRE_FALSE(compiled);
  CHECK(compiled.error().code == Errc::invalid_argument);
  return compiled.error().detail;
}

}  // namespace triage::test
