// SPDX-License-Identifier: MIT
#pragma once
// What the callable sees of its run: it records what it does here, and learns why it runs again.

#include "triage/budget.hpp"
#include "triage/contract.hpp"
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
}  // namespace detail

// Why this attempt was made, if it is not the first one of its run.
struct Recovery {
  RecoveryAction::Kind action = RecoveryAction::Kind::retry;
  FailureType failure_type = FailureType::unknown;
  std::string reason{};  // Classification::reason of the failure.
  // From the strategy. If it gave none: how the contract was broken, or what was restored, if
  // either applies.
  std::string hint{};
  std::string subgoal{};  // resume: the open subgoal.
  std::vector<Evidence> evidence{};
  std::string checkpoint_id{};       // What was restored; empty if nothing was.
  std::vector<std::string> tools{};  // Names in the contract's manifest, if there is one.
  // The contract itself: the manifest with its schemas, subgoals, limits. Null without one.
  std::shared_ptr<const AgentContract> contract{};
};

// Thrown by effect() when the attempt cannot go on. Let it pass: the attempt's result is discarded
// even if it is swallowed. It is no std::exception, so that a catch-all for those does not eat it.
// On a thread that the callable started it ends the process, as any exception does that leaves a
// thread: use TaskGroup there (triage/task_group.hpp), or try_effect.
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

// Thread-safety: all members may be called from several threads of one callable at once. The
// callable joins what it starts; TaskGroup does. A run that ends waits for calls that other threads
// have begun. Calls that come after the callable has returned do nothing and see nothing (the stop
// token is triggered, results are errors, effect() throws); those before the end of the run are
// counted in the event late_call. That holds as long as the agent lives, and until 1,024 more
// attempts of it have ended: then the memory of an attempt may serve another one. In a process
// without other threads it does so at once. What run_id() and recovery() refer to is valid until
// the callable returns.
class Attempt {
 public:
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // 1 for the first attempt of the run. A number is left out where the run could not go on: its
  // process died before the callable was called, or an effect stayed in doubt.
  [[nodiscard]] int number() const noexcept { return number_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& run_id() const;
  // Null in the first attempt of a run.
  [[nodiscard]] const Recovery* recovery() const noexcept;
  [[nodiscard]] std::stop_token stop_token() const;
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  // What a rollback or resume restored, with this attempt's updates; empty at the start of a run
  // and after RETRY and REPLAN. In a branch (fork) those begin with the state it branched off with.
  [[nodiscard]] State state() const;
  // The same as a type with nlohmann conversions; a value-initialised T if the state is empty.
  template <JsonReadable T>
  [[nodiscard]] T state() const {
    const State now = state();
    return now.empty() ? T{} : now.json().template get<T>();
  }
  // The steps of this attempt, after those that were restored.
  [[nodiscard]] Trajectory trajectory() const;

  // Records an action. O(1), no I/O unless the write mode is `immediate` or the queue is full; with
  // a contract that speaks of steps, what judging the step takes: see judge_step. Its index is its
  // place in the trajectory. Errors are sticky: see error().
  void record_step(Step&& step);
  void record_step(const Step& step) { record_step(Step(step)); }
  // Merges the top-level keys of a JSON object into the state. Belongs to the checkpoint of the
  // step before it. O(changed). Anything but an object is a sticky error.
  void update_state(Json patch);
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Json> && JsonWritable<std::remove_cvref_t<T>> &&
           !std::is_convertible_v<T, Json::initializer_list_t>) void update_state(const T& value) {
    update_state(Json(value));
  }
  void remove_state(std::string_view key);  // Nothing happens if there is no such key.
  void replace_state(Json state);           // Must be an object.
  void record_usage(const Usage& usage);
  // Declares what this agent promises; checked from now on. Replaces AgentOptions::contract. One
  // that check_contract refuses is a sticky error.
  void set_contract(AgentContract contract);
  // Says that a subgoal of the contract is reached. Records an idempotent step whose
  // metadata["completes_subgoal"] is the name, so that a rollback opens it again; a step of one's
  // own may have that key too, with a name or a list of names.
  void complete_subgoal(std::string_view name);

  // A checkpoint with a name (1 to 256 bytes), durable on return in every write mode. The newest
  // one of a name wins. Errors: Errc::invalid_argument; the store's, if it cannot keep its level;
  // what was recorded may be a checkpoint without the name then.
  Result<CheckpointId> checkpoint(std::string_view label);

  // Runs fn at most once in the life of the run, across attempts, rollbacks and crashes, and
  // returns its recorded result ever after. The intent is durable before fn runs, the result before
  // this returns. key: 1 to 512 bytes. fn's result needs nlohmann conversions, or is void; fn may
  // take its idempotency key or the EffectCall. Of the arguments a hash is stored, so that the same
  // key is not used for something else. An exception from fn leaves the effect in doubt, except
  // EffectNotDone, which frees the key. What is in doubt is settled by `reconcile` when the effect
  // is asked for again, or as the semantics say. A second thread on the same key waits. Throws
  // AttemptStopped if try_effect would return an error; the run then ends with it. After the
  // deadline nothing is run that has no recorded result: that is a failure, a timeout.
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
  // The same, reporting instead of throwing. Errors: Errc::in_doubt; Errc::conflict (the key was
  // used with other arguments, or its recorded result is of another type); Errc::invalid_argument
  // (key, arguments, a name that is not registered); Errc::escalated (the deadline has passed:
  // return it); the store's. Exceptions from fn pass through.
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

