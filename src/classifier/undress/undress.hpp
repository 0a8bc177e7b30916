// SPDX-License-Identifier: MIT
#pragma once
// Unwraps a failure's text: removes escapes, envelopes, log heads and stack traces. Private.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// What a text can be wrapped in.
enum class Garment : std::uint8_t {
  escapes,     // Terminal sequences, zero-width characters, foreign line endings.
  envelope,    // JSON, or what languages print instead of it.
  markup,      // HTML, XML, Markdown.
  trace,       // Stack frames, and the lines between the links of an exception chain.
  log_head,    // Time, level, logger, host, process.
  log_tail,    // Request ids, durations, key=value.
  progress,    // "Step 4 of 7 failed while sending: ", "RuntimeError: "
  line_wraps,  // Sentences wrapped at a margin.
};
inline constexpr std::size_t garment_count = 8;

struct Undressed {
  std::string text{};  // Never blank.
  std::bitset<garment_count> garments{};

  // "terminal escapes, a stack trace"
  [[nodiscard]] std::string told() const;
};

// Whether a name is a code that says what went wrong: "invalid_api_key".
using IsCode = bool (*)(std::string_view name);

// The unwrapped text and what was removed; empty if it has no wrapping. Of texts above two windows
// of 32 KB only the first and last window are read. Any bytes; linear whatever the nesting.
[[nodiscard]] std::optional<Undressed> undress(std::string_view text, IsCode is_code);

// "RuntimeError", "std::runtime_error", "app.errors.AgentException": a name that fits any failure.
[[nodiscard]] bool is_common_exception(std::string_view name);

}  // namespace triage::inline v0_1::detail
