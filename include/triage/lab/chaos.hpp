// SPDX-License-Identifier: MIT
#pragma once
// Faults on purpose, by seed: in calls, stores and clocks.

#include "triage/attempt.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"
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

// Fault::throws. what() is a failure's text as a provider or tool would print it.
class InjectedFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown after Fault::kill if ChaosOptions::kill returns: the process counts as dead. No
// std::exception, so that a catch-all for those does not eat it.
struct ProcessKilled {};

// Where a call is made. Visits are counted per place, which is all three names together.
struct Site {
  std::string_view name{};
  std::string_view tool{};
  std::string_view step{};
};

// What ends a call that hangs. Neither set: FaultRule::length, or an hour.
struct CallLimits {
  std::stop_token stop_token{};
  std::optional<TimePoint> deadline{};
};

struct ChaosOptions {
  std::uint64_t seed = 1;
  std::shared_ptr<Clock> clock{};  // Latencies pass on it; null: the machine's.
  std::function<void()> kill{};    // Fault::kill; empty: SIGKILL for this process.
};

namespace detail {

struct ChaosRoot;
class ChaosBranch;

// What is left to be done about a call once it has begun.
struct CallPlan {
  std::optional<Injection> value_fault{};  // wrong, stale or partial.
  bool twice = false;
  bool keeps_value = false;  // A later visit may want it as its stale value.
};

template <class R>
struct ChaosValue {
  using type = R;
};
template <class T>
struct ChaosValue<Result<T>> {
  using type = T;
};
template <class Fn>
using chaos_value_t = typename ChaosValue<std::remove_cvref_t<std::invoke_result_t<Fn&>>>::type;

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

// The value changed or cut off, of the same shape. draw: which way.
[[nodiscard]] Json wrong_value(const Json& value, std::uint64_t draw);
[[nodiscard]] Json partial_value(const Json& value, std::uint64_t draw);

}  // namespace detail

// Injects what its mix says:
//   lab::Chaos chaos{{.rules = {{.fault = lab::Fault::fails, .site = "search", .rate = 0.2}}}};
//   auto pages = chaos.call("search", attempt, [&] { return search(query); });  // Result<Pages>
// Whether a visit of a place meets a fault, and which, is a function of seed, place and visit
// alone: other places and threads do not change it. Without rules, or after disarm(), a call costs
// one load and one branch. A handle: copies share everything.
// Thread-safety: all members may be called from several threads at once.
class Chaos {
 public:
  // A mix that check_fault_mix refuses makes every call return that error.
  explicit Chaos(FaultMix mix = {}, ChaosOptions options = {});
  // Exactly these faults, and no other ones.
  [[nodiscard]] static Chaos replay(const Schedule& schedule, ChaosOptions options = {});

  // Calls fn, unless a fault comes in between. fn returns T, void or Result<T>; its exceptions pass
  // through. Return the error of what fails: the run then sees the failure with its codes. Errors:
  // besides fn's own Errc::escalated (fails, and a hang that its deadline ended), cancelled (a
  // latency or hang was stopped), invalid_argument (the mix). Faults of values need a T with
  // nlohmann conversions, stale ones a T that can be copied; other calls they leave alone, as do
  // the faults of stores and clocks.
  template <std::invocable Fn>
  auto call(const Site& site, Fn&& fn, const CallLimits& limits = {}) const
      -> Result<detail::chaos_value_t<Fn>> {
    if (!armed()) [[likely]]
      return detail::call_plainly(fn);
    return call_armed(site, fn, limits);
  }
  template <std::invocable Fn>
  auto call(std::string_view site, Fn&& fn, const CallLimits& limits = {}) const
      -> Result<detail::chaos_value_t<Fn>> {
    return call(Site{.name = site}, std::forward<Fn>(fn), limits);
  }
  // Ends with the attempt's stop token and deadline.
  template <std::invocable Fn>
  auto call(const Site& site, const Attempt& attempt, Fn&& fn) const
      -> Result<detail::chaos_value_t<Fn>> {
    if (!armed()) [[likely]]
      return detail::call_plainly(fn);
    return call_armed(site, fn,
                      {.stop_token = attempt.stop_token(), .deadline = attempt.deadline()});
  }
  template <std::invocable Fn>
  auto call(std::string_view site, const Attempt& attempt, Fn&& fn) const
      -> Result<detail::chaos_value_t<Fn>> {
    return call(Site{.name = site}, attempt, std::forward<Fn>(fn));
  }

  // For places of one's own: counts a visit, notes what it meets and carries nothing out. A latency
  // is `delay`, anything else that can happen to a call is `fault`.
  struct Met {
    std::optional<Injection> delay{};
    std::optional<Injection> fault{};
  };
  [[nodiscard]] Met meet(const Site& site) const;
  void kill() const;  // As Fault::kill does: see ChaosOptions.

  // A store that meets store_outage, lost_answer, corrupt_checkpoint, latency and kill. The place
  // of an operation is "SITE//append" and so on: rules name it as their step. inner: not null.
  [[nodiscard]] std::shared_ptr<CheckpointStore> store(std::shared_ptr<CheckpointStore> inner,
                                                       std::string site = "store") const;
  // A clock whose calendar time jumps; a visit is a reading of wall_now(). Monotonic time, which
  // waits and deadlines use, does not jump. inner: not null.
  [[nodiscard]] std::shared_ptr<Clock> clock(std::shared_ptr<Clock> inner,
                                             std::string site = "clock") const;

  // The same rules with visits, clock and kill of its own, and draws of its own by its name: for a
  // run, so that what runs beside it changes nothing, or for a simulated process.
  [[nodiscard]] Chaos branch(std::string_view name) const;
  [[nodiscard]] Chaos branch(std::string_view name, ChaosOptions options) const;

  // Switches all branches off and on again. Visits are not counted meanwhile.
  void disarm() const noexcept;
  void arm() const noexcept;
  [[nodiscard]] bool armed() const noexcept { return armed_->load(std::memory_order_relaxed); }
  // What was injected so far, by all branches, in the order in which it happened.
  [[nodiscard]] Schedule injected() const;
  [[nodiscard]] std::size_t injected_count() const noexcept;

 private:
  explicit Chaos(std::shared_ptr<detail::ChaosBranch> branch);

  template <class Fn>
  auto call_armed(const Site& site, Fn& fn, const CallLimits& limits) const
      -> Result<detail::chaos_value_t<Fn>>;
  Result<detail::CallPlan> begin(const Site& site, const CallLimits& limits) const;
  [[nodiscard]] std::any last_value(const Site& site) const;
  void keep_value(const Site& site, std::any value) const;
  void note(const Injection& injection) const;

  std::shared_ptr<detail::ChaosBranch> branch_;
  std::shared_ptr<std::atomic<bool>> armed_;
};

// What stands for a Chaos in a build that must not have one: nothing is left of its calls.
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

// A failure of this type as somebody printed it, with its codes. From texts that the model of the
// classifier was not trained on; draw chooses one.
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
        note(fault);
        return outcome::success(std::move(value));
      } catch (const std::exception&) {
        // No T can be this: the shape of the value is fixed, and it stays as it is.
      }
    }
  }
  return done;
}

}  // namespace triage::inline v0_1::lab
