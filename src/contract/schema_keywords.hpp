// SPDX-License-Identifier: MIT
#pragma once
// The keywords of JSON Schema that are checked, and the shapes that their values must have.
// Private.

#include "contract/schema_nodes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

enum class KeywordShape : std::uint8_t {
  any,
  boolean,
  bound,         // A number; a boolean in draft 4.
  count,         // An integer, 0 or more.
  dependencies,  // An object of schemas and lists of names.
  name_lists,    // An object of lists of names.
  names,         // A list of strings.
  number,
  pattern,
  pattern_map,  // An object that maps patterns to schemas.
  positive,     // A number above 0.
  schema,
  schema_list,  // Not empty.
  schema_map,
  schema_or_list,
  types,  // A type name or a list of them.
  values,
};

struct SchemaKeyword {
  std::string_view name{};
  KeywordShape shape = KeywordShape::any;
  Draft since = Draft::draft4;
  bool same_value = false;  // Its subschemas apply to the same value, not to a part of it.
};

// Null if the draft does not know the keyword, which is then ignored.
[[nodiscard]] const SchemaKeyword* find_keyword(std::string_view name, Draft draft) noexcept;

// Errors: Errc::invalid_argument, naming the path.
[[nodiscard]] Result<void> check_shape(const SchemaKeyword& keyword, Draft draft,
                                       const std::string& path, const Json& value);

// The error for a place in a schema: "the schema is wrong at /type: …".
[[nodiscard]] Error schema_error(std::string_view path, std::string_view why);

// One bit per type.
enum TypeBit : unsigned {
  type_array = 1,
  type_boolean = 2,
  type_integer = 4,
  type_null = 8,
  type_number = 16,
  type_object = 32,
  type_string = 64,
};
// 0 if there is no such type.
[[nodiscard]] unsigned type_bit(std::string_view name) noexcept;

}  // namespace triage::inline v0_1::detail
