// SPDX-License-Identifier: MIT
#pragma once
// A callable's view of its run: records what the callable does and tells it why it runs again.

#include "triage/budget.hpp"
#include "triage/contract.hpp"
#include "triage/detail/later.hpp"
#include "triage/effect.hpp"
#include "triage/failure.hpp"
#include "triage/gate.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/run_id.hpp"
#include "triage/state.hpp"
#include "triage/step.hpp"
#include "triage/trajectory.hpp"
#include "triage/usage.hpp"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1 {

class Attempt;
namespace detail {
class Run;
class AttemptPool;
class AttemptUse;
void report_failure(Attempt& attempt, Error&& error);
// Only inside a catch block.
[[nodiscard]] Error unreadable_effect(std::string_view key);
}  // namespace detail

// Why this attempt was made; for every attempt but the first of its run.
struct Recovery {
  RecoveryAction::Kind action = RecoveryAction::Kind::retry;
  FailureType failure_type = FailureType::unknown;
  std::string reason{};  // Classification::reason of the failure.
  // The strategy's hint; without one, how the contract was broken or what was restored, if either
  // applies.
  std::string hint{};
  std::string subgoal{};  // resume: the open subgoal.
  std::vector<Evidence> evidence{};
  std::string checkpoint_id{};       // What was restored; empty if nothing was.
  std::vector<std::string> tools{};  // Names in the contract's manifest, if there is one.
  // The whole contract: manifest with schemas, subgoals, limits. Null without one.
  std::shared_ptr<const AgentContract> contract{};
};

// Thrown when the attempt must stop: by effect(), sleep_until(), sleep_for() and wait(). Do not
// catch it: the attempt's result is discarded even if you do. It is not a std::exception, so `catch
// (const std::exception&)` misses it. On a thread that the callable started it terminates the
// process, like any exception that leaves a thread: use TaskGroup (triage/task_group.hpp) or
// try_effect there.
struct AttemptStopped {};

template <class T>
concept JsonWritable = requires(const T& value) {
  Json(value);
};
template <class T>
concept JsonReadable = requires(const Json& json) {
  { json.template get<T>() } -> std::convertible_to<T>;
};
template <class T>
concept JsonConvertible = JsonWritable<T> && JsonReadable<T>;

// Thread-safety: the threads of one callable may call all members at once. The callable must join
// the threads it starts, as TaskGroup does. An attempt that ends waits for calls in progress. Calls
// made after the callable has returned do nothing: the stop token is triggered, results are errors,
// effect() throws; those made before the run ends are reported as the event late_call. This holds
// while the agent lives and until 1,024 more of its attempts have ended; after that, and at once in
// a process without other threads, another attempt may reuse the memory. References from run_id()
// and recovery() are valid until the callable returns.
class Attempt {
 public:
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // 1 for the first attempt of the run. A number is skipped if its attempt could not be made: the
  // process died before the callable was called, or an effect stayed in doubt.
  [[nodiscard]] int number() const noexcept { return number_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& run_id() const;
  // Null in the first attempt of a run.
  [[nodiscard]] const Recovery* recovery() const noexcept;
  // Triggered by a stop, and when the time of the attempt or of the run is over: attempt_timeout,
  // the deadline or max_elapsed, or that of a run around it. The first call for a run with a
  // deadline or max_elapsed sets an alarm (Clock::alarm: a thread), until the attempt ends.
  [[nodiscard]] std::stop_token stop_token() const;
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  // The state that a rollback or resume restored, with this attempt's updates. Empty at the start
  // of a run and after RETRY and REPLAN; in a branch (fork), the state it branched off with.
  [[nodiscard]] State state() const;
  // The state as a type with nlohmann conversions; a value-initialised T if it is empty.
  template <JsonReadable T>
  [[nodiscard]] T state() const {
    const State now = state();
    return now.empty() ? T{} : now.json().template get<T>();
  }
  // The restored steps, then those of this attempt.
  [[nodiscard]] Trajectory trajectory() const;

  // Records an action; its index is its position in the trajectory. O(step), and no I/O unless the
  // write mode is `immediate` or the queue is full; a contract with rules for steps adds the cost
  // of judge_step. Errors are sticky: see error().
  void record_step(Step&& step);
  void record_step(const Step& step);
  // The same with JSON values as bytes, in place of those that `step` leaves null. Malformed bytes
  // and values nested deeper than max_json_depth are sticky errors.
  void record_step(const Step& step, const StepValues& values);
  // Merges the top-level keys of a JSON object into the state. O(changed). The change belongs to
  // the checkpoint of the preceding step. Anything but an object is a sticky error.
  void update_state(Json patch);
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Json> && JsonWritable<std::remove_cvref_t<T>> &&
           !std::is_convertible_v<T, Json::initializer_list_t>) void update_state(const T& value) {
    update_state(Json(value));
  }
  void remove_state(std::string_view key);  // Does nothing if the key is missing.
  void replace_state(Json state);           // Must be an object.
  void record_usage(const Usage& usage);
  // Sets what this agent promises, from now on; replaces AgentOptions::contract. A contract that
  // check_contract refuses is a sticky error.
  void set_contract(AgentContract contract);
  // Marks a subgoal of the contract as reached: records an idempotent step whose
  // metadata["completes_subgoal"] is the name. A rollback to before it reopens the subgoal. Your
  // own steps may set that key too, to a name or a list of names.
  void complete_subgoal(std::string_view name);

