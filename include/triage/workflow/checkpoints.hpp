// SPDX-License-Identifier: MIT
#pragma once
// When a run of a workflow makes checkpoints: places that it can be restored to, or branch off at.

#include "triage/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::workflow {

// What may lead to a checkpoint. The names (to_string) are fixed.
enum class CheckpointTrigger : std::uint8_t {
  run_started,          // Nothing has run yet. The entry: made whatever the policy.
  superstep_ended,      // In which the executor ran. Not in an eager workflow.
  task_started,         // An executor is about to get a message.
  task_completed,       // An executor has finished with a message.
  task_failed,          // A delivery has failed for good.
  agent_step,           // Context::record_step.
  llm_call_completed,   // A step with Step::llm_output.
  tool_call_completed,  // A step with Step::tool_called.
  request_opened,       // An executor has begun to wait for an answer.
  response_accepted,    // The run goes on with an answer.
  plan_patched,         // Context::plan_patched, as the coordinator of a Team does.
  before_effect,        // Context::effect is about to be called.
  terminate_signal,     // The run was stopped by its stop token.
  all,                  // Every one of these that can happen.
};
[[nodiscard]] std::string_view to_string(CheckpointTrigger trigger) noexcept;
[[nodiscard]] std::optional<CheckpointTrigger> parse_trigger(std::string_view name) noexcept;

// A set of triggers. Made without any it stands for the default of where it is used:
// superstep_ended for a workflow of supersteps, task_completed for an eager one and for executors.
class CheckpointTriggers {
 public:
  constexpr CheckpointTriggers() = default;
  constexpr CheckpointTriggers(CheckpointTrigger one) : CheckpointTriggers({one}) {}
  constexpr CheckpointTriggers(std::initializer_list<CheckpointTrigger> some) : bits_(0) {
    for (const CheckpointTrigger one : some) bits_ |= bit(one);
  }
  // Only the entry checkpoint, those by Every and those with a label.
  [[nodiscard]] static constexpr CheckpointTriggers none() {
    return CheckpointTriggers(std::initializer_list<CheckpointTrigger>{});
  }

  [[nodiscard]] constexpr bool is_default() const noexcept { return bits_ == standard; }
  [[nodiscard]] constexpr bool is_all() const noexcept {
    return !is_default() && (bits_ & bit(CheckpointTrigger::all)) != 0;
  }
  // False for all of them as long as this is the default.
  [[nodiscard]] constexpr bool contains(CheckpointTrigger one) const noexcept {
    return !is_default() && (bits_ & (bit(one) | bit(CheckpointTrigger::all))) != 0;
  }
  friend constexpr bool operator==(const CheckpointTriggers&, const CheckpointTriggers&) = default;

 private:
  static constexpr std::uint32_t standard = 1U << 31U;
  static constexpr std::uint32_t bit(CheckpointTrigger one) {
    return 1U << static_cast<std::uint32_t>(one);
  }
  std::uint32_t bits_ = standard;
};

// As soon as one of these is reached since the last checkpoint, the next thing that happens makes
// one. 0: never. Times are looked at when something happens, no thread waits for them.
struct Every {
  Duration time{0};
  std::size_t steps = 0;  // Context::record_step.
  std::size_t bytes = 0;  // Of what finished deliveries have left behind, as JSON.
};
struct Steps {
  std::size_t count = 0;
};
struct Bytes {
  std::size_t count = 0;
};
[[nodiscard]] constexpr Every every(Duration time) { return {.time = time}; }
[[nodiscard]] constexpr Every every(Steps steps) { return {.steps = steps.count}; }
[[nodiscard]] constexpr Every every(Bytes bytes) { return {.bytes = bytes.count}; }

// When checkpoints are made by themselves. A run always has one at its entry, with its inputs.
// They are best-effort: one that cannot be stored is the event checkpoint_save_failed, and the next
// one carries what it missed. A checkpoint is a place in the journal and takes some 60 bytes; what
// executors have finished is stored whatever the policy.
struct CheckpointPolicy {
  CheckpointTriggers on{};
  Every every{};
  // WorkflowRun::checkpoints() lists the newest so many of those made by themselves, beside the
  // entry and those with a label. 0: all. A branch keeps what it needs.
  std::size_t max_checkpoints = 0;
};

// What an executor, or a nested workflow, has to do with checkpoints.
class CheckpointChoice {
 public:
  enum class Kind : std::uint8_t { inherit, own, off };

  constexpr CheckpointChoice() = default;
  // Its own policy, instead of the one around it.
  constexpr CheckpointChoice(CheckpointPolicy own) : kind_(Kind::own), policy_(std::move(own)) {}
  // That of the workflow around it, at every depth.
  [[nodiscard]] static constexpr CheckpointChoice inherit() { return {}; }
  // Nothing of it makes a checkpoint, and its private state is not stored: going on, it begins
  // without any. What it has finished, its shared state and its effects are kept.
  [[nodiscard]] static constexpr CheckpointChoice off() {
    CheckpointChoice choice;
    choice.kind_ = Kind::off;
    return choice;
  }
  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr const CheckpointPolicy& policy() const noexcept { return policy_; }

 private:
  Kind kind_ = Kind::inherit;
  CheckpointPolicy policy_{};
};

}  // namespace triage::inline v0_1::workflow
