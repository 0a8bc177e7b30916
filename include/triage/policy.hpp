// SPDX-License-Identifier: MIT
#pragma once
// The interface between the core and recovery strategies: facts in, decision out.

#include "triage/classification.hpp"
#include "triage/clock.hpp"
#include "triage/guard.hpp"
#include "triage/result.hpp"
#include "triage/taxonomy.hpp"
#include "triage/trajectory.hpp"
#include "triage/usage.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

struct AgentContract;  // contract.hpp
struct Limits;         // limits.hpp

// The position that a rollback restores.
struct RollbackTarget {
  enum class Kind : std::uint8_t {
    last_good,   // The newest intact checkpoint before the step blamed for the failure. A further
                 // default rollback of the run that would restore a used target, or one made since
                 // after as many steps, goes one further back.
    latest,      // The newest checkpoint, even at the failure itself.
    label,       // The newest checkpoint with this label.
    checkpoint,  // This checkpoint id.
    back,        // `back` checkpoints before the newest one.
  };
  Kind kind = Kind::last_good;
  std::string name{};     // Label or checkpoint id.
  int back = 0;           // 0 or more.
  bool or_start = false;  // If nothing is left to restore, start over instead of escalating.
};

// What to do next. Chosen by a strategy, executed by the run loop.
struct RecoveryAction {
  enum class Kind : std::uint8_t {
    retry,     // Start over, after a wait.
    replan,    // Start over, told to make a new plan.
    rollback,  // Continue from an earlier checkpoint.
    resume,    // Continue from the newest checkpoint, told which subgoal is open.
    escalate,  // Return the failure to the caller.
    suspend,   // Wait for a decision from outside.
    abort,     // Give up on purpose.
    fallback,  // Return a substitute, marked as degraded.
  };
  Kind kind = Kind::escalate;
  std::string hint{};     // For the next attempt.
  std::string subgoal{};  // resume: the open subgoal.
  std::string message{};  // escalate, suspend, abort: the reason, for people.
  Duration delay{0};      // retry: wait before the next attempt; not negative.
  RollbackTarget target{};
  std::optional<WallTime> until{};             // suspend: when to continue without a decision.
  std::vector<std::string> allowed_actions{};  // suspend: kinds decide() accepts; empty: all.
  // fallback: the answer. retry: state to start from.
  std::shared_ptr<const nlohmann::json> value{};
  // suspend: how long the token is valid; empty: for ever.
  std::optional<Duration> expires_after{};

  static RecoveryAction retry(std::string hint = {}, Duration delay = {});
  static RecoveryAction replan(std::string hint = {});
  static RecoveryAction rollback(RollbackTarget target = {});
  static RecoveryAction resume(std::string subgoal = {}, std::string hint = {});
  static RecoveryAction escalate(std::string message = {});
  static RecoveryAction suspend(std::string message = {});
  static RecoveryAction abort(std::string reason = {});
  static RecoveryAction fallback(nlohmann::json value);
};

// "retry" and so on; stored, and used in policy files.
[[nodiscard]] std::string_view to_string(RecoveryAction::Kind kind) noexcept;
[[nodiscard]] std::optional<RecoveryAction::Kind> parse_recovery_kind(
    std::string_view name) noexcept;
// One line for people: "retry after 1.5 s (hint: …)".
[[nodiscard]] std::string describe(const RecoveryAction& action);

// A failure this run has already handled.
struct HistoryEntry {
  FailureType type = FailureType::unknown;
  RecoveryAction::Kind action = RecoveryAction::Kind::escalate;
  std::string reason{};
  std::string decided_by{};  // DecideOptions::who, for a decision from outside.
  bool refused = false;      // A gate of the agent refused: there was no attempt.

  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

// All inputs of a strategy's decision. Decisions can be replayed from it without a clock,
// randomness or I/O. Copies are snapshots.
struct FailureContext {
  Classification classification{};
  int attempt_number = 1;               // Number of the failed attempt, from 1.
  std::vector<HistoryEntry> history{};  // Earlier failures of this run, oldest first.
  Trajectory trajectory{};              // Of the failed attempt.
  std::string task{};                   // As text; JSON if it was not a text.
  Duration elapsed{0};  // Since the start if a deadline, max_elapsed, store or observer is set;
                        // else since the first failure.
  double random = 0.0;  // In [0, 1), drawn by the run loop.
  std::string text{};   // The failure's text.
  std::string exception_type{};         // Empty if there was none.
  std::optional<Duration> remaining{};  // Until the nearest deadline; empty without one.
  Usage usage{.calls = 0};              // Of the run so far.
  std::vector<std::string> tools{};     // Names in the contract's manifest; empty without one.
  std::optional<std::string> incomplete_subgoal{};  // The contract's first open one.
  std::string run_id{};                             // Empty if the run has needed none.
  std::vector<std::string> notes{};  // Problems while handling this failure: exceptions from hooks,
                                     // strategies and classifiers, store errors.
  // The whole contract, schemas included; null without one.
  std::shared_ptr<const AgentContract> contract{};
  // A gate of the agent refused: there was no attempt, and attempt_number is the previous one's.
  bool refused = false;

