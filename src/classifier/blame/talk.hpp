// SPDX-License-Identifier: MIT
#pragma once
// A run that is mostly words: who said what, and what came of it. Private.

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

// What a step is in a conversation.
enum class Part : std::uint8_t {
  rules,   // What a system prompt says.
  giver,   // Words of whoever gave the task.
  words,   // Words of an agent.
  notes,   // An agent's notes to itself: a ledger, a thought.
  call,    // A call that names its input.
  result,  // What became of the words before it: output of code that somebody ran for an agent.
};

struct TalkStep {
  std::size_t index = 0;  // In the trajectory.
  const Step* step = nullptr;
  Part part = Part::words;
  std::string text{};                   // What was said or answered: its beginning and its end.
  std::string answer{};                 // Of a call: what it answered, likewise.
  std::vector<std::uint64_t> words{};   // Hashes of its distinct words that say something, rising.
  std::size_t fresh = 0;                // How many of them no earlier step has.
  std::optional<std::size_t> output{};  // Position of the first result of what was written here.
  bool code = false;                    // There is a block of code.
  bool page = false;                    // A page that a browser shows.
  bool asks = false;                    // Asks others to do it.
  bool idle = false;                    // Of an agent that keeps notes and gives orders.
  bool closes = false;                  // Agrees, or says that all is done.
  bool brief = false;                   // Too short to state anything.
};

// The first 1,024 steps that no rollback restored, and the last 32. At most 4 MB of text are kept,
// six KB of a step. Refers to the trajectory. Linear in what it keeps.
class Talk {
 public:
  explicit Talk(const ClassifierInput& input);

  // At least half of the steps are words, and two or more speak.
  [[nodiscard]] bool is_conversation() const noexcept { return conversation_; }
  // Somebody is served: asks again and again, and an agent calls tools for it.
  [[nodiscard]] bool is_service() const noexcept { return service_; }
  [[nodiscard]] const std::vector<TalkStep>& steps() const noexcept { return steps_; }
  // Distinct words of the task; if none is known, of what was asked first.
  [[nodiscard]] const std::vector<std::uint64_t>& task() const noexcept { return task_; }
  // Position of the step that first has the word; none if no step has it.
  [[nodiscard]] std::optional<std::size_t> first_with(std::uint64_t word) const;
  // What could be to blame: positions of what agents said and called, but for what is brief.
  [[nodiscard]] const std::vector<std::size_t>& candidates() const noexcept { return candidates_; }

 private:
  static std::vector<TalkStep> kept_steps(const Trajectory& trajectory, std::size_t oldest);
  void find_kind(const std::vector<TalkStep>& steps);
  void read(TalkStep told, std::size_t most);
  void find_idle();
  void find_outputs();
  void find_words();

  std::vector<TalkStep> steps_{};
  std::vector<std::size_t> candidates_{};
  std::vector<std::uint64_t> task_{};
  std::unordered_map<std::uint64_t, std::size_t> first_with_{};
  std::size_t bytes_left_;
  bool conversation_ = false;
  bool service_ = false;
};

}  // namespace triage::inline v0_1::detail
