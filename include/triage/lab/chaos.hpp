// SPDX-License-Identifier: MIT
#pragma once
// Seeded fault injection in calls, stores and clocks.

#include "triage/attempt.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"
#include "triage/detail/cancel_token.hpp"
#include "triage/detail/unwrapped.hpp"
#include "triage/failure.hpp"
#include "triage/lab/schedule.hpp"

#include <any>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1::lab {

// For Fault::throws. what() is a failure's text as a provider or tool would print it.
class InjectedFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown after Fault::kill if ChaosOptions::kill returns: the process counts as dead. Not a
// std::exception, so that `catch (const std::exception&)` misses it.
struct ProcessKilled {};

// Where a call is made. Visits are counted per place: the three names together.
struct Site {
  std::string_view name{};
  std::string_view tool{};
  std::string_view step{};
};

// Ends a call that hangs or comes later, if FaultRule::length does not end it first; a hang without
// any of the three ends after an hour.
struct CallLimits {
  std::stop_token stop_token{};
  std::optional<TimePoint> deadline{};
};

struct ChaosOptions {
  std::uint64_t seed = 1;
  std::shared_ptr<Clock> clock{};  // For latencies; null: the machine's.
  std::function<void()> kill{};    // For Fault::kill; empty: SIGKILL to this process.
};

namespace detail {

struct ChaosRoot;
class ChaosBranch;

// What remains to be done for a call that has begun.
struct CallPlan {
  std::optional<Injection> value_fault{};  // wrong, stale or partial.
  bool twice = false;
  bool keeps_value = false;  // A later visit may use the value as its stale one.
};

template <class Fn>
using chaos_value_t =
    typename triage::detail::Unwrapped<std::remove_cvref_t<std::invoke_result_t<Fn&>>>::type;

template <class Fn>
Result<chaos_value_t<Fn>> call_plainly(Fn& fn) {
  if constexpr (std::is_void_v<std::invoke_result_t<Fn&>>) {
    fn();
    return outcome::success();
  } else if constexpr (std::same_as<std::remove_cvref_t<std::invoke_result_t<Fn&>>,
                                    Result<chaos_value_t<Fn>>>) {
    return fn();
  } else {
    return outcome::success(fn());
  }
}

// The value, changed or cut off, with the same shape. draw: chooses how.
[[nodiscard]] Json wrong_value(const Json& value, std::uint64_t draw);
[[nodiscard]] Json partial_value(const Json& value, std::uint64_t draw);
// Whether what a call returns instead of `was` is another value, and not because its type cannot
// hold the number that was meant.
[[nodiscard]] bool is_changed(const Json& was, const Json& meant, const Json& is);

}  // namespace detail

// Injects the faults of its mix:
//   lab::Chaos chaos{{.rules = {{.fault = lab::Fault::fails, .site = "search", .rate = 0.2}}}};
//   auto pages = chaos.call("search", attempt, [&] { return search(query); });  // Result<Pages>
// Which fault a visit meets, if any, is a function of seed, place and visit alone; other places and
// threads do not affect it. Without rules, or after disarm(), a call costs two loads and a branch.
// A handle: copies share everything.
// Thread-safety: all members may be called from several threads at once.
class Chaos {
 public:
  // If check_fault_mix refuses the mix, every call returns its error.
  explicit Chaos(FaultMix mix = {}, ChaosOptions options = {});
  // Injects exactly these faults.
  [[nodiscard]] static Chaos replay(const Schedule& schedule, ChaosOptions options = {});

  // Calls fn, unless a fault replaces the call. fn returns T, void or Result<T>; its exceptions
  // pass through. Return the error of a failed call, so that the run sees the failure with its
  // codes. Errors: fn's own; Errc::escalated (fails, or a hang or latency that ended as a timeout),
  // cancelled (a latency or hang was stopped), invalid_argument (the mix). Faults of values skip
  // calls whose T has no nlohmann conversions (stale: cannot be copied); faults of stores and
  // clocks skip all calls.
  template <std::invocable Fn>
  auto call(const Site& site, Fn&& fn, const CallLimits& limits = {}) const
      -> Result<detail::chaos_value_t<Fn>> {
    if (!armed()) [[likely]]
      return detail::call_plainly(fn);
    return call_armed(site, fn, limits);
  }
  template <std::invocable Fn>
  auto call(std::string_view site, Fn&& fn, const CallLimits& limits) const
      -> Result<detail::chaos_value_t<Fn>> {
    return call(Site{.name = site}, std::forward<Fn>(fn), limits);
  }
  template <std::invocable Fn>
  auto call(std::string_view site, Fn&& fn) const -> Result<detail::chaos_value_t<Fn>> {
    if (!armed()) [[likely]]
      return detail::call_plainly(fn);
    return call_armed(Site{.name = site}, fn, {});
  }
  // Ends when the run is stopped, or at the attempt's deadline.
  template <std::invocable Fn>
  auto call(const Site& site, const Attempt& attempt, Fn&& fn) const
      -> Result<detail::chaos_value_t<Fn>> {
    if (!armed()) [[likely]]
      return detail::call_plainly(fn);
    return call_armed(
        site, fn,
        {.stop_token = triage::detail::cancel_token(attempt), .deadline = attempt.deadline()});
  }
  template <std::invocable Fn>
  auto call(std::string_view site, const Attempt& attempt, Fn&& fn) const
      -> Result<detail::chaos_value_t<Fn>> {
    return call(Site{.name = site}, attempt, std::forward<Fn>(fn));
  }

