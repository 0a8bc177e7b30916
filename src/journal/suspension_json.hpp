// SPDX-License-Identifier: MIT
#pragma once
// How a suspension is stored and read back.

#include "triage/checkpoint_store.hpp"
#include "triage/detail/text_field.hpp"
#include "triage/json.hpp"
#include "triage/limits.hpp"
#include "triage/policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// The value stored under a token's hash.
struct Ticket {
  RunId run{};
  std::string agent{};
  Sequence suspended_at = 0;
  std::vector<std::string> allowed_actions{};
  std::optional<WallTime> until{};
  std::optional<WallTime> expires{};
  std::string state = "waiting";  // Or "claimed".
  std::string by{};               // Who claimed it.
};

[[nodiscard]] std::string encode(const Ticket& ticket);
// Errors: Errc::corrupt.
[[nodiscard]] Result<Ticket> decode_ticket(const std::string& bytes);

// Converts an action to its recorded form and back.
[[nodiscard]] Json action_json(const RecoveryAction& action);
[[nodiscard]] RecoveryAction action_from(const Json& json);
// What a suspended run does when it is due: the recorded action, else the first allowed one, or
// resume if all are allowed.
[[nodiscard]] RecoveryAction action_when_due(const Json& suspended);
[[nodiscard]] Json limits_json(const Limits& limits);
// Empty if they are out of range.
[[nodiscard]] std::optional<Limits> limits_from(const Json& json);

// The body of the newest readable record of a kind; null if there is none.
[[nodiscard]] Json newest_body(const JournalReading& reading, RecordKind kind);

// Stored bodies are not trusted: a field of another type counts as absent.
[[nodiscard]] std::optional<WallTime> time_field(const Json& body, const char* key);
[[nodiscard]] std::vector<std::string> names_field(const Json& body, const char* key);
// So does a number that T cannot express.
template <class T>
[[nodiscard]] T number_field(const Json& body, const char* key, T otherwise) {
  if (!body.is_object()) return otherwise;
  const auto found = body.find(key);
  if (found == body.end()) return otherwise;
  if constexpr (std::is_floating_point_v<T>) {
    return found->is_number() ? found->get<T>() : otherwise;
  } else if (found->is_number_unsigned()) {
    const auto number = found->get<std::uint64_t>();
    return std::in_range<T>(number) ? static_cast<T>(number) : otherwise;
  } else if (found->is_number_integer()) {
    const auto number = found->get<std::int64_t>();
    return std::in_range<T>(number) ? static_cast<T>(number) : otherwise;
  }
  return otherwise;
}

}  // namespace triage::inline v0_1::detail
