// SPDX-License-Identifier: MIT
#include "contract/schema_values.hpp"

#include "contract/schema_keywords.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

template <class T>
int sign(const T& a, const T& b) {
  return (b < a ? 1 : 0) - (a < b ? 1 : 0);
}

int kind_of(const Json& value) {
  return static_cast<int>(value.is_number() ? Json::value_t::number_float : value.type());
}

// Exact: long double has a 64-bit mantissa on the processors we support.
long double exact(const Json& number) {
  if (number.is_number_unsigned()) return static_cast<long double>(number.get<std::uint64_t>());
  if (number.is_number_integer()) return static_cast<long double>(number.get<std::int64_t>());
  return static_cast<long double>(number.get<double>());
}

// Without its sign; empty for a fraction and for what 64 bits cannot hold.
std::optional<std::uint64_t> magnitude(const Json& number) {
  if (number.is_number_unsigned()) return number.get<std::uint64_t>();
  if (number.is_number_integer()) {
    const auto value = number.get<std::int64_t>();
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? 0U - bits : bits;
  }
  const double value = std::fabs(number.get<double>());
  if (!(value < 0x1p64) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

unsigned types_of(const Json& value, Draft draft) {
  switch (value.type()) {
    case Json::value_t::null: return type_null;
    case Json::value_t::boolean: return type_boolean;
    case Json::value_t::string: return type_string;
    case Json::value_t::array: return type_array;
    case Json::value_t::object: return type_object;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return type_number | type_integer;
    default: break;
  }
  const auto number = value.get<double>();
  const bool whole =
      draft != Draft::draft4 && std::isfinite(number) && std::trunc(number) == number;
  return type_number | (whole ? type_integer : 0U);
}

int order_of(const Json& a, const Json& b) {
  if (kind_of(a) != kind_of(b)) return sign(kind_of(a), kind_of(b));
  if (a.is_number()) {
    const long double x = exact(a);
    const long double y = exact(b);
    if (std::isnan(x) || std::isnan(y)) return sign(std::isnan(y), std::isnan(x));
    return sign(x, y);
  }
  if (!a.is_structured()) return sign(a, b);
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end(); ++x, ++y) {
    const int names = a.is_object() ? sign(x.key(), y.key()) : 0;
    if (names != 0) return names;
    if (const int values = order_of(*x, *y); values != 0) return values;
  }
  return sign(a.size(), b.size());
}

bool are_unique(const Json& array) {
  std::vector<const Json*> elements;
  elements.reserve(array.size());
  for (const Json& element : array) elements.push_back(&element);
  std::sort(elements.begin(), elements.end(),
            [](const Json* a, const Json* b) { return order_of(*a, *b) < 0; });
  return std::adjacent_find(elements.begin(), elements.end(), [](const Json* a, const Json* b) {
           return order_of(*a, *b) == 0;
         }) == elements.end();
}

bool is_multiple(const Json& number, const Json& divisor) {
  const auto whole = magnitude(number);
  const auto whole_divisor = magnitude(divisor);
  if (whole && whole_divisor) return *whole % *whole_divisor == 0;
  const auto value = number.get<double>();
  const auto by = divisor.get<double>();
  if (!std::isfinite(value)) return false;
  const double rest = std::fabs(std::remainder(value, by));
  if (std::trunc(by) == by || !std::isfinite(value / by)) return rest == 0;
  // Tolerates rounding: 0.0075 is a multiple of 0.0001.
  return rest <= 1e-9 * by || rest <= 1e-15 * std::fabs(value);
}

std::string shortened(const Json& json, std::size_t longest) {
  std::string text = show(json);
  if (text.size() <= longest) return text;
  text.resize(longest);
  // Not in the middle of a UTF-8 character.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
    text.pop_back();
  }
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) text.pop_back();
  return text + "…";
}

std::size_t parts_of(const Json& value) {
  if (value.is_string()) return text_parts(value.get_ref<const std::string&>());
  if (!value.is_structured()) return 0;
  std::size_t parts = value.size();
  for (auto part = value.begin(); part != value.end(); ++part) {
    if (value.is_object()) parts += text_parts(part.key());
    parts += parts_of(*part);
  }
  return parts;
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace triage::inline v0_1::detail
