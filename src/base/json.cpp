// SPDX-License-Identifier: MIT
#include "triage/json.hpp"

#include "base/utf8.hpp"

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

// A recorded value is shown as a part of a document, which adds levels of its own.
constexpr int most_shown_depth = max_json_depth + 64;

Error refused(std::string_view what, std::string_view why) {
  return {Errc::invalid_argument, std::string(what) + ": " + std::string(why)};
}

// Why a scalar cannot be stored; null if it can.
const char* problem_of(const Json& leaf, NonFinite non_finite) {
  switch (leaf.type()) {
    case Json::value_t::number_float:
      if (non_finite == NonFinite::allowed || std::isfinite(leaf.get<double>())) return nullptr;
      return std::isnan(leaf.get<double>())
                 ? "contains NaN; only finite numbers are allowed"
                 : "contains an infinity; only finite numbers are allowed";
    case Json::value_t::binary: return "contains a binary value; only JSON types are allowed";
    case Json::value_t::discarded: return "is not valid JSON (a discarded value)";
    default: return nullptr;
  }
}

std::string with_bad_bytes_escaped(std::string_view text, bool escape_controls) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && text[plain] >= 0x20 && text[plain] < 0x7F) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = detail::utf8_length(text);
    const auto lead = static_cast<unsigned char>(text.front());
    // U+0080 to U+009F, which begin with 0xC2, steer terminals too.
    const bool high_control =
        length == 2 && lead == 0xC2U && static_cast<unsigned char>(text[1]) < 0xA0U;
    const bool control = lead < 0x20U || lead == 0x7FU || high_control;
    if (length == 0 || (escape_controls && control)) {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", lead);
      out += lead == '\n' ? "\\n" : lead == '\t' ? "\\t" : lead == '\r' ? "\\r" : escaped;
      text.remove_prefix(1);
    } else {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return out;
}

// The text shown for a value that JSON cannot express; null if it can.
const char* substitute_for(const Json& value) {
  switch (value.type()) {
    case Json::value_t::number_float: {
      const auto number = value.get<double>();
      if (std::isfinite(number)) return nullptr;
      return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    }
    case Json::value_t::binary: return "<binary value>";
    case Json::value_t::discarded: return "<no JSON>";
    default: return nullptr;
  }
}

// A copy that can be printed: every string is valid UTF-8, and values that JSON cannot express or
// that are nested too deeply are replaced by a description.
Json showable(const Json& value, int depth) {
  if (const char* text = substitute_for(value)) return text;
  if (value.is_string()) return with_bad_bytes_escaped(value.get_ref<const std::string&>(), false);
  if (!value.is_structured()) return value;
  if (depth > most_shown_depth) return "<nested too deep to be shown>";
  Json out = value.is_array() ? Json::array() : Json::object();
  if (value.is_array()) {
    for (const Json& element : value) out.push_back(showable(element, depth + 1));
  } else {
    for (const auto& [key, element] : value.items()) {
      out[with_bad_bytes_escaped(key, false)] = showable(element, depth + 1);
    }
  }
  return out;
}

}  // namespace

namespace {

Result<void> check_within(const Json& value, std::string_view what, NonFinite non_finite,
                          int most_levels) {
  if (!value.is_structured()) {
    const char* wrong = problem_of(value, non_finite);
    return wrong == nullptr ? Result<void>(outcome::success()) : refused(what, wrong);
  }
  const Json* json = &value;
  int depth = 1;
  std::vector<std::pair<const Json*, int>> open;  // Stays empty, and off the heap, for flat values.
  for (;;) {
    for (const Json& element : *json) {
      if (element.is_structured()) {
        open.emplace_back(&element, depth + 1);
      } else if (const char* wrong = problem_of(element, non_finite); wrong != nullptr) {
        return refused(what, wrong);
      }
    }
    if (open.empty()) return outcome::success();
    std::tie(json, depth) = open.back();
    open.pop_back();
    if (depth > most_levels) {
      return refused(what, "nested deeper than " + std::to_string(most_levels) +
                               " levels, which is the most that is allowed");
    }
  }
}

}  // namespace

Result<void> check_json(const Json& value, std::string_view what, NonFinite non_finite) {
  return check_within(value, what, non_finite, max_json_depth);
}

std::string show(const Json& value, int indent) {
  if (value.is_discarded()) return "<no JSON>";
  if (check_within(value, "value", NonFinite::refused, most_shown_depth)) {
    try {
      return value.dump(indent);
    } catch (const Json::exception&) {  // A string is not UTF-8.
    }
  }
  return showable(value, 1).dump(indent);
}

std::string printable(std::string_view text) { return with_bad_bytes_escaped(text, true); }

}  // namespace triage::inline v0_1