  // Makes a checkpoint named `label` (1 to 256 bytes, not beginning with "triage/"), durable on
  // return in every write mode. The newest one with a name wins. Errors: Errc::invalid_argument;
  // the store's if it cannot guarantee its durability (the checkpoint may then exist without the
  // name).
  Result<CheckpointId> checkpoint(std::string_view label);

  // Runs fn at most once in the life of the run, across attempts, rollbacks and crashes; later
  // calls return its recorded result. The intent is durable before fn runs, the result before this
  // returns. key: 1 to 512 bytes. fn may take its idempotency key or the EffectCall, and returns
  // void or a type with nlohmann conversions. A hash of the arguments is stored to detect that the
  // key is used for something else. If fn throws EffectNotDone, the key is free again; any other
  // exception leaves the effect in doubt, which the next call settles by `reconcile` or as the
  // semantics say. A second thread with the same key waits. After the deadline, an effect without a
  // recorded result fails as a timeout. Throws AttemptStopped where try_effect returns an error;
  // the run ends with that error.
  template <EffectFunction Fn>
  auto effect(std::string_view key, Fn&& fn, const EffectOptions& options = {})
      -> detail::effect_result_t<Fn> {
    return settled(effect_as<detail::effect_result_t<Fn>>(key, nullptr, fn, options));
  }
  template <EffectFunction Fn>
  auto effect(std::string_view key, const Json& arguments, Fn&& fn,
              const EffectOptions& options = {}) -> detail::effect_result_t<Fn> {
    return settled(effect_as<detail::effect_result_t<Fn>>(key, &arguments, fn, options));
  }
  // Like effect(), but returns errors. Errors: Errc::in_doubt; Errc::conflict (the key was used
  // with other arguments, or its recorded result has another type); Errc::invalid_argument (key,
  // arguments, an unregistered name); Errc::escalated (the deadline has passed: return it); the
  // store's. Exceptions from fn pass through.
  template <EffectFunction Fn>
  auto try_effect(std::string_view key, Fn&& fn, const EffectOptions& options = {})
      -> Result<detail::effect_result_t<Fn>> {
    return effect_as<detail::effect_result_t<Fn>>(key, nullptr, fn, options);
  }
  template <EffectFunction Fn>
  auto try_effect(std::string_view key, const Json& arguments, Fn&& fn,
                  const EffectOptions& options = {}) -> Result<detail::effect_result_t<Fn>> {
    return effect_as<detail::effect_result_t<Fn>>(key, &arguments, fn, options);
  }

  // Asks the agent's gates before a call and waits if they say so, never beyond the deadline.
  // Report to the permit how the call went. Errors: the failure that fail() would return, with the
  // gate's reason (return it); Errc::cancelled if the run is cancelled.
  [[nodiscard]] Result<Permit> enter(std::string_view tool, std::string_view endpoint = {},
                                     bool retry = false);
  // Reserves `estimate` from the budgets of the agent and the agents around it, before spending.
  // Then settle() the reservation with the actual usage. Errors: the failure that fail() would
  // return, of type quota_exhausted with the reason budget_spent; Errc::invalid_argument.
  [[nodiscard]] Result<Reservation> reserve(const Usage& estimate);

