// SPDX-License-Identifier: MIT
// Wrong values that look plausible.
#include "lab/base/draws.hpp"

#include "triage/lab/chaos.hpp"

#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

// A byte that no UTF-8 sequence begins in the middle of.
std::size_t character_end(const std::string& text, std::size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) ++at;
  return at;
}

// Changes only one element of an array or object, because silent failures are small.
Json wrong_inside(const Json& value, std::uint64_t draw) {
  Json changed = value;
  auto place = changed.begin();
  std::advance(place, static_cast<std::ptrdiff_t>(draw % changed.size()));
  // The next one, if this is null or empty.
  for (std::size_t i = 0; i < changed.size(); ++i) {
    Json other = wrong_value(*place, scrambled(draw));
    if (other != *place) {
      *place = std::move(other);
      break;
    }
    if (++place == changed.end()) place = changed.begin();
  }
  return changed;
}

Json wrong_text(const std::string& text, std::uint64_t draw) {
  if (text.empty()) return "0";
  std::string changed = text;
  // Swaps letters and digits with their neighbours.
  const std::size_t at = draw % text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    char& c = changed[(at + i) % text.size()];
    const auto next = [&c](char first, char last) { c = c == last ? first : char(c + 1); };
    if (c >= 'a' && c <= 'z') return next('a', 'z'), changed;
    if (c >= 'A' && c <= 'Z') return next('A', 'Z'), changed;
    if (c >= '0' && c <= '9') return next('0', '9'), changed;
  }
  return changed + "?";
}

}  // namespace

Json wrong_value(const Json& value, std::uint64_t draw) {
  const auto off = static_cast<std::int64_t>(1 + draw % 9);
  switch (value.type()) {
    case Json::value_t::boolean: return !value.get<bool>();
    case Json::value_t::number_integer: {
      const auto number = value.get<std::int64_t>();
      return number > std::numeric_limits<std::int64_t>::max() - off ? number - off : number + off;
    }
    case Json::value_t::number_unsigned: {
      const auto number = value.get<std::uint64_t>();
      const auto step = static_cast<std::uint64_t>(off);
      return number > std::numeric_limits<std::uint64_t>::max() - step ? number - step
                                                                       : number + step;
    }
    case Json::value_t::number_float: {
      const double number = value.get<double>();
      return number + (number == 0.0 ? 1.0 : number * 0.01 * static_cast<double>(off));
    }
    case Json::value_t::string: return wrong_text(value.get_ref<const std::string&>(), draw);
    case Json::value_t::array:
    case Json::value_t::object: return value.empty() ? value : wrong_inside(value, draw);
    default: return value;
  }
}

Json partial_value(const Json& value, std::uint64_t draw) {
  const auto kept = [draw](std::size_t size) { return size == 0 ? 0 : draw % size; };
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.substr(0, character_end(text, kept(text.size())));
  }
  const auto cut = [&](const auto& all) {
    const auto end = std::next(all.begin(), static_cast<std::ptrdiff_t>(kept(all.size())));
    return Json(std::decay_t<decltype(all)>(all.begin(), end));
  };
  if (value.is_array()) return cut(value.get_ref<const Json::array_t&>());
  if (value.is_object()) return cut(value.get_ref<const Json::object_t&>());
  return value;
}

bool is_changed(const Json& was, const Json& meant, const Json& is) {
  if (is == was) return false;
  // A float of fewer digits is as near as can be.
  return !is.is_number() || is.is_number_float() || is == meant;
}

}  // namespace triage::inline v0_1::lab::detail
