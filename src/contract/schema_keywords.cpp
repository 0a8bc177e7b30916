// SPDX-License-Identifier: MIT
#include "contract/schema_keywords.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using enum KeywordShape;

constexpr double largest_count = 9007199254740992.0;  // 2^53: exact as a double.

// prefixItems, dependent… and $defs were introduced after draft 7, but tools write them in older
// schemas, so they are accepted there; with prefixItems, `items` means what additionalItems does.
// Keywords that later drafts dropped are still understood.
constexpr SchemaKeyword keywords[] = {
    {"additionalItems", schema},
    {"additionalProperties", schema},
    {"allOf", schema_list, Draft::draft4, true},
    {"anyOf", schema_list, Draft::draft4, true},
    {"const", any, Draft::draft6},
    {"contains", schema, Draft::draft6},
    {"definitions", schema_map},
    {"$defs", schema_map, Draft::draft7},
    {"dependencies", dependencies, Draft::draft4, true},
    {"dependentRequired", name_lists, Draft::draft7},
    {"dependentSchemas", schema_map, Draft::draft7, true},
    {"else", schema, Draft::draft7, true},
    {"enum", values},
    {"exclusiveMaximum", bound},
    {"exclusiveMinimum", bound},
    {"if", schema, Draft::draft7, true},
    {"items", schema_or_list},
    {"maximum", number},
    {"maxContains", count, Draft::draft2020},
    {"maxItems", count},
    {"maxLength", count},
    {"maxProperties", count},
    {"minimum", number},
    {"minContains", count, Draft::draft2020},
    {"minItems", count},
    {"minLength", count},
    {"minProperties", count},
    {"multipleOf", positive},
    {"not", schema, Draft::draft4, true},
    {"oneOf", schema_list, Draft::draft4, true},
    {"pattern", pattern},
    {"patternProperties", pattern_map},
    {"prefixItems", schema_list, Draft::draft7},
    {"properties", schema_map},
    {"propertyNames", schema, Draft::draft6},
    {"required", names},
    {"then", schema, Draft::draft7, true},
    {"type", types},
    {"unevaluatedItems", schema, Draft::draft2020},
    {"unevaluatedProperties", schema, Draft::draft2020},
    {"uniqueItems", boolean},
};

bool are_names(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& name) { return name.is_string(); });
}

bool is_count(const Json& value) {
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return number >= 0 && number <= largest_count && std::floor(number) == number;
}

bool are_types(const Json& value) {
  const auto is_type = [](const Json& name) {
    return name.is_string() && type_bit(name.get_ref<const std::string&>()) != 0;
  };
  if (!value.is_array()) return is_type(value);
  for (const Json& name : value) {
    if (!is_type(name)) return false;
  }
  return !value.empty();
}

// What the shape allows, if the value does not have it; else null.
const char* allowed_instead(const SchemaKeyword& keyword, Draft draft, const Json& value) {
  switch (keyword.shape) {
    case any:
    case schema:
    case schema_or_list: return nullptr;
    case schema_list:
      return value.is_array() && !value.empty() ? nullptr : "a list that is not empty";
    case values: return value.is_array() ? nullptr : "a list";
    case boolean: return value.is_boolean() ? nullptr : "true or false";
    case bound:
      if (draft == Draft::draft4) return value.is_boolean() ? nullptr : "true or false";
      return value.is_number() ? nullptr : "a number";
    case count: return is_count(value) ? nullptr : "a whole number, 0 or more";
    case names: return are_names(value) ? nullptr : "a list of texts";
    case number: return value.is_number() ? nullptr : "a number";
    case pattern: return value.is_string() ? nullptr : "a text";
    case positive:
      return value.is_number() && value.get<double>() > 0 ? nullptr : "a number above 0";
    case types: return are_types(value) ? nullptr : "the name of a JSON type, or a list of them";
    case dependencies:
    case name_lists:
    case pattern_map:
    case schema_map: return value.is_object() ? nullptr : "an object";
  }
  return nullptr;
}

}  // namespace

const SchemaKeyword* find_keyword(std::string_view name, Draft draft) noexcept {
  for (const SchemaKeyword& keyword : keywords) {
    if (keyword.name == name && keyword.since <= draft) return &keyword;
  }
  return nullptr;
}

Result<void> check_shape(const SchemaKeyword& keyword, Draft draft, const std::string& path,
                         const Json& value) {
  if (const char* allowed = allowed_instead(keyword, draft, value)) {
    return schema_error(path, "is " + show(value).substr(0, 100) + "; allowed is " + allowed);
  }
  if (!value.is_object()) return outcome::success();
  const bool maps_names = keyword.shape == schema_map || keyword.shape == dependencies ||
                          keyword.shape == name_lists || keyword.shape == pattern_map;
  if (!maps_names) return outcome::success();
  for (const auto& [name, below] : value.items()) {
    const std::string place = path + '/' + pointer_token(name);
    const bool lists =
        keyword.shape == name_lists || (keyword.shape == dependencies && below.is_array());
    if (lists && !are_names(below)) {
      return schema_error(place,
                          "is " + show(below).substr(0, 100) + "; allowed is a list of texts");
    }
  }
  return outcome::success();
}

Error schema_error(std::string_view path, std::string_view why) {
  std::string text = "the schema is wrong at ";
  text += path.empty() ? std::string("its root") : printable(path.substr(0, 500));
  text += ": it ";
  text += why;
  return {Errc::invalid_argument, std::move(text)};
}

unsigned type_bit(std::string_view name) noexcept {
  constexpr std::pair<std::string_view, unsigned> types_by_name[] = {
      {"array", type_array},   {"boolean", type_boolean}, {"integer", type_integer},
      {"null", type_null},     {"number", type_number},   {"object", type_object},
      {"string", type_string},
  };
  for (const auto& [known, bit] : types_by_name) {
    if (known == name) return bit;
  }
  return 0;
}

}  // namespace triage::inline v0_1::detail