  // Asks AgentOptions::guard before a step is taken; without a guard every step is allowed. Return
  // the error: a denied step is a failure of type constraint_ignored. A step to ask about suspends
  // the run; deciding on retry or resume approves the same tool with the same input for the rest of
  // the run. Errors: these; Errc::invalid_argument.
  [[nodiscard]] Result<void> propose_step(const Step& step);
  // Waits until `when`. If that is longer than Limits::max_wait and the store is durable, suspends
  // the run: throws AttemptStopped, run returns Errc::suspended, and resume_due() calls the
  // callable again, which then passes this call. Otherwise, or with strict_idempotency after a step
  // that must not be repeated, waits on the injected clock. Also throws AttemptStopped if the run
  // is cancelled or `when` is after its deadline. Pass the same time at each call. If it varies
  // (now + 2 h), a call is taken for the one that suspended the run if length, state and the number
  // of earlier sleeps with that state are equal: better use sleep_for.
  void sleep_until(WallTime when);
  template <class Resolution>  // Rounded up to milliseconds.
  void sleep_until(std::chrono::sys_time<Resolution> when) {
    sleep_until(detail::wall_time_of(when));
  }
  // Whether a wait longer than Limits::max_wait would suspend the run. If not, all waits take place
  // in the calling thread.
  [[nodiscard]] bool can_suspend() const;
  // Waits for `length`. The first call in the run records when the sleep named `name` (1 to 256
  // bytes) ends; all later attempts and processes wait for that same end. Otherwise like
  // sleep_until.
  void sleep_for(std::string_view name, Duration length);
  // Returns the value that agent.signal(run, name, …) sent, or nothing if none came by `deadline`.
  // The answer is recorded: the same name always gets the same answer, also after a crash. A wait
  // longer than Limits::max_wait suspends the run like sleep_until; a signal makes it due. name: 1
  // to 256 bytes. Throws AttemptStopped like sleep_until, and if there is no store.
  [[nodiscard]] std::optional<Json> wait(std::string_view name, WallTime deadline);
  template <class Resolution>  // Rounded up to milliseconds.
  [[nodiscard]] std::optional<Json> wait(std::string_view name,
                                         std::chrono::sys_time<Resolution> deadline) {
    return wait(name, detail::wall_time_of(deadline));
  }
  // Like wait(), but returns at once: what was sent so far, or nothing if the store cannot be read
  // just now (with OnStoreError::fail that ends the run). An empty answer is not recorded.
  [[nodiscard]] std::optional<Json> received(std::string_view name);
  // Keeps the run's lease, if it is time to. Recording keeps it, too: an attempt that records
  // nothing for long calls this every StoreCapabilities::renew_every, since another host may take
  // the run over otherwise. Errors: Errc::fenced if one has, and everything must end; those of the
  // store, which may pass.
  [[nodiscard]] Result<void> keep_lease();

  // Reports a failure: `return attempt.fail({.text = …, .http_status = 503});`
  [[nodiscard]] Error fail(Failure failure);

  // The first error of a void member above, if any. It ends the run when the callable returns,
  // whatever that returns.
  [[nodiscard]] std::optional<Error> error() const;

 private:
  friend class detail::Run;
  friend class detail::AttemptPool;
  friend class detail::AttemptUse;
  static constexpr std::uint32_t closed = std::uint32_t{1} << 31U;
  static constexpr std::uint32_t awaited = std::uint32_t{1}
                                           << 30U;  // Somebody waits for the calls.

  Attempt() noexcept = default;
  void report_error(Error&& error);
  void child_failed(std::shared_ptr<const FailureContext> failure);
  friend void detail::report_failure(Attempt& attempt, Error&& error);
  [[noreturn]] void stop(Error error);
  [[noreturn]] void give_up(Error error);
  Result<Json> effect_json(const detail::EffectRequest& request);
  template <class T, class Fn>
  Result<T> effect_as(std::string_view key, const Json* arguments, Fn& fn,
                      const EffectOptions& options);
  template <class T>
  T settled(Result<T> done) {
    if (!done) give_up(std::move(done).error());
    if constexpr (!std::is_void_v<T>) return std::move(done).value();
  }

  detail::Run* run_ = nullptr;
  std::atomic<int> number_{0};
  mutable std::atomic<std::uint32_t> users_{closed};  // Calls by other threads, and the two flags.
  std::atomic<std::uintptr_t> thread_{0};             // Runs the callable.
  Attempt* next_ = nullptr;                           // In its run's list, or that of closed ones.
};

template <class T, class Fn>
Result<T> Attempt::effect_as(std::string_view key, const Json* arguments, Fn& fn,
                             const EffectOptions& options) {
  if constexpr (!std::is_void_v<T> && !JsonConvertible<T>) {
    static_assert(detail::always_false<T>,
                  "triage: an effect's result is stored: give its type to_json and from_json");
    return Error{Errc::invalid_argument, {}};  // Avoids follow-up diagnostics.
  } else {
    const std::function<Json(const EffectCall&)> call = [&fn](const EffectCall& effect) {
      return detail::effect_as_json(fn, effect);
    };
    Result<Json> done =
        effect_json({.key = key, .arguments = arguments, .fn = &call, .options = &options});
    if (!done) return outcome::failure(std::move(done).error());
    if constexpr (std::is_void_v<T>) {
      return outcome::success();
    } else {
      try {
        return outcome::success(done.value().template get<T>());
      } catch (...) {
        return detail::unreadable_effect(key);
      }
    }
  }
}

}  // namespace triage::inline v0_1