  [[nodiscard]] FailureType type() const noexcept { return classification.type; }
  // The number of earlier failures of this type in the run. Refusals are not attempts: they do not
  // count for a failure, and for a refusal only those directly before it count.
  [[nodiscard]] int previous(FailureType type) const noexcept;
  // The number of failures of this failure's type so far, this one included; from 1.
  [[nodiscard]] int occurrence() const noexcept { return previous(type()) + 1; }
};

// A pure function from FailureContext to RecoveryAction, with a description for the run's
// fingerprint and for explanations. Converts from anything callable.
class Strategy {
 public:
  using Function = std::function<RecoveryAction(const FailureContext&)>;

  Strategy() = default;
  Strategy(std::string description, Function decide, int max_attempts = 0)
      : decide_(std::move(decide)),
        description_(std::move(description)),
        max_attempts_(max_attempts) {}
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Strategy> &&
           std::is_invocable_r_v<RecoveryAction, const std::remove_cvref_t<F>&,
                                 const FailureContext&>)
      Strategy(
          F&& decide)  // NOLINT(bugprone-forwarding-reference-overload,google-explicit-constructor)
      : decide_(std::forward<F>(decide)), description_("custom") {}

  // A strategy with invalid options. An agent refuses a policy that contains one (check_policy); if
  // asked anyway, it escalates and says why. `problem` starts with the option's name, then says its
  // value and what is allowed: "max_attempts is 0; allowed is 1 or more".
  [[nodiscard]] static Strategy invalid(std::string description, std::string problem);

  [[nodiscard]] RecoveryAction operator()(const FailureContext& context) const {
    return decide_(context);
  }
  explicit operator bool() const noexcept { return static_cast<bool>(decide_); }
  // "retry_with_backoff(max_attempts=5, …)".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }
  // The most attempts it makes for one type; 0 if it does not count. Used to warn of settings that
  // the run's limits make unreachable.
  [[nodiscard]] int max_attempts() const noexcept { return max_attempts_; }
  // What is wrong with its options; empty if nothing.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  Function decide_{};
  std::string description_{};
  int max_attempts_ = 0;
  std::string problem_{};
};

// Failure type → strategy. A value.
class FailurePolicy {
 public:
  // Sets the strategy for one type; the last call wins.
  FailurePolicy& on(FailureType type, Strategy strategy);
  // Sets the strategy for all types without one.
  FailurePolicy& otherwise(Strategy strategy);
  // Sets the strategy for failures that satisfy `predicate`, whatever their type. Conditions come
  // before types, in the order of these calls. `predicate` must be pure. `name` becomes part of the
  // description, and so of the fingerprint.
  using Predicate = std::function<bool(const FailureContext&)>;
  FailurePolicy& when(Predicate predicate, Strategy strategy, std::string name = "custom");

  // The strategy for this type, else the default, else null.
  [[nodiscard]] const Strategy* resolve(FailureType type) const noexcept;
  // As set, empty ones included; for checks of a whole policy.
  [[nodiscard]] const Strategy& own(FailureType type) const noexcept;
  [[nodiscard]] const Strategy& by_default() const noexcept { return default_; }
  struct Condition {
    std::string name{};
    Predicate predicate{};
    Strategy strategy{};
  };
  [[nodiscard]] const std::vector<Condition>& conditions() const noexcept { return conditions_; }
  // Asks the strategy of the first condition that holds, else the type's, else the default. Without
  // one, escalates with a message that names the type.
  [[nodiscard]] RecoveryAction decide(const FailureContext& context) const;
  // One line per type with its strategy. Equal policies give equal texts.
  [[nodiscard]] std::string describe() const;

 private:
  std::array<Strategy, failure_type_count> by_type_{};
  Strategy default_{};
  std::vector<Condition> conditions_{};
};

// For FailurePolicy::when: the exception has this type. A name without a scope matches in any
// scope: "ConnectionError" matches "requests.ConnectionError" and "net::ConnectionError".
[[nodiscard]] FailurePolicy::Predicate exception_is(std::string name);

// Errors: Errc::invalid_argument if a strategy has a problem or was made from a null function. The
// text names the failure type (or "default"), the strategy, the option, its value and what is
// allowed.
[[nodiscard]] Result<void> check_policy(const FailurePolicy& policy);

// One sentence for each strategy that wants more attempts than the limits allow, so that its last
// decisions are never reached. In the order of all_failure_types, the default last.
[[nodiscard]] std::vector<std::string> unreachable_settings(const FailurePolicy& policy,
                                                            const Limits& limits);

}  // namespace triage::inline v0_1
