// SPDX-License-Identifier: MIT
#pragma once
// Requests to people and external programs: their stored form, and how they were settled.

#include "definition/plan.hpp"
#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/run_id.hpp"
#include "triage/state.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  std::string branch{};  // The edited branch that asked it; empty: another run. Of a decision: the
                         // run that asks for it.
  std::string anew{};    // Its question_of(), if another question had its id before.
  std::string signal{};  // The signal that answers it; only set if read from a store.
};

// How a request was settled.
struct Answer {
  Json value{};
  bool expired = false;  // Not answered in time.
  std::string to{};      // The question_of() what was asked; empty: unknown.
};
using Answers = std::map<std::string, Answer, std::less<>>;  // By request.

[[nodiscard]] bool is_expired(const Asked& asked, Clock& clock);
// The executor and the occurrence in a request's id; "" and 0 if it is none.
[[nodiscard]] std::pair<std::string, int> delivery_asking(std::string_view request);
[[nodiscard]] Json asked_json(const Asked& asked);
[[nodiscard]] Asked asked_from(const std::string& id, const Json& json);
// Requests of the state that nobody has answered, and that have not expired, of deliveries that
// have not finished.
[[nodiscard]] std::vector<Asked> open_requests(const State& state);
// Those that `run` waits for: a branch asks for its own decisions.
[[nodiscard]] std::vector<Asked> open_requests(const State& state, const RunId& run);
// A digest of what is asked. An answer to one question is none to another.
[[nodiscard]] std::string question_of(std::string_view type, const Json& payload);
// {"value"} or {"expired"}, as stored and sent, then with the "question"; empty if it is neither.
[[nodiscard]] std::optional<Answer> answer_from(const Json& stored);

// The requests of the state at the start of an attempt, and those added since. Copying the state in
// order to look one up would take as long as there are requests. Thread-safe, once it has begun.
class KnownRequests {
 public:
  void begin_with(State before) { before_ = std::move(before); }
  void add(const Asked& asked);
  [[nodiscard]] std::optional<Asked> find(const std::string& id) const;
  // Those whose ids begin so, by id, without decisions.
  [[nodiscard]] std::map<std::string, Asked> of(const std::string& prefix) const;

 private:
  State before_{};
  mutable std::mutex mutex_{};
  std::map<std::string, Asked> added_{};
};

// The name of the signal that settles a request in the state's timeline. Only the first one counts,
// whether an answer or an expiry.
[[nodiscard]] std::string answer_signal(const Asked& asked, std::string_view timeline);
[[nodiscard]] std::string timeline_of(const State& state);

}  // namespace triage::inline v0_1::workflow::detail
