// SPDX-License-Identifier: MIT
#pragma once
// A schema that is ready to check values. Private; the one file behind it sees valijson.

#include "classifier/schema_nodes.hpp"
#include "triage/json_schema.hpp"

#include <memory>

namespace triage::inline v0_1::detail {

// Thread-safety: check() may be called from several threads at once.
class SchemaChecker {
 public:
  // Errors: see JsonSchema::compile. Both must outlive the checker.
  [[nodiscard]] static Result<std::unique_ptr<const SchemaChecker>> make(const SchemaNodes& nodes);
  virtual ~SchemaChecker() = default;
  // The value has been through check_json. Errors: Errc::unsupported; see JsonSchema::check.
  [[nodiscard]] virtual Result<std::optional<SchemaBreach>> check(
      const Json& value, std::size_t& rules_left) const = 0;
};

}  // namespace triage::inline v0_1::detail
