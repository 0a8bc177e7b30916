// SPDX-License-Identifier: MIT
#pragma once
// The evidence for and against each step of a conversation, as numbers. Private.

#include "classifier/blame/talk.hpp"
#include "triage/contract.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Each is 0 or 1 unless stated otherwise.
enum class Signal : std::uint8_t {
  off_task,       // The first step hands over something other than the task.
  restates_task,  // The first step hands over the task.
  order,          // ln(1 + n) for the n-th step that does something; else the previous value.
  raised,         // What it wrote or called raised an error.
  first_raised,   // The first of those.
  raised_before,  // How many earlier steps raised one, at most 3.
  assumes,        // Continues with made-up or typical values.
  by_hand,        // Wants to do by hand what a tool should do.
  asks,           // Asks others to do the work.
  idle,           // Notes and orders of an agent that only plans.
  claims,         // States something new, without code.
  answer,         // Share of the run's final answer first said here: 0 to 1.
  first_change,   // The first call that changes something.
  states,         // A reply that says in its own words what it was asked.
  searches,       // Shows the results of a search though it was told to open something.
  futile,         // An order that left nothing to do.
};
inline constexpr std::size_t signal_count = 16;
inline constexpr std::array<std::string_view, signal_count> signal_names{
    "off_task",     "restates_task", "order",    "raised", "first_raised", "raised_before",
    "assumes",      "by_hand",       "asks",     "idle",   "claims",       "answer",
    "first_change", "states",        "searches", "futile"};

// A step that may be to blame.
struct Candidate {
  std::size_t position = 0;  // In Talk::steps().
  std::array<float, signal_count> signals{};

  [[nodiscard]] float& operator[](Signal signal) {
    return signals[static_cast<std::size_t>(signal)];
  }
  [[nodiscard]] float operator[](Signal signal) const {
    return signals[static_cast<std::size_t>(signal)];
  }
};

// Each adds one kind of evidence; candidates are in the order of the run.
void note_handover(const Talk& talk, std::vector<Candidate>& candidates);
void note_outputs(const Talk& talk, std::vector<Candidate>& candidates);
void note_wording(const Talk& talk, std::vector<Candidate>& candidates);
void note_claims(const Talk& talk, std::vector<Candidate>& candidates);
void note_answer(const Talk& talk, std::vector<Candidate>& candidates);
void note_orders(const Talk& talk, std::vector<Candidate>& candidates);
void note_changes(const Talk& talk, const AgentContract* contract,
                  std::vector<Candidate>& candidates);

// All of the above.
[[nodiscard]] std::vector<Candidate> weigh_candidates(const Talk& talk,
                                                      const AgentContract* contract);

}  // namespace triage::inline v0_1::detail
