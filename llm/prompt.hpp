// SPDX-License-Identifier: MIT
#pragma once
// The prompt about a failure. Private.

#include "triage/classifier.hpp"
#include "triage/json.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

struct Prompt {
  std::string system{};  // The task and the types; the same for every failure.
  std::string user{};    // The failure, quoted as data.
};

// Every text of the failure is cut to `max_text_bytes`, keeping its beginning and end, and placed
// in an ASCII JSON string without angle brackets, so that no text can end the block around it.
// `secret` is replaced wherever it occurs; empty: nothing is.
[[nodiscard]] Prompt make_prompt(const ClassifierInput& input, std::size_t max_text_bytes,
                                 std::string_view secret);
// The JSON Schema of an answer: {"type": a failure type, "confidence": 0 to 1}.
[[nodiscard]] Json answer_schema();

}  // namespace triage::inline v0_1::detail
