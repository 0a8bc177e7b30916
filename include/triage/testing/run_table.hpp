// SPDX-License-Identifier: MIT
#pragma once
// A table "an agent that does this, under that policy, ends like this", one run per row.

#include "triage/agent_options.hpp"
#include "triage/testing/recording_observer.hpp"
#include "triage/testing/scripted_agent.hpp"

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1::testing {

// How one attempt of a row ends: a Failure, or anything else as the value it returns.
class PlayedAttempt {
 public:
  PlayedAttempt(Failure failure);  // NOLINT(google-explicit-constructor)
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, PlayedAttempt> &&
           !std::same_as<std::remove_cvref_t<T>, Failure> && JsonWritable<std::remove_cvref_t<T>>)
      PlayedAttempt(T&& value)  // NOLINT(google-explicit-constructor)
      : value_(Json(std::forward<T>(value))) {}

  void write_to(ScriptedAgent& script) const;

 private:
  std::optional<Failure> failure_{};
  Json value_{};
};

// A row's expectation. Fields left out are not compared.
struct ExpectedRun {
  std::optional<Json> value{};        // The run succeeds with this value.
  std::optional<Errc> error{};        // It ends with this error.
  std::optional<FailureType> type{};  // The final failure has this type.
  std::optional<int> attempts{};
  std::optional<std::vector<Duration>> waits{};  // Exact, without zero waits.
  std::optional<Duration> waited_at_most{};      // In total.
};

struct RunRow {
  std::string name{};
  std::vector<PlayedAttempt> attempts{};  // Attempts beyond the last one repeat it.
  ExpectedRun expect{};
};

// The result of a scripted run on a simulated clock.
struct PlayedRun {
  Result<Json> result = Error{};
  int attempts = 0;
  std::vector<Duration> waits{};        // Without zero waits.
  std::vector<RecordedEvent> events{};  // See trace_text().
};

// Runs a script once. options: clock and observer are the kit's own; `random` is seeded with 1 if
// it is null.
[[nodiscard]] PlayedRun play(const ScriptedAgent& script, const FailurePolicy& policy,
                             AgentOptions options = {});
// The same with attempts as in a RunRow: play({failures::http(503), "ok"}, policy).
[[nodiscard]] PlayedRun play(const std::vector<PlayedAttempt>& attempts,
                             const FailurePolicy& policy, AgentOptions options = {});

//   CHECK(run_table(policy, {{"two 503s are retried",
//                             {failures::http(503), failures::http(503), "ok"},
//                             {.value = "ok", .attempts = 3}}}) == "");
// One line per row that does not hold, in row order, with what the run did. `random` is seeded with
// the row's number if it is null. Gates and a budget would carry over from row to row: with several
// rows they are refused, also in the report; pass a function instead.
[[nodiscard]] std::string run_table(const FailurePolicy& policy, const std::vector<RunRow>& rows,
                                    const AgentOptions& options = {});

namespace detail {
[[nodiscard]] std::string run_rows(const FailurePolicy& policy, const std::vector<RunRow>& rows,
                                   const std::function<AgentOptions()>& make_options);
}  // namespace detail

// The same with options that are made anew for each row:
//   run_table(policy, rows, [] { return AgentOptions{.gates = {Bulkhead::create({}).value()}}; });
template <class MakeOptions>
requires std::same_as<std::invoke_result_t<MakeOptions&>, AgentOptions>
[[nodiscard]] std::string run_table(const FailurePolicy& policy, const std::vector<RunRow>& rows,
                                    MakeOptions make_options) {
  return detail::run_rows(policy, rows, make_options);
}

}  // namespace triage::inline v0_1::testing