  // For places of your own: counts a visit and notes what it meets, but carries nothing out. delay:
  // a latency; fault: anything else that can happen to a call; keeps_value: a later visit may want
  // this one's value as its stale one.
  struct Met {
    std::optional<Injection> delay{};
    std::optional<Injection> fault{};
    bool keeps_value = false;
  };
  [[nodiscard]] Met meet(const Site& site) const;
  // Likewise where nothing returns that could be changed: no faults of values, no duplicate.
  [[nodiscard]] Met meet_opaque(const Site& site) const;
  void kill() const;  // Like Fault::kill: see ChaosOptions.

  // A store with store_outage, lost_answer, corrupt_checkpoint, latency and kill. The place of an
  // operation is "SITE//append" and so on: rules name it as their step. A kill that returns leaves
  // the operation undone, with Errc::io. inner: not null.
  [[nodiscard]] std::shared_ptr<CheckpointStore> store(std::shared_ptr<CheckpointStore> inner,
                                                       std::string site = "store") const;
  // A clock whose calendar time jumps; each wall_now() is a visit. Monotonic time, used for waits
  // and deadlines, does not jump. inner: not null.
  [[nodiscard]] std::shared_ptr<Clock> clock(std::shared_ptr<Clock> inner,
                                             std::string site = "clock") const;

  // The same rules with separate visits, clock and kill, and with draws that depend on `name`:
  // isolates a run from concurrent ones, or stands for a simulated process.
  [[nodiscard]] Chaos branch(std::string_view name) const;
  [[nodiscard]] Chaos branch(std::string_view name, ChaosOptions options) const;

  // Switches all branches off and on. Visits are not counted while off.
  void disarm() const noexcept;
  void arm() const noexcept;
  [[nodiscard]] bool armed() const noexcept { return armed_->load(std::memory_order_relaxed); }
  // The faults injected so far, by all branches, in order.
  [[nodiscard]] Schedule injected() const;
  [[nodiscard]] std::size_t injected_count() const noexcept;

 private:
  explicit Chaos(std::shared_ptr<detail::ChaosBranch> branch);

  // Not inline: a call that meets no fault must not pay for its room on the stack.
  template <class Fn>
  [[gnu::noinline]] auto call_armed(const Site& site, Fn& fn, const CallLimits& limits) const
      -> Result<detail::chaos_value_t<Fn>>;
  [[nodiscard]] Met meet_at(const Site& site, bool opaque) const;
  Result<detail::CallPlan> begin(const Site& site, const CallLimits& limits) const;
  [[nodiscard]] std::any last_value(const Site& site) const;
  void keep_value(const Site& site, std::any value) const;
  void note(const Injection& injection) const;

  std::shared_ptr<detail::ChaosBranch> branch_;
  std::shared_ptr<std::atomic<bool>> armed_;
};

// Replaces Chaos in builds that must not contain it: its calls compile to nothing.
struct NoChaos {
  template <class Where, std::invocable Fn>
  constexpr auto call(const Where&, Fn&& fn) const -> Result<detail::chaos_value_t<Fn>> {
    return detail::call_plainly(fn);
  }
  template <class Where, std::invocable Fn>
  constexpr auto call(const Where&, const Attempt&, Fn&& fn) const
      -> Result<detail::chaos_value_t<Fn>> {
    return detail::call_plainly(fn);
  }
};

// A realistic failure of this type with its codes, from texts that the classifier's model was not
// trained on; draw chooses one.
[[nodiscard]] Failure drawn_failure(FailureType type, std::uint64_t draw);

template <class Fn>
auto Chaos::call_armed(const Site& site, Fn& fn, const CallLimits& limits) const
    -> Result<detail::chaos_value_t<Fn>> {
  using T = detail::chaos_value_t<Fn>;
  auto begun = begin(site, limits);
  if (!begun) return outcome::failure(std::move(begun).error());
  const detail::CallPlan& plan = begun.value();
  Result<T> done = detail::call_plainly(fn);
  if (plan.twice) done = detail::call_plainly(fn);
  if (!done) return done;
  if constexpr (!std::is_void_v<T>) {
    std::any before;
    if constexpr (std::copy_constructible<T>) {
      if (plan.keeps_value) {
        before = last_value(site);
        keep_value(site, done.value());
      }
    }
    if (!plan.value_fault) return done;
    if (plan.value_fault->fault == Fault::stale_value) {
      if constexpr (std::copy_constructible<T>) {
        if (const T* stale = std::any_cast<T>(&before)) {
          note(*plan.value_fault);
          return outcome::success(*stale);
        }
      }
      return done;
    }
    if constexpr (JsonConvertible<T>) {
      const Injection& fault = *plan.value_fault;
      const Json now(done.value());
      const Json changed = fault.fault == Fault::partial_value
                               ? detail::partial_value(now, fault.draw)
                               : fault.value.value_or(detail::wrong_value(now, fault.draw));
      try {
        T value = changed.template get<T>();
        if (!detail::is_changed(now, changed, Json(value))) return done;
        note(fault);
        return outcome::success(std::move(value));
      } catch (const std::exception&) {
        // T cannot hold it: the value's shape is fixed, and it stays as it is.
      }
    }
  }
  return done;
}

}  // namespace triage::inline v0_1::lab
