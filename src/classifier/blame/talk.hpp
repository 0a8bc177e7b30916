// SPDX-License-Identifier: MIT
#pragma once
// A run that is mostly words: who said what, and what resulted. Private.

#include "triage/classifier.hpp"
#include "triage/step.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace triage::inline v0_1::detail {

// The role of a step in a conversation.
enum class Part : std::uint8_t {
  rules,   // A system prompt.
  giver,   // Words of the task's author.
  words,   // Words of an agent.
  notes,   // An agent's notes to itself: a ledger, a thought.
  call,    // A call with an input.
  result,  // The result of earlier words: output of code that was run for an agent.
};

enum class TalkKind : std::uint8_t {
  among_agents,
  in_service,    // Somebody is being served: asks repeatedly, and an agent calls tools for them.
  under_leader,  // One agent plans and gives orders, and the others report to it.
};
inline constexpr std::size_t talk_kinds = 3;

struct TalkStep {
  std::size_t index = 0;  // In the trajectory.
  const Step* step = nullptr;
  Part part = Part::words;
  std::string text{};                   // What was said or called: beginning and end.
  std::string answer{};                 // A call's answer, likewise.
  std::vector<std::uint64_t> words{};   // Hashes of its distinct meaningful words, ascending.
  std::size_t fresh = 0;                // How many of them no earlier step has.
  std::optional<std::size_t> output{};  // Position of the first result of what this step wrote.
  bool code = false;                    // Contains a block of code.
  bool page = false;                    // A page shown by a browser.
  bool asks = false;                    // Asks others to do the work.
  bool idle = false;                    // Of an agent that keeps notes and gives orders.
  bool closes = false;                  // Agrees, or says that everything is done.
  bool brief = false;                   // Too short to state anything.
  std::optional<std::size_t> order{};   // Position of the leader's order that it replies to.
};

// The first 1,024 steps that no rollback restored, and the last 32. Keeps at most 4 MB of text, 6
// KB per step. Refers to the trajectory. Linear in what it keeps.
class Talk {
 public:
  explicit Talk(const ClassifierInput& input);

  // At least half of the steps are words, of two or more speakers.
  [[nodiscard]] bool is_conversation() const noexcept { return conversation_; }
  [[nodiscard]] TalkKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_service() const noexcept { return kind_ == TalkKind::in_service; }
  [[nodiscard]] bool is_led() const noexcept { return kind_ == TalkKind::under_leader; }
  [[nodiscard]] const std::vector<TalkStep>& steps() const noexcept { return steps_; }
  // Distinct words of the task or, if it is unknown, of the first request.
  [[nodiscard]] const std::vector<std::uint64_t>& task() const noexcept { return task_; }
  // Position of the first step with the word; empty if there is none.
  [[nodiscard]] std::optional<std::size_t> first_with(std::uint64_t word) const;
  // Steps that may be to blame: positions of what agents said and called, unless it is brief.
  [[nodiscard]] const std::vector<std::size_t>& candidates() const noexcept { return candidates_; }

 private:
  static std::vector<TalkStep> kept_steps(const Trajectory& trajectory, std::size_t oldest);
  void find_kind(const std::vector<TalkStep>& steps);
  void read(TalkStep told, std::size_t most);
  void find_idle();
  void find_leader();
  void find_outputs();
  void find_words();

  std::vector<TalkStep> steps_{};
  std::vector<std::size_t> candidates_{};
  std::vector<std::uint64_t> task_{};
  std::unordered_map<std::uint64_t, std::size_t> first_with_{};
  std::size_t bytes_left_;
  bool conversation_ = false;
  TalkKind kind_ = TalkKind::among_agents;
};

}  // namespace triage::inline v0_1::detail
