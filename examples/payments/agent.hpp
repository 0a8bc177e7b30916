// SPDX-License-Identifier: MIT
#pragma once
// The agent: charges the orders of one run, whatever happens in between.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace payments {

// Where the agent kills itself, to see what the next process makes of it.
enum class Point : std::uint8_t {
  nowhere,
  before_effect,   // Nothing was said or done about the order.
  before_sending,  // The intent is durable, nothing was sent.
  after_answer,    // The service has answered, the result is not durable.
  after_effect,    // The result is durable, the state does not know it.
  after_state,     // The state knows it too.
};

struct AgentSettings {
  std::string store{};   // SQLite file of the runs.
  std::string url{};     // Of the service.
  std::string run{};     // Run id; begun or continued.
  std::string doubts{};  // A file with one line for each answer that did not come.
  int orders = 5;
  bool reconcile = true;
  Point kill_at = Point::nowhere;
  int kill_order = 0;  // The order at which it does so, from 0.
};

// What the service calls order n of a run.
[[nodiscard]] std::string reference_of(std::string_view run, int order);
// What order n of a run costs.
[[nodiscard]] inline std::int64_t cents_of(int order) { return 1000 + order; }

// Returns an exit status: 0 if the run has its result, which is {reference: receipt}; a receipt is
// null where nobody knows.
int work(const AgentSettings& settings);

}  // namespace payments