  // Asks the agent's gates before a call, and waits in front of them, never beyond the deadline.
  // Report to the permit how the call went. Errors: the failure that fail() would return, with the
  // gate's reason; return it. Errc::cancelled if the run is.
  [[nodiscard]] Result<Permit> enter(std::string_view tool, std::string_view endpoint = {},
                                     bool retry = false);
  // Reserves from the agent's budget and those of the agents around it, before spending; settle()
  // what it gives with what was really spent. Errors: the failure that fail() would return, of type
  // quota_exhausted with the reason budget_spent; Errc::invalid_argument.
  [[nodiscard]] Result<Reservation> reserve(const Usage& estimate);

  // Asks AgentOptions::guard before a step is taken; without a guard everything is allowed. Return
  // the error: denied, it is a failure of type constraint_ignored; if somebody is to be asked, the
  // run is suspended, and a decision for retry or resume approves the same tool with the same input
  // for the rest of the run. Errors: see above; Errc::invalid_argument.
  [[nodiscard]] Result<void> propose_step(const Step& step);
  // Waits until then. If that is longer than Limits::max_wait and the store is durable, the run is
  // suspended until then: this throws AttemptStopped, run returns Errc::suspended, and resume_due()
  // calls the callable again, which comes here again and passes. Waits on the injected clock
  // otherwise, and with strict_idempotency if the attempt has steps that must not be repeated.
  // Throws AttemptStopped too if the run is cancelled or `when` lies behind its deadline.
  // `when` should be the same time whenever the callable is called. If it is not, as in now + 2 h,
  // a call counts as the one that the run was suspended for if it asks for a wait of the same
  // length, with the same state and after as many sleeps with that state: better use sleep_for.
  void sleep_until(WallTime when);
  // Waits for `length` from the first time that a sleep of this name is begun in the run; until
  // when is recorded, so the name stands for the same sleep in all its attempts and processes, and
  // passes ever after. Otherwise as sleep_until. name: 1 to 256 bytes.
  void sleep_for(std::string_view name, Duration length);
  // The value that agent.signal(run, name, …) sent, or nothing if there was none by `deadline`. The
  // answer is recorded: the same name gets the same answer ever after, also after a crash. A wait
  // that is longer than Limits::max_wait suspends the run as above, and a signal makes it due.
  // name: 1 to 256 bytes. Throws AttemptStopped as above, and if there is no store.
  [[nodiscard]] std::optional<Json> wait(std::string_view name, WallTime deadline);
  // What was sent under this name so far, without waiting; nothing is recorded if there is nothing
  // yet. Otherwise as wait().
  [[nodiscard]] std::optional<Json> received(std::string_view name);

  // Reports a failure: `return attempt.fail({.text = …, .http_status = 503});`
  [[nodiscard]] Error fail(Failure failure);

  // The first error of a call above that returns void, if there was one. It ends the run when the
  // callable returns, whatever it returns.
  [[nodiscard]] std::optional<Error> error() const;

 private:
  friend class detail::Run;
  friend class detail::AttemptPool;
  friend class detail::AttemptUse;
  static constexpr std::uint32_t closed = std::uint32_t{1} << 31U;

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
  mutable std::atomic<std::uint32_t> users_{closed};  // Calls by other threads, and the mark.
  std::atomic<std::uintptr_t> thread_{0};             // That runs the callable.
  Attempt* next_ = nullptr;                           // Of its run's, or of those that are closed.
};

template <class T, class Fn>
Result<T> Attempt::effect_as(std::string_view key, const Json* arguments, Fn& fn,
                             const EffectOptions& options) {
  if constexpr (!std::is_void_v<T> && !JsonConvertible<T>) {
    static_assert(detail::always_false<T>,
                  "triage: an effect's result is stored: give its type to_json and from_json");
    return Error{Errc::invalid_argument, {}};  // So that the compiler says nothing more.
  } else {
    const std::function<Json(const EffectCall&)> call = [&fn](const EffectCall& effect) -> Json {
      if constexpr (std::is_void_v<T>) {
        detail::call_effect(fn, effect);
        return nullptr;
      } else {
        return Json(detail::call_effect(fn, effect));
      }
    };
    Result<Json> done =
        effect_json({.key = key, .arguments = arguments, .fn = &call, .options = &options});
    if (!done) return outcome::failure(std::move(done).error());
    if constexpr (std::is_void_v<T>) {
      return outcome::success();
    } else {
      try {
        return outcome::success(done.value().template get<T>());
      } catch (const std::exception& e) {
        return Error{Errc::conflict,
                     "the recorded result of effect \"" + printable(key) +
                         "\" does not convert to the type that is asked for: " + e.what()};
      }
    }
  }
}

}  // namespace triage::inline v0_1
