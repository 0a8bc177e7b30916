// SPDX-License-Identifier: MIT
#pragma once
// What is stored of a delivery that has finished: enough never to run it again.

#include "values.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

struct Finished {
  std::string input{};  // Digest of the message; empty if nobody asked for it.
  std::vector<Sent> sent{};
  std::vector<Message> outputs{};  // Out of the run.
  std::vector<Write> writes{};
  std::map<std::string, std::string> reads{};  // Scope and key → digest of what was there.
  std::optional<Json> saved{};                 // What the executor's hook gave, if it changed.
};

// Reserved keys of the run's state. A value under finished_key() is one Finished.
inline constexpr std::string_view finished_prefix = "triage/done/";
inline constexpr std::string_view request_prefix = "triage/request/";
inline constexpr std::string_view answer_prefix = "triage/answer/";
[[nodiscard]] std::string finished_key(const std::string& path, int occurrence);

// A short hash of a value; "" for none.
[[nodiscard]] std::string digest_of(const JsonPtr& value);
[[nodiscard]] std::string digest_of(const Message& message);

[[nodiscard]] Json to_stored(const Plan& plan, const Finished& finished);
// Errors: Errc::corrupt, or Errc::conflict if it names an edge that does not exist.
[[nodiscard]] Result<Finished> from_stored(const Plan& plan, const std::string& key,
                                           const Json& stored);

}  // namespace triage::inline v0_1::workflow::detail
