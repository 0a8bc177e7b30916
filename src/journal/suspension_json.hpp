// SPDX-License-Identifier: MIT
#pragma once
// What is stored of a suspension, and how it is read back.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"
#include "triage/limits.hpp"
#include "triage/policy.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// The value beside the hash of a token.
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

// An action as a record keeps it, and back.
[[nodiscard]] Json action_json(const RecoveryAction& action);
[[nodiscard]] RecoveryAction action_from(const Json& json);
[[nodiscard]] Json limits_json(const Limits& limits);
// Nothing if they are not allowed.
[[nodiscard]] std::optional<Limits> limits_from(const Json& json);

// Body of the newest record of a kind; null if there is none that can be read.
[[nodiscard]] Json newest_body(const JournalReading& reading, RecordKind kind);

// Stored bodies are not trusted to hold the types we write: what has another type counts as absent.
[[nodiscard]] std::string text_field(const Json& body, const char* key);
[[nodiscard]] std::optional<WallTime> time_field(const Json& body, const char* key);
[[nodiscard]] std::vector<std::string> names_field(const Json& body, const char* key);
template <class T>
[[nodiscard]] T number_field(const Json& body, const char* key, T otherwise) {
  if (!body.is_object()) return otherwise;
  const auto found = body.find(key);
  return found != body.end() && found->is_number() ? found->get<T>() : otherwise;
}

}  // namespace triage::inline v0_1::detail
