// SPDX-License-Identifier: MIT
#pragma once
// The agent: charges the orders of one run, whatever happens in between.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace payments {

// What becomes of a run.
enum class Kind : std::uint8_t {
  plain,     // It charges its orders.
  rollback,  // It finds out at the end that the second half was wrong, goes back, and charges that
             // again.
  abort,     // It is given up at the end: everything is paid back.
  fork,      // When it has finished, a branch of it takes more orders, and charges only those.
};
inline constexpr int kinds = 4;
inline constexpr int added_orders = 2;  // Of a branch.

// Where the agent kills itself, to see what the next process makes of it.
enum class Point : std::uint8_t {
  nowhere,
  before_effect,   // Nothing was said or done about the order.
  before_sending,  // The intent is durable, nothing was sent.
  after_answer,    // The service has answered, the result is not durable.
  after_effect,    // The result is durable, the state does not know it.
  after_state,     // The state knows it too.
  before_refund,   // The intent to undo it is durable, nothing was sent.
  after_refund,    // The service has answered, the end of the undoing is not durable.
};
inline constexpr int points = 7;  // Without nowhere.

struct AgentSettings {
  std::string store{};  // SQLite file of the runs.
  std::string url{};    // Of the service.
  std::string run{};    // Run id; begun or continued.
  Kind kind = Kind::plain;
  std::string doubts{};  // A file with one line for each answer that did not come.
  int orders = 5;
  bool reconcile = true;
  Point kill_at = Point::nowhere;
  int kill_order = 0;  // The order at which it does so, from 0.
};

// What the service calls order n of a run when it is charged for the first time, or again after it
// was paid back (generation 2).
[[nodiscard]] std::string reference_of(std::string_view run, int order,
                                       std::uint64_t generation = 1);
// The run id of its branch.
[[nodiscard]] std::string branch_of(std::string_view run);
// What order n of a run costs.
[[nodiscard]] inline std::int64_t cents_of(int order) { return 1000 + order; }

// Returns an exit status: 0 if the run has ended as its kind should. Its result is {"receipts":
// {reference: receipt}, …}; a receipt is null where nobody knows.
int work(const AgentSettings& settings);

}  // namespace payments
