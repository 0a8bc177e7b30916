// SPDX-License-Identifier: MIT
#pragma once
// Requests to people and programs outside: what is stored of them, and of how they were settled.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/state.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {

// What somebody outside is asked, until there is an answer.
struct Asked {
  std::string id{};  // The same whenever the handler comes here again.
  std::string executor{};
  std::string port{};
  std::string type{};
  Json payload{};
  std::optional<WallTime> expires{};
  std::string signal{};  // That answers it; only of what was read from a store.
};

// How a request was settled.
struct Answer {
  Json value{};
  bool expired = false;  // By nobody, in time.
};
using Answers = std::map<std::string, Answer, std::less<>>;  // By request.

[[nodiscard]] bool is_expired(const Asked& asked, Clock& clock);
[[nodiscard]] Json asked_json(const Asked& asked);
[[nodiscard]] Asked asked_from(const std::string& id, const Json& json);
// {"value"} or {"expired"}, as it is stored and sent; nothing if it is neither.
[[nodiscard]] std::optional<Answer> answer_from(const Json& stored);

// The name of the signal that settles a request, in the timeline that the state tells. Only the
// first one counts, be it an answer or that nobody has answered in time.
[[nodiscard]] std::string answer_signal(std::string_view request, std::string_view timeline);
[[nodiscard]] std::string timeline_of(const State& state);

}  // namespace triage::inline v0_1::workflow::detail
