// SPDX-License-Identifier: MIT
#pragma once
// What each step of a run used and produced, and which results look wrong next to the others.
// Private.

#include "triage/step.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// A distinctive leaf of a step's input or output: a text or a large number.
struct StepValue {
  std::string_view key{};   // The member that holds it, possibly through arrays; empty: none.
  std::string_view text{};  // Empty for numbers.
  std::uint64_t hash = 0;
  std::vector<std::uint16_t>
      givers{};  // Of a value taken: positions of earlier steps that gave it.
};

// What is wrong with a step, besides an error that it reports itself.
enum class Flaw : std::uint8_t {
  none,
  failed,      // It reports an error, and no later step made up for it.
  error_like,  // Its result reports an error.
  empty,       // Its result is empty, which is unusual for its tool.
  odd,         // Its result lacks what most others of the tool have.
};

struct StepFacts {
  std::size_t index = 0;  // In the trajectory.
  const Step* step = nullptr;
  bool is_call = false;
  std::size_t tool = 0;  // Steps without a tool share one number.
  std::size_t room = 0;  // Bytes of text in its result and in the model's output.
  bool failed = false;
  bool hollow = false;                          // Its input has an empty value.
  std::vector<std::string_view> hollow_keys{};  // Their keys.
  std::uint64_t input_hash = 0;
  std::vector<std::uint64_t> taken_hashes{};  // Of `taken`, ascending.
  bool empty_result = false;                  // As far as it was read.
  std::vector<StepValue> taken{};
  std::vector<StepValue> given{};
  Flaw flaw = Flaw::none;
};

// The newest steps that no rollback restored, at most 256. Refers to the trajectory. Linear in the
// steps' sizes: members, values and bytes searched inside longer texts are limited in total, and
// the newest steps are read first.
class StepLinks {
 public:
  StepLinks(const Trajectory& trajectory, std::size_t oldest);

  [[nodiscard]] const std::vector<StepFacts>& steps() const noexcept { return steps_; }
  // Whether some result of the step's tool has this member.
  [[nodiscard]] bool should_give(const StepFacts& step, std::string_view key) const;
  // Whether some call of the second tool uses a result of the first; by tool number.
  [[nodiscard]] bool feeds(std::size_t tool, std::size_t later_tool) const;
  // Whether its tool uses no results and nothing uses its own: a log, a status.
  [[nodiscard]] bool is_aside(const StepFacts& step) const;
  // Whether it uses the result of an earlier step.
  [[nodiscard]] static bool is_fed(const StepFacts& step);

 private:
  // What is known of all calls of one tool.
  struct Tool {
    std::size_t results = 0;  // Non-null results of calls that did not fail.
    std::size_t objects = 0;  // Among them.
    std::size_t calls = 0;    // Calls that did not fail.
    std::size_t empty = 0;    // Calls among them whose result is empty.
    std::map<std::string_view, std::size_t> members{};  // In how many results each member occurs.
    std::vector<std::string> usual{};  // Members that more than half of the results have.
    std::vector<bool> feeds{};         // By the number of the later tool.
    bool fed = false;                  // Some call uses a result.
    bool answers = false;              // Some call is without a flaw.
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
