// SPDX-License-Identifier: MIT
#pragma once
// The invariants for any bytes given as a JSON value of a step: what a tree of the same value would
// come to, and refused where a tree would be.

#include "triage/record.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

namespace triage::test {

// The stored step with `bytes` as its input; empty if they are refused.
inline std::string stored_with(std::string_view bytes, StepValues::Format format) {
  const auto encoded = detail::encode_step({}, {.tool_input = bytes, .format = format});
  return encoded ? *encoded.value() : std::string();
}

// The same by way of a tree. A zero byte ends a text for nlohmann, and is refused here.
inline std::string stored_as_tree(std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos) return {};
  // Parsing recurses no deeper than this, and what is deeper is refused anyway.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 2'000; };
  const Json tree = Json::parse(text, shallow, false);
  if (tree.is_discarded()) return {};
  const Record::Bytes encoded = detail::encode_if_storable({.tool_input = tree});
  return encoded ? *encoded : std::string();
}

// Aborts, which a fuzzer reports, if text and tree differ, or if what is stored cannot be read back
// and given again as CBOR.
inline void store_and_check(std::string_view bytes) {
  for (const auto format : {StepValues::Format::json, StepValues::Format::cbor}) {
    const std::string stored = bytes.empty() ? "" : stored_with(bytes, format);
    if (format == StepValues::Format::json && stored != stored_as_tree(bytes)) std::abort();
    if (stored.empty()) continue;
    const auto step = detail::decode_step(stored);
    if (!step) std::abort();
    std::string again;
    detail::encode_step(step.value(), again);
    if (again != stored) std::abort();
    if (step.value().tool_input.is_null()) continue;
    std::string value;
    detail::encode_cbor(step.value().tool_input, value);
    if (stored_with(value, StepValues::Format::cbor) != stored) std::abort();
  }
}

}  // namespace triage::test
