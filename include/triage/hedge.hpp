// SPDX-License-Identifier: MIT
#pragma once
// A second call beside a slow first one. For calls that may be made twice.

#include "triage/clock.hpp"
#include "triage/detail/unwrapped.hpp"
#include "triage/result.hpp"

#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1 {

struct HedgeOptions {
  Duration delay = std::chrono::milliseconds(100);  // Before another call joins those in progress.
  int max_calls = 2;                                // Per value, including the first; 1 to 16.
  int max_threads = 8;             // Of this object, for all its calls; 1 to 1,000.
  std::shared_ptr<Clock> clock{};  // Null: the machine's.
};

namespace detail {

// How one of the calls ended: with a value, an error or an exception.
struct HedgeEnd {
  std::shared_ptr<void> value{};
  std::optional<Error> error{};
  std::exception_ptr thrown{};
};

}  // namespace detail

//   // Beside the agent, for all runs.
//   auto hedge = triage::Hedge::create({.delay = 200ms}).value();
//   auto page = hedge->call([url](std::stop_token stop) { return fetch(url, stop); },
//                           attempt.stop_token());
//
// The first success wins; the other calls are then asked to stop through their token, but not
// waited for: they end on threads of the object, whose destructor stops and joins them. A call that
// fails starts the next one at once. Source: J. Dean, L. Barroso, "The Tail at Scale",
// Communications of the ACM, 2013. Nothing is undone: what must not happen twice belongs in
// Attempt::effect. Thread-safety: call() may be called from several threads at once.
class Hedge {
 public:
  // Errors: Errc::invalid_argument.
  [[nodiscard]] static Result<std::shared_ptr<Hedge>> create(HedgeOptions options = {});
  ~Hedge();
  Hedge(const Hedge&) = delete;
  Hedge& operator=(const Hedge&) = delete;

  // The result of fn(stop_token), a T or a Result<T>, as a Result<T>. fn runs on several threads at
  // once and may outlive the call, so it must own what it uses. If all calls fail: the last one's
  // error or exception. If no thread is available, fn is called once, in this thread. Errors:
  // Errc::cancelled as soon as `stop` is triggered.
  template <class Fn>
  [[nodiscard]] auto call(Fn fn, std::stop_token stop = {}) {
    static_assert(std::is_invocable_v<const Fn&, std::stop_token>,
                  "triage: a hedged function takes a std::stop_token, and is const: it is called "
                  "from several threads at once");
    using Value = detail::Unwrapped<std::invoke_result_t<const Fn&, std::stop_token>>;
    using T = typename Value::type;
    detail::HedgeEnd end =
        run([fn = std::make_shared<const Fn>(std::move(fn))](
                std::stop_token mine) { return once<Value>(*fn, std::move(mine)); },
            std::move(stop));
    if (end.thrown) std::rethrow_exception(end.thrown);
    if (end.error) return Result<T>(*std::move(end.error));
    if constexpr (std::is_void_v<T>) {
      return Result<T>(outcome::success());
    } else {
      return Result<T>(outcome::success(std::move(*std::static_pointer_cast<T>(end.value))));
    }
  }

 private:
  using Call = std::function<detail::HedgeEnd(std::stop_token)>;
  struct Race;
  struct Worker;

  explicit Hedge(HedgeOptions options);

  template <class Value, class Fn>
  static detail::HedgeEnd once(const Fn& fn, std::stop_token stop) {
    using T = typename Value::type;
    detail::HedgeEnd end;
    try {
      if constexpr (Value::is_result) {
        auto result = fn(std::move(stop));
        if (!result) {
          end.error = std::move(result).error();
        } else if constexpr (std::is_void_v<T>) {
          end.value = std::make_shared<char>();
        } else {
          end.value = std::make_shared<T>(std::move(result).value());
        }
      } else if constexpr (std::is_void_v<T>) {
        fn(std::move(stop));
        end.value = std::make_shared<char>();
      } else {
        end.value = std::make_shared<T>(fn(std::move(stop)));
      }
    } catch (...) {
      end.thrown = std::current_exception();
    }
    return end;
  }
  [[nodiscard]] detail::HedgeEnd run(Call call, std::stop_token stop);
  [[nodiscard]] bool begin(const std::shared_ptr<Race>& race, const Call& call);

  HedgeOptions options_;
  std::mutex mutex_{};
  std::list<Worker> workers_;
};

}  // namespace triage::inline v0_1
