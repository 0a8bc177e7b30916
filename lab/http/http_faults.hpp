// SPDX-License-Identifier: MIT
#pragma once
// Faulty HTTP answers.

#include "triage/json.hpp"
#include "triage/taxonomy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::lab::detail {

// A whole answer; `status` as in "502 Bad Gateway".
[[nodiscard]] std::string plain_answer(std::string_view status, std::string_view text);
// How a service reports this failure: a status and a text from drawn_failure.
[[nodiscard]] std::string failure_answer(FailureType type, std::uint64_t draw);
// The answer truncated; its head still promises all of it.
[[nodiscard]] std::string cut_answer(const std::string& answer, std::uint64_t draw);
// The answer with the name in its first tool call replaced, if it is JSON and has one.
[[nodiscard]] std::string with_other_tool(const std::string& answer,
                                          const std::optional<Json>& name);

}  // namespace triage::inline v0_1::lab::detail
