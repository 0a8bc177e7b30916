// SPDX-License-Identifier: MIT
#pragma once
// Takes a failure's text out of what it came in: escapes, envelopes, logs, stack traces. Private.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// What a text can come in.
enum class Garment : std::uint8_t {
  escapes,     // Terminal sequences, characters without width, line ends of other systems.
  envelope,    // JSON, or what languages print instead.
  markup,      // HTML, XML, Markdown.
  trace,       // Stack frames, and the lines between the links of a chain of exceptions.
  log_head,    // Time, level, logger, host, process.
  log_tail,    // Request ids, durations, key=value.
  progress,    // "Step 4 of 7 failed while sending: ", "RuntimeError: "
  line_wraps,  // Sentences broken at a margin.
};
inline constexpr std::size_t garment_count = 8;

struct Undressed {
  std::string text{};  // Never blank.
  std::bitset<garment_count> garments{};

  // "terminal escapes, a stack trace"
  [[nodiscard]] std::string told() const;
};

// What is left of a text, and what was taken off; empty if it wears nothing. Of a text above two
// windows of 32 KB the first and last window. Any bytes; linear, whatever is nested in what.
[[nodiscard]] std::optional<Undressed> undress(std::string_view text);

// "RuntimeError", "std::runtime_error", "app.errors.AgentException": any failure may have this
// name.
[[nodiscard]] bool is_common_exception(std::string_view name);

}  // namespace triage::inline v0_1::detail
