// SPDX-License-Identifier: MIT
#pragma once
// A schema compiled to rules: what each subschema requires of a value, in checking order. Private.

#include "contract/schema_nodes.hpp"
#include "contract/schema_pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// What a rule does; schema_check.cpp has one function for each.
enum class RuleKind : std::uint8_t {
  type,
  one_of_values,  // enum, const
  maximum,
  exclusive_maximum,
  minimum,
  exclusive_minimum,
  multiple_of,
  most,   // maxItems, maxProperties, maxLength
  least,  // minItems, minProperties, minLength
  pattern,
  required,
  dependent_names,
  property_names,
  members,  // properties, patternProperties, additionalProperties
  items,    // items, prefixItems, additionalItems
  contains,
  unique_items,
  dependent_schemas,
  all_of,  // allOf, $ref
  any_of,
  one_of,
  none_of,
  condition,  // if, then, else
  dynamic_reference,
  unevaluated_items,
  unevaluated_members,
};

struct SchemaRule {
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);  // No such subschema.

  RuleKind kind = RuleKind::type;
  std::string_view keyword{};          // Of static lifetime.
  const Json* value = nullptr;         // The keyword's, in the schema.
  unsigned types = 0;                  // type; or the type whose size is checked.
  std::size_t least = 0;               // A size; minContains.
  std::size_t most = nothing;          // A size; maxContains.
  std::vector<const Json*> values{};   // one_of_values: ascending by order_of().
  std::vector<std::string> names{};    // required; dynamic_reference: the anchor.
  std::vector<std::size_t> schemas{};  // Subschemas: all_of …; items: of the first elements.
  std::size_t others = nothing;        // For all other elements or members; then.
  std::size_t otherwise = nothing;     // else.
  std::map<std::string, std::size_t, std::less<>> members{};  // properties, dependentSchemas.
  std::map<std::string, std::vector<std::string>> dependent{};
  std::vector<std::pair<std::shared_ptr<const re2::RE2>, std::size_t>> patterned{};
};

struct CompiledSchema {
  std::optional<bool> constant{};  // The schema true or false.
  std::vector<SchemaRule> rules{};
  bool collects = false;  // Has unevaluatedItems or unevaluatedProperties.
};

// One entry per node, empty for nodes that are only references. The nodes must outlive it. Errors:
// Errc::invalid_argument for a pattern that RE2 refuses, naming its place.
[[nodiscard]] Result<std::vector<CompiledSchema>> compile_schema(const SchemaNodes& nodes);

}  // namespace triage::inline v0_1::detail
