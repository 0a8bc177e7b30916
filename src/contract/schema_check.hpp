// SPDX-License-Identifier: MIT
#pragma once
// A compiled schema, ready to check values. Private.

#include "contract/schema_nodes.hpp"
#include "contract/schema_program.hpp"
#include "triage/json_schema.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Thread-safety: check() may be called from several threads at once.
class SchemaChecker {
 public:
  // Errors: see JsonSchema::compile. The nodes must outlive the checker.
  [[nodiscard]] static Result<SchemaChecker> make(const SchemaNodes& nodes);
  // The value has passed check_json. Errors: Errc::unsupported; see JsonSchema::check.
  [[nodiscard]] Result<std::optional<SchemaBreach>> check(const Json& value,
                                                          std::size_t& rules_left) const;

 private:
  SchemaChecker(const SchemaNodes& nodes, std::vector<CompiledSchema> schemas)
      : nodes_(&nodes), schemas_(std::move(schemas)) {}

  const SchemaNodes* nodes_;
  std::vector<CompiledSchema> schemas_;
};

}  // namespace triage::inline v0_1::detail
