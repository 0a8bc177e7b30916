// SPDX-License-Identifier: MIT
#pragma once
// When a workflow run makes checkpoints, from which it can be restored or branch off.

#include "triage/checkpoint.hpp"
#include "triage/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::workflow {

// Possible reasons for a checkpoint. The names (to_string) are stable.
enum class CheckpointTrigger : std::uint8_t {
  run_started,          // Nothing has run yet. Always makes the entry checkpoint.
  superstep_ended,      // A superstep in which the executor ran. Not if eager.
  task_started,         // An executor is about to get a message.
  task_completed,       // An executor has finished with a message.
  task_failed,          // A delivery has failed for good.
  agent_step,           // Context::record_step.
  llm_call_completed,   // A step with Step::llm_output.
  tool_call_completed,  // A step with Step::tool_called.
  request_opened,       // An executor starts waiting for an answer.
  response_accepted,    // The run continues with an answer.
  plan_patched,         // Context::plan_patched, called by a Team's coordinator.
  before_effect,        // Context::effect is about to be called.
  terminate_signal,     // The run was paused, aborted, or stopped by its stop token.
  all,                  // Every trigger above that can happen.
};
[[nodiscard]] std::string_view to_string(CheckpointTrigger trigger) noexcept;
[[nodiscard]] std::optional<CheckpointTrigger> parse_trigger(std::string_view name) noexcept;

// A set of triggers. Default-constructed, it stands for the default of its place: superstep_ended
// for a workflow of supersteps, task_completed for eager workflows and for executors.
class CheckpointTriggers {
 public:
  constexpr CheckpointTriggers() = default;
  constexpr CheckpointTriggers(CheckpointTrigger one) : CheckpointTriggers({one}) {}
  constexpr CheckpointTriggers(std::initializer_list<CheckpointTrigger> some) : bits_(0) {
    for (const CheckpointTrigger one : some) bits_ |= bit(one);
  }
  // Only entry checkpoints, those by Every, and labelled ones.
  [[nodiscard]] static constexpr CheckpointTriggers none() {
    return CheckpointTriggers(std::initializer_list<CheckpointTrigger>{});
  }

  // Of the default, it makes a set with only this one.
  constexpr CheckpointTriggers& add(CheckpointTrigger one) noexcept {
    bits_ = (is_default() ? 0 : bits_) | bit(one);
    return *this;
  }
  [[nodiscard]] constexpr bool is_default() const noexcept { return bits_ == standard; }
  [[nodiscard]] constexpr bool is_all() const noexcept {
    return !is_default() && (bits_ & bit(CheckpointTrigger::all)) != 0;
  }
  // Always false for the default.
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

// Once one of these is reached since the last checkpoint, the next event makes a checkpoint. 0:
// never. Times are checked at events; no thread waits for them.
struct Every {
  Duration time{0};
  std::size_t steps = 0;  // Context::record_step.
  std::size_t bytes = 0;  // Left behind by finished deliveries, as JSON.
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

// When checkpoints are made automatically. A run always has one at its entry, with its inputs. They
// are best-effort: if one cannot be stored, the event checkpoint_save_failed is sent, and the next
// one includes what it missed. A checkpoint is a position in the journal of about 60 bytes; what
// executors have finished is stored whatever the policy. All are durable once made, but those of
// task_started without an observer and max_checkpoints: they are stored with what comes next.
struct CheckpointPolicy {
  CheckpointTriggers on{};
  Every every{};
  // How many of the newest automatic checkpoints stay; 0: all. That of the run's own policy, or
  // else its workflow's, counts. When there is one more, the oldest goes and cannot be restored any
  // more (Errc::not_found). Besides them stay the entry, labelled ones and those that the run was
  // restored to; a branch has a copy of what it needs. The changes of the state that only removed
  // ones need go later, some at a time. WorkflowRun::checkpoints() never lists more, but a store
  // that cannot compact (see triage/compaction.hpp) keeps all, and one that writes whole runs
  // (CompactsRuns::writes_whole_runs) up to twice as many, or 16 more.
  std::size_t max_checkpoints = 0;
};

// A checkpoint of a workflow's run. The trigger of an automatic one is "run_started" (the entry),
// "terminate_signal", "superstep_ended/SUPERSTEP", or "TRIGGER/EXECUTOR/OCCURRENCE".
using WorkflowCheckpoint = CheckpointInfo;

// The checkpoints of an executor or a nested workflow.
class CheckpointChoice {
 public:
  enum class Kind : std::uint8_t { inherit, own, off };

  constexpr CheckpointChoice() = default;
  // Its own policy, replacing the surrounding one.
  constexpr CheckpointChoice(CheckpointPolicy own) : kind_(Kind::own), policy_(std::move(own)) {}
  // The surrounding workflow's policy, at every depth.
  [[nodiscard]] static constexpr CheckpointChoice inherit() { return {}; }
  // It makes no checkpoints, and its private state is not stored: after resuming, that is empty.
  // Until then it is kept, also for a retry. So are finished work, shared state and effects.
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
