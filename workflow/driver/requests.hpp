// SPDX-License-Identifier: MIT
#pragma once
// Requests to people and external programs: their stored form, and how they were settled.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/state.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// An open question to someone outside.
struct Asked {
  std::string id{};  // The same whenever the handler repeats it.
  std::string executor{};
  std::string port{};
  std::string type{};
  Json payload{};
  std::optional<WallTime> expires{};
  std::string branch{};  // The edited branch that asked it; empty: another run.
  std::string signal{};  // The signal that answers it; only set if read from a store.
};

// How a request was settled.
struct Answer {
  Json value{};
  bool expired = false;  // Not answered in time.
};
using Answers = std::map<std::string, Answer, std::less<>>;  // By request.

[[nodiscard]] bool is_expired(const Asked& asked, Clock& clock);
[[nodiscard]] Json asked_json(const Asked& asked);
[[nodiscard]] Asked asked_from(const std::string& id, const Json& json);
// Requests of the state that nobody has answered, and that have not expired, of deliveries that
// have not finished.
[[nodiscard]] std::vector<Asked> open_requests(const State& state);
// {"value"} or {"expired"}, as stored and sent; empty if it is neither.
[[nodiscard]] std::optional<Answer> answer_from(const Json& stored);

// The name of the signal that settles a request in the state's timeline. Only the first one counts,
// whether an answer or an expiry.
[[nodiscard]] std::string answer_signal(const Asked& asked, std::string_view timeline);
[[nodiscard]] std::string timeline_of(const State& state);

}  // namespace triage::inline v0_1::workflow::detail
