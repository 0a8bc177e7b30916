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
  count,         // A whole number, 0 or more.
  dependencies,  // An object of schemas and lists of names.
  name_lists,    // An object of lists of names.
  names,         // A list of texts.
  number,
  pattern,
  pattern_map,  // An object: patterns, and schemas below them.
  positive,     // A number above 0.
  schema,
  schema_list,  // Not empty.
  schema_map,
  schema_or_list,
  types,  // The name of a type, or a list of them.
  values,
};

struct SchemaKeyword {
  std::string_view name{};
  KeywordShape shape = KeywordShape::any;
  Draft since = Draft::draft4;
  bool same_value = false;  // Its subschemas look at the same value, not at a part of it.
};

// Null if the draft knows no such keyword: then it is ignored.
[[nodiscard]] const SchemaKeyword* find_keyword(std::string_view name, Draft draft) noexcept;

// Errors: Errc::invalid_argument, naming the path.
[[nodiscard]] Result<void> check_shape(const SchemaKeyword& keyword, Draft draft,
                                       const std::string& path, const Json& value);

// What is wrong at a place of a schema: "the schema is wrong at /type: …".
[[nodiscard]] Error schema_error(std::string_view path, std::string_view why);

// One bit a type.
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
