// SPDX-License-Identifier: MIT
#pragma once
// What a language model is told and asked about a failure. Private.

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

// Every text of the failure is cut to `max_text_bytes`, its beginning and its end kept, and stands
// in a JSON string that is ASCII and has no angle brackets: nothing in it can end the block that it
// stands in. `secret` is replaced wherever it occurs; empty: nothing is.
[[nodiscard]] Prompt make_prompt(const ClassifierInput& input, std::size_t max_text_bytes,
                                 std::string_view secret);
// The JSON Schema of an answer: {"type": a failure type, "confidence": 0 to 1}.
[[nodiscard]] Json answer_schema();

}  // namespace triage::inline v0_1::detail
