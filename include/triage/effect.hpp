// SPDX-License-Identifier: MIT
#pragma once
// Effects: what an agent does to the outside world, how doubts about them are resolved, and how
// they are undone.

#include "triage/clock.hpp"
#include "triage/detail/unwrapped.hpp"
#include "triage/json.hpp"

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1 {

// What to do with an effect in doubt: its function threw, its process died, or its result could not
// be stored.
enum class EffectSemantics : std::uint8_t {
  at_most_once,   // Reconcile it, else escalate. Never run again on a guess.
  at_least_once,  // Run it again: for what may happen twice.
  idempotent,     // Run it again with the same idempotency key, which the other side knows.
};
[[nodiscard]] std::string_view to_string(EffectSemantics semantics) noexcept;
[[nodiscard]] std::optional<EffectSemantics> parse_effect_semantics(std::string_view name) noexcept;

// One effect, as passed to its functions.
struct EffectCall {
  std::string key{};
  std::uint64_t generation = 1;   // Increases by one with each compensation.
  int attempt = 0;                // Increases with every attempt of the run, across crashes too.
  std::string idempotency_key{};  // 64 hexadecimal digits, fixed per run, key and generation. A
                                  // branch that asks about or repeats its origin's effect uses its
                                  // origin's key. A compensation has its own.
  Json result{};                  // In a compensation, what the effect returned; else null.
  std::optional<TimePoint> deadline{};  // Return before it; nothing is killed.
  std::stop_token stop_token{};  // Triggered by a stop and by attempt_timeout, not by `deadline`.
};

// Thrown by an effect's function if certainly nothing happened: the key is free again.
class EffectNotDone : public std::exception {
 public:
  explicit EffectNotDone(std::string cause) : cause_(std::move(cause)) {}
  [[nodiscard]] const char* what() const noexcept override { return cause_.c_str(); }

 private:
  std::string cause_;
};

// What a check of the outside world found out about an effect in doubt.
struct Reconciled {
  enum class Answer : std::uint8_t { unknown, not_done, done };
  Answer answer = Answer::unknown;
  Json result{};         // done: what the effect returned, or would have.
  std::string reason{};  // unknown: why, for people.

  [[nodiscard]] static Reconciled done(Json result = nullptr) {
    return {Answer::done, std::move(result), {}};
  }
  // Only if the effect can no longer happen: a request may still be in progress.
  [[nodiscard]] static Reconciled not_done() { return {Answer::not_done, {}, {}}; }
  [[nodiscard]] static Reconciled unknown(std::string reason = {}) {
    return {Answer::unknown, {}, std::move(reason)};
  }
};

// Finds out whether an effect in doubt happened: a function that takes nothing or the EffectCall,
// or the name of one in AgentOptions::reconciliations, which is stored and survives a crash. If it
// throws, the effect stays in doubt.
class Reconcile {
 public:
  using Function = std::function<Reconciled(const EffectCall&)>;

  Reconcile() = default;
  Reconcile(std::string name) : name_(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  Reconcile(const char* name) : name_(name) {}             // NOLINT(google-explicit-constructor)
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Reconcile> &&
           (std::is_invocable_r_v<Reconciled, std::remove_cvref_t<F>&> ||
            std::is_invocable_r_v<Reconciled, std::remove_cvref_t<F>&, const EffectCall&>))
      Reconcile(
          F&& function) {  // NOLINT(bugprone-forwarding-reference-overload,google-explicit-constructor)
    if (detail::is_null_function(function)) return;
    if constexpr (std::invocable<std::remove_cvref_t<F>&>) {
      function_ = [f = std::forward<F>(function)](const EffectCall&) mutable { return f(); };
    } else {
      function_ = std::forward<F>(function);
    }
  }

  explicit operator bool() const noexcept { return function_ || !name_.empty(); }
  [[nodiscard]] const Function& function() const noexcept { return function_; }  // Empty if named.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  Function function_{};
  std::string name_{};
};

// Undoes an effect: a function that takes nothing, the effect's result or the EffectCall, or the
// name of one in AgentOptions::compensations, which is stored and survives a crash. It returns once
// the effect is undone. EffectNotDone says that certainly nothing was undone; it is then called
// again. Any other exception or a crash leaves a doubt: `reconcile` finds out whether the effect
// was undone; if it cannot tell, `semantics` decides whether to call the function again.
class Compensation {
 public:
  using Function = std::function<void(const EffectCall&)>;

  Compensation() = default;
  Compensation(std::string name) : name_(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  Compensation(const char* name) : name_(name) {}             // NOLINT(google-explicit-constructor)
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Compensation> &&
           (std::invocable<std::remove_cvref_t<F>&> ||
            std::invocable<std::remove_cvref_t<F>&, const EffectCall&> ||
            std::invocable<std::remove_cvref_t<F>&, const Json&>))
      Compensation(
          F&& function,  // NOLINT(bugprone-forwarding-reference-overload,google-explicit-constructor)
          Reconcile reconcile = {}, EffectSemantics semantics = EffectSemantics::at_most_once)
      : reconcile_(std::move(reconcile)), semantics_(semantics) {
    using Plain = std::remove_cvref_t<F>;
    if (detail::is_null_function(function)) return;
    if constexpr (std::invocable<Plain&>) {
      function_ = [f = std::forward<F>(function)](const EffectCall&) mutable { f(); };
    } else if constexpr (std::invocable<Plain&, const EffectCall&>) {
      function_ = [f = std::forward<F>(function)](const EffectCall& call) mutable { f(call); };
    } else {
      function_ = [f = std::forward<F>(function)](const EffectCall& call) mutable {
        f(call.result);
      };
    }
  }

  explicit operator bool() const noexcept { return function_ || !name_.empty(); }
  [[nodiscard]] const Function& function() const noexcept { return function_; }  // Empty if named.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Reconcile& reconcile() const noexcept { return reconcile_; }
  [[nodiscard]] EffectSemantics semantics() const noexcept { return semantics_; }

 private:
  Function function_{};
  std::string name_{};
  Reconcile reconcile_{};
  EffectSemantics semantics_ = EffectSemantics::at_most_once;
};

struct EffectOptions {
  EffectSemantics semantics = EffectSemantics::at_most_once;
  Reconcile reconcile{};
  // Undoes the effect when the run gives up the work it belongs to: see CompensationOptions. Both
  // functions outlive this call and this attempt, so capture by value. They end with run(), or
  // whatever continued the run: after a suspension only registered names are known.
  Compensation compensate{};
};

// When effects are undone, and with which retries.
struct CompensationOptions {
  bool on_rollback = true;                      // Effects after the restored checkpoint.
  bool on_abort = true;                         // All effects of the run.
  bool on_escalate = true;                      // All effects of the run.
  Duration timeout = std::chrono::seconds(30);  // For one call, as EffectCall::deadline. Above 0.
  int max_attempts = 3;                         // Calls of one compensation; 1 to 100.
  Duration delay = std::chrono::seconds(1);     // Before the second call; doubles for each further
                                                // one. 0 to 1 hour.
};

// The parameter of an effect's function: nothing, its idempotency key, or the EffectCall.
template <class Fn>
concept EffectFunction = std::invocable<Fn&> || std::invocable<Fn&, const std::string&> ||
    std::invocable<Fn&, const EffectCall&>;

namespace detail {

template <class>
inline constexpr bool always_false = false;  // For assertions in branches that must not be taken.

template <EffectFunction Fn>
decltype(auto) call_effect(Fn& fn, [[maybe_unused]] const EffectCall& call) {
  if constexpr (std::invocable<Fn&>) {
    return fn();
  } else if constexpr (std::invocable<Fn&, const std::string&>) {
    return fn(call.idempotency_key);
  } else {
    return fn(call);
  }
}
template <class Fn>
using effect_result_t = std::remove_cvref_t<decltype(call_effect(
    std::declval<std::remove_reference_t<Fn>&>(), std::declval<const EffectCall&>()))>;

// Carries the effect out; its result as it is stored.
template <class Fn>
[[nodiscard]] Json effect_as_json(Fn& fn, const EffectCall& call) {
  if constexpr (std::is_void_v<effect_result_t<Fn>>) {
    call_effect(fn, call);
    return nullptr;
  } else {
    return Json(call_effect(fn, call));
  }
}

// What Attempt passes to the compiled core.
struct EffectRequest {
  std::string_view key{};
  const Json* arguments = nullptr;  // Null: none.
  const std::function<Json(const EffectCall&)>* fn = nullptr;
  const EffectOptions* options = nullptr;
};

}  // namespace detail

}  // namespace triage::inline v0_1
