// SPDX-License-Identifier: MIT
#include "triage/json.hpp"

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

Error refused(std::string_view what, std::string_view why) {
  return {Errc::invalid_argument, std::string(what) + ": " + std::string(why)};
}

// Why a value that holds no others cannot be stored; null if it can.
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

// Length of the valid UTF-8 sequence at the front of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead >= 0xC2U && lead <= 0xDFU) return tail(1) ? 2 : 0;
  if (lead >= 0xE0U && lead <= 0xEFU) {
    if (!tail(1) || !tail(2)) return 0;
    if (lead == 0xE0U && byte(1) < 0xA0U) return 0;  // Overlong.
    if (lead == 0xEDU && byte(1) > 0x9FU) return 0;  // Surrogate.
    return 3;
  }
  if (lead >= 0xF0U && lead <= 0xF4U) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (lead == 0xF0U && byte(1) < 0x90U) return 0;
    if (lead == 0xF4U && byte(1) > 0x8FU) return 0;
    return 4;
  }
  return 0;
}

std::string with_bad_bytes_escaped(std::string_view text, bool escape_controls) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto lead = static_cast<unsigned char>(text.front());
    const bool control = lead < 0x20U || lead == 0x7FU;
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

// A copy in which every string is valid UTF-8.
Json with_printable_text(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string:
      return with_bad_bytes_escaped(value.get_ref<const std::string&>(), false);
    case Json::value_t::array: {
      Json out = Json::array();
      for (const Json& element : value) out.push_back(with_printable_text(element));
      return out;
    }
    case Json::value_t::object: {
      Json out = Json::object();
      for (const auto& [key, element] : value.items()) {
        out[with_bad_bytes_escaped(key, false)] = with_printable_text(element);
      }
      return out;
    }
    default: return value;
  }
}

}  // namespace

Result<void> check_json(const Json& value, std::string_view what, NonFinite non_finite) {
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
    if (depth > max_json_depth) {
      return refused(what, "nested deeper than " + std::to_string(max_json_depth) +
                               " levels, which is the most that is allowed");
    }
  }
}

std::string show(const Json& value, int indent) {
  if (!check_json(value, "value")) {
    // Deep or odd values never reach a store; say what they are instead of recursing into them.
    return value.is_discarded() ? "<no JSON>" : "<JSON that cannot be shown>";
  }
  try {
    return value.dump(indent);
  } catch (const Json::exception&) {
    return with_printable_text(value).dump(indent);
  }
}

std::string printable(std::string_view text) { return with_bad_bytes_escaped(text, true); }

}  // namespace triage::inline v0_1
