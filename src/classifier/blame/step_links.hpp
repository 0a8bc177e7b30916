// SPDX-License-Identifier: MIT
#pragma once
// What the steps of a run took and gave, and which results look wrong beside the others. Private.

#include "triage/step.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// A leaf of a step's input or output that can be told from others: a text or a large number.
struct StepValue {
  std::string_view key{};   // The member that holds it, also through arrays; empty: none does.
  std::string_view text{};  // Empty for numbers.
  std::uint64_t hash = 0;
  std::vector<std::uint16_t>
      givers{};  // Of a value taken: positions of earlier steps that gave it.
};

// What speaks against a step, beside an error that it reports itself.
enum class Flaw : std::uint8_t {
  none,
  failed,      // It says so, and nothing that followed made up for it.
  error_like,  // Its result tells of an error.
  empty,       // Its result is empty, and that is not usual for the tool.
  odd,         // Its result lacks what most others of the tool have.
};

struct StepFacts {
  std::size_t index = 0;  // In the trajectory.
  const Step* step = nullptr;
  bool is_call = false;
  std::size_t tool = 0;  // Number of the tool; steps without one share a number.
  std::size_t room = 0;  // Bytes of text in its result and in what the model said.
  bool failed = false;
  bool hollow = false;                          // Its input has nothing where something belongs.
  std::vector<std::string_view> hollow_keys{};  // There.
  std::uint64_t input_hash = 0;
  std::vector<std::uint64_t> taken_hashes{};  // Of `taken`, rising.
  bool empty_result = false;                  // Nothing was found, as far as it was read.
  std::vector<StepValue> taken{};
  std::vector<StepValue> given{};
  Flaw flaw = Flaw::none;
};

// The newest steps, at most 256, of those that no rollback restored. Refers to the trajectory.
// Linear in the steps' sizes: of their values and members, and of the bytes that are searched for
// values inside of longer texts, so many are looked at in all; the newest steps come first.
class StepLinks {
 public:
  StepLinks(const Trajectory& trajectory, std::size_t oldest);

  [[nodiscard]] const std::vector<StepFacts>& steps() const noexcept { return steps_; }
  // Some result of the step's tool has this member.
  [[nodiscard]] bool should_give(const StepFacts& step, std::string_view key) const;
  // A result of the first tool is taken up by some call of the second; by numbers.
  [[nodiscard]] bool feeds(std::size_t tool, std::size_t later_tool) const;
  // Its tool takes up nothing, and nobody takes up what it answers: a log, a status.
  [[nodiscard]] bool is_aside(const StepFacts& step) const;
  // It takes up the result of an earlier step.
  [[nodiscard]] static bool is_fed(const StepFacts& step);

 private:
  // What the calls of one tool have in common.
  struct Tool {
    std::size_t results = 0;  // Of calls that did not fail, apart from null.
    std::size_t objects = 0;  // Of them.
    std::size_t calls = 0;    // That did not fail.
    std::size_t empty = 0;    // Of them: those whose result holds nothing.
    std::map<std::string_view, std::size_t> members{};  // How many results have what.
    std::vector<std::string> usual{};  // Members that more than half of the results have.
    std::vector<bool> feeds{};         // By the number of the later tool.
    bool fed = false;                  // Some call takes up a result.
    bool answers = false;              // Some flawless call there is.
  };

  void read(const Trajectory& trajectory, std::size_t oldest);
  void count_results();
  void find_usual_members();
  void find_givers();
  void search_texts(std::size_t position, StepValue& value, std::size_t& bytes_left) const;
  void find_flaws();
  [[nodiscard]] bool made_up_for(std::size_t position) const;
  [[nodiscard]] bool stands_out(const StepFacts& step) const;

  std::vector<StepFacts> steps_{};  // Oldest first.
  std::vector<Tool> tools_{};
  std::size_t results_ = 0;  // Of all tools.
  std::size_t objects_ = 0;
};

}  // namespace triage::inline v0_1::detail
