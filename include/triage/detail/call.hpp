// SPDX-License-Identifier: MIT
#pragma once
// What TriageAgent<F> knows about F: its task, its value, and how to call it. Not public API.

#include "triage/attempt.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/detail/unwrapped.hpp"

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace triage::inline v0_1 {

template <class Factory>
struct PerRun;

namespace detail {

// Decays a parameter type to one that can be stored.
template <class T>
struct KeptTask {
  using type = std::remove_cvref_t<T>;
};
template <class T>
requires std::same_as<std::remove_cvref_t<T>, std::string_view> || std::same_as < std::decay_t<T>,
const char* > struct KeptTask<T> { using type = std::string; };

template <class T>
struct FirstParameter : FirstParameter<decltype(&T::operator())> {};
template <class R, class A, class... B>
struct FirstParameter<R (*)(A, B...)> : KeptTask<A> {};
template <class R, class A, class... B>
struct FirstParameter<R (*)(A, B...) noexcept> : KeptTask<A> {};
template <class C, class R, class A, class... B>
struct FirstParameter<R (C::*)(A, B...)> : KeptTask<A> {};
template <class C, class R, class A, class... B>
struct FirstParameter<R (C::*)(A, B...) const> : KeptTask<A> {};
template <class C, class R, class A, class... B>
struct FirstParameter<R (C::*)(A, B...) noexcept> : KeptTask<A> {};
template <class C, class R, class A, class... B>
struct FirstParameter<R (C::*)(A, B...) const noexcept> : KeptTask<A> {};

// The most helpful error for a callable without parameters.
template <class R>
struct NoTask {
  static_assert(
      always_false<R>,
      "triage: the callable has no parameters: its first is the task, and its second may be "
      "triage::Attempt&; one that needs no task takes (int) or (const std::string&)");
  using type = int;
};
template <class R>
struct FirstParameter<R (*)()> : NoTask<R> {};
template <class R>
struct FirstParameter<R (*)() noexcept> : NoTask<R> {};
template <class C, class R>
struct FirstParameter<R (C::*)()> : NoTask<R> {};
template <class C, class R>
struct FirstParameter<R (C::*)() const> : NoTask<R> {};
template <class C, class R>
struct FirstParameter<R (C::*)() noexcept> : NoTask<R> {};
template <class C, class R>
struct FirstParameter<R (C::*)() const noexcept> : NoTask<R> {};

template <class F>
concept HasOneSignature = std::is_pointer_v<F> || requires {
  &F::operator();
};

// The callable of one attempt: F itself, or what a PerRun factory makes.
template <class F>
struct Callable {
  using type = const F;
};
template <class Factory>
struct Callable<PerRun<Factory>> {
  using type = std::invoke_result_t<const Factory&>;
};

template <class F>
struct TaskOf {
  static_assert(
      HasOneSignature<F>,
      "triage: cannot see the task's type of this callable (an `auto` parameter or several "
      "overloads): use triage::make_agent<Task>(callable, policy, options)");
  using type =
      typename std::conditional_t<HasOneSignature<F>, FirstParameter<F>, KeptTask<int>>::type;
};
template <class Factory>
struct TaskOf<PerRun<Factory>> : TaskOf<std::remove_cvref_t<std::invoke_result_t<const Factory&>>> {
};
template <class F>
using task_of_t = typename TaskOf<F>::type;

// Stands for the policy in a TriageAgent whose options are none; FailurePolicy itself fits better.
struct NoOptions {
  NoOptions(const FailurePolicy&);
};

template <class Task>
[[nodiscard]] Result<Task> read_task(const Json& json) {
  try {
    return json.get<Task>();
  } catch (const std::exception& e) {
    return Error{Errc::conflict,
                 std::string("the stored task does not convert to the agent's: ") + e.what()};
  } catch (...) {
    return Error{Errc::conflict,
                 "the stored task does not convert to the agent's: its conversion threw"};
  }
}

template <class Task>
[[nodiscard]] Result<void> check_task_fits(const Json& json) {
  auto task = read_task<Task>(json);
  if (!task) return std::move(task).error();
  return outcome::success();
}

template <class Task>
[[nodiscard]] constexpr TaskCheck task_check() {
  if constexpr (JsonReadable<Task>) {
    return &check_task_fits<Task>;
  } else {
    return nullptr;
  }
}

template <class Task, class Value>
constexpr void require_storable() {
  static_assert(JsonConvertible<Task>,
                "triage: continuing a run needs its stored task: give the task's type to_json and "
                "from_json (or NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE)");
  static_assert(
      std::is_void_v<Value> || JsonConvertible<Value>,
      "triage: a continued run may already be finished, so its result must be stored: give "
      "the result's type to_json and from_json (or NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE)");
}

// nlohmann copies recursively, so too deeply nested values must not be copied.
inline void require_copyable(const Json& json, std::string_view what) {
  const auto checked = check_json(json, what, NonFinite::allowed);
  if (!checked) throw std::invalid_argument(checked.error().detail);
}

template <class F, class Task>
struct CallTraits {
  using Target = typename Callable<F>::type;
  static constexpr bool takes_attempt = std::invocable<Target&, const Task&, Attempt&>;
  static_assert(takes_attempt || std::invocable<Target&, const Task&>,
                "triage: the callable must accept (const Task&) or (const Task&, triage::Attempt&) "
                "and be callable as const; for a callable that changes itself use triage::per_run");

  static decltype(auto) invoke(Target& target, const Task& task,
                               [[maybe_unused]] Attempt& attempt) {
    if constexpr (takes_attempt) {
      return target(task, attempt);
    } else {
      return target(task);
    }
  }

  using Returned = decltype(invoke(std::declval<Target&>(), std::declval<const Task&>(),
                                   std::declval<Attempt&>()));
  static_assert(!std::is_reference_v<Returned>,
                "triage: the callable returns a reference; return a value");
  static_assert(!std::same_as<std::remove_cv_t<Returned>, Error>,
                "triage: the callable only returns errors, so its value's type is not known: write "
                "the type it returns, `-> triage::Result<T>`");
  using Value = typename Unwrapped<std::remove_cv_t<Returned>>::type;
  static constexpr bool returns_result = Unwrapped<std::remove_cv_t<Returned>>::is_result;
  struct Nothing {};
  using Slot = std::conditional_t<std::is_void_v<Value>, Nothing, Value>;

  struct Frame {
    const F* source;
    const Task* task;
    std::conditional_t<std::is_same_v<Target, const F>, Nothing, std::optional<Target>> made;
    std::optional<Slot> out;
  };

  static Frame frame(const F& callable, const Task& task) { return {&callable, &task, {}, {}}; }
  static Call call(Frame& frame) { return {&frame, &table}; }

  static Target& target(Frame& frame) {
    if constexpr (std::is_same_v<Target, const F>) {
      return *frame.source;
    } else {
      if (!frame.made) {
        frame.made.emplace(frame.source->make());
        if (is_null_function(*frame.made)) {
          frame.made.reset();
          throw std::bad_function_call();
        }
      }
      return *frame.made;
    }
  }

  static bool invoke_frame(void* erased, Attempt& attempt) {
    Frame& frame = *static_cast<Frame*>(erased);
    if constexpr (std::is_void_v<Returned>) {
      invoke(target(frame), *frame.task, attempt);
      frame.out.emplace();
    } else if constexpr (returns_result) {
      auto returned = invoke(target(frame), *frame.task, attempt);
      if (!returned) {
        report_failure(attempt, std::move(returned).error());
        return false;
      }
      if constexpr (std::is_void_v<Value>) {
        frame.out.emplace();
      } else {
        frame.out.emplace(std::move(returned).value());
      }
    } else {
      frame.out.emplace(invoke(target(frame), *frame.task, attempt));
    }
    return true;
  }
  static std::string task_text(const void* erased) {
    const Frame& frame = *static_cast<const Frame*>(erased);
    if constexpr (std::same_as<Task, Json>) {
      return frame.task->is_string() ? frame.task->template get<std::string>() : show(*frame.task);
    } else if constexpr (std::is_convertible_v<const Task&, std::string>) {
      return *frame.task;
    } else if constexpr (std::integral<Task> && !std::same_as<Task, bool> && JsonWritable<Task>) {
      return std::to_string(*frame.task);  // As in JSON, but without building a value.
    } else if constexpr (JsonWritable<Task>) {
      return show(Json(*frame.task));
    } else {
      return {};
    }
  }
  static bool task_json(const void* erased, Json& out) {
    if constexpr (JsonConvertible<Task>) {
      if constexpr (std::same_as<Task, Json>) {
        require_copyable(*static_cast<const Frame*>(erased)->task, "the task");
      }
      out = Json(*static_cast<const Frame*>(erased)->task);
      return true;
    } else {
      return false;
    }
  }
  static bool result_json(const void* erased, Json& out) {
    if constexpr (std::is_void_v<Value>) {
      out = nullptr;
      return true;
    } else if constexpr (JsonConvertible<Value>) {
      if constexpr (std::same_as<Value, Json>) {
        require_copyable(*static_cast<const Frame*>(erased)->out, "the result");
      }
      out = Json(*static_cast<const Frame*>(erased)->out);
      return true;
    } else {
      return false;
    }
  }
  static bool put_result(void* erased, const Json& result) {
    Frame& frame = *static_cast<Frame*>(erased);
    if constexpr (std::is_void_v<Value>) {
      frame.out.emplace();
      return true;
    } else if constexpr (JsonReadable<Value>) {
      frame.out.emplace(result.get<Value>());
      return true;
    } else {
      return false;
    }
  }
  static Result<void> check_result([[maybe_unused]] const Json& result) {
    if constexpr (std::is_void_v<Value>) {
      return outcome::success();
    } else if constexpr (JsonReadable<Value>) {
      std::string why = "its conversion threw";
      try {
        require_copyable(result, "the value");
        static_cast<void>(result.get<Value>());
        return outcome::success();
      } catch (const std::exception& e) {
        why = e.what();
      } catch (...) {}
      return Error{Errc::invalid_argument, "its value is no result of the agent: " + why};
    } else {
      return Error{Errc::invalid_argument, "the agent's result cannot be made from JSON"};
    }
  }
  static constexpr CallTable table{&invoke_frame, &task_text,  &task_json,
                                   &result_json,  &put_result, &check_result};

  static Error with_value(Frame& frame, Error error) {
    if (!UnstoredEnd::announced(error) || !frame.out) return error;
    UnstoredEnd::give(error, std::make_shared<Slot>(std::move(*frame.out)), typeid(Value));
    return error;
  }

  static Result<Value> result(Frame& frame, Outcome failed, bool degraded) {
    if (failed) [[unlikely]]
      return outcome::failure(with_value(frame, std::move(*failed)));
    if constexpr (std::is_void_v<Value>) {
      Result<Value> done = outcome::success();
      if (degraded) outcome::hooks::set_spare_storage(&done, 1);
      return done;
    } else {
      Result<Value> done = outcome::success(std::move(*frame.out));
      if (degraded) [[unlikely]]
        outcome::hooks::set_spare_storage(&done, 1);
      return done;
    }
  }
};

}  // namespace detail
}  // namespace triage::inline v0_1
