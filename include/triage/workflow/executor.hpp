// SPDX-License-Identifier: MIT
#pragma once
// Executors: what a workflow's nodes do with the messages they receive.

#include "triage/detail/call.hpp"
#include "triage/limits.hpp"
#include "triage/policy.hpp"
#include "triage/workflow/checkpoints.hpp"
#include "triage/workflow/context.hpp"
#include "triage/workflow/message.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

// How far a ROLLBACK decided by an executor's policy goes.
enum class RollbackScope : std::uint8_t {
  executor,  // Within this delivery's own run.
  // The whole workflow: the policy's target is one of its checkpoints. What finished since then
  // runs again, and effects since then are undone as in CompensationOptions; otherwise like a
  // rollback of an agent. Answers given by people are kept.
  workflow,
};

// What to send instead of a result: made of the error, or of that and of the message that the
// executor got.
class Instead {
 public:
  Instead() = default;
  template <class F>
  requires(std::is_invocable_r_v<Message, F&, const Error&> ||
           std::is_invocable_r_v<Message, F&, const Error&, const Message&>)
      Instead(F make) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_invocable_v<F&, const Error&, const Message&>) {
      make_ = std::move(make);
    } else if (std::function<Message(const Error&)> of_error = std::move(make)) {
      make_ = [of_error = std::move(of_error)](const Error& error, const Message&) {
        return of_error(error);
      };
    }
  }
  explicit operator bool() const noexcept { return static_cast<bool>(make_); }
  [[nodiscard]] Message operator()(const Error& error, const Message& message) const {
    return make_(error, message);
  }

 private:
  std::function<Message(const Error&, const Message&)> make_{};
};

struct ExecutorOptions {
  std::string version = "1";  // Part of the fingerprint: change it to stop old runs from resuming.
  // Handles failures within one delivery. Empty: the run fails at once and can be resumed. The
  // count of attempts survives a crash. Its SUSPEND is a request at the port "triage.decision".
  std::optional<FailurePolicy> policy{};
  // Per attempt at a delivery, as Context::deadline; 0: none. When it is over,
  // Context::stop_token() is triggered, no effect begins, and the attempt fails as a timeout,
  // unless as another type that it names. A handler that checks neither is not interrupted.
  Duration timeout{0};
  // How long an attempt may go without a step, message, output or usage; 0: no limit. Those of an
  // agent (agent_executor) and of agents inside of it count. After that it is out of time as above,
  // with the reason idle_timeout.
  Duration idle_timeout{0};
  // For all attempts at one delivery together, but anew after each answer to a request of it.
  std::optional<Limits> limits{};
  // The message to send if a delivery fails for good; the others then continue. Takes (const
  // Error&) or (const Error&, const Message&). Empty: the run fails.
  Instead instead{};
  bool instead_is_failure = true;  // The run still fails once nothing else can run; retrying it
                                   // calls this executor again.
  // The message to send if the policy falls back on a value, made of that and of the message that
  // the executor got. May write state, but not ask anybody. Empty: the value as it is.
  std::function<Message(const Json& value, const Message& message, Context& context)> fallback{};
  CheckpointChoice checkpoints{};  // Inherited, its own policy, or none.
  bool patches_plan = false;       // It may call Context::plan_patched().
  RollbackScope rollback = RollbackScope::executor;
  // One of WorkflowOptions::capacities, which its deliveries draw on; empty: none. An executor
  // handles one delivery at a time in any case.
  std::string shares{};
};

// Marks a callable whose members hold no state of the run: clients, settings, references.
template <class F>
struct Stateless {
  F call;
};
template <class F>
[[nodiscard]] Stateless<std::decay_t<F>> stateless(F&& call) {
  return {std::forward<F>(call)};
}

// Several handlers for one executor, selected by the type of their first parameter.
template <class... F>
struct Handlers {
  std::tuple<F...> calls;
};
template <class... F>
[[nodiscard]] Handlers<std::decay_t<F>...> handlers(F&&... calls) {
  return {std::tuple<std::decay_t<F>...>(std::forward<F>(calls)...)};
}

template <class T>
concept HasHooks = requires(T& executor, const T& fixed, const Json& saved) {
  { fixed.save() } -> std::convertible_to<Json>;
  { executor.restore(saved) } -> std::same_as<Result<void>>;
};

namespace detail {

// One run's copy of an executor. Used by one thread at a time.
class Instance {
 public:
  virtual ~Instance() = default;
  // Errors: what the handler returned; Errc::invalid_argument if no handler takes the message.
  // Passes on the handler's exceptions.
  virtual Result<void> handle(const Message& message, Context& context) = 0;
  [[nodiscard]] virtual bool has_state() const { return false; }
  [[nodiscard]] virtual Json save() const { return nullptr; }
  virtual Result<void> restore(const Json&) { return outcome::success(); }
};

// What a Workflow knows about an executor. Immutable.
struct ExecutorType {
  std::vector<std::string> handles{};  // Type names; "json" takes everything.
  std::function<std::unique_ptr<Instance>()> make{};
  bool takes_context = true;  // Otherwise it only takes messages and returns values.
  bool has_hooks = false;     // save() and restore().
};

[[nodiscard]] Error unreadable(const Message& message, const std::string& why);
[[nodiscard]] Error unhandled(const Message& message, const std::vector<std::string>& handled);
[[nodiscard]] bool takes(const std::string& handled, const std::string& type);

template <class F>
using input_of = typename triage::detail::FirstParameter<std::remove_cvref_t<F>>::type;

template <class F>
inline constexpr bool takes_context = std::is_invocable_v<F&, const input_of<F>&, Context&>;

template <class F>
Result<void> call_handler(F& call, const Message& message, Context& context) {
  using In = input_of<F>;
  std::optional<In> in;
  try {
    in.emplace(exactly<In>(message.json()));
  } catch (const std::exception& e) {
    return unreadable(message, e.what());
  }
  static_assert(std::is_invocable_v<F&, const In&, Context&> || std::is_invocable_v<F&, const In&>,
                "triage: a handler takes (const In&, workflow::Context&) or (const In&)");
  const auto invoke = [&]() -> decltype(auto) {
    if constexpr (takes_context<F>) {
      return call(*in, context);
    } else {
      return call(*in);
    }
  };
  using Returned = std::remove_cv_t<decltype(invoke())>;
  if constexpr (std::is_void_v<Returned>) {
    invoke();
  } else if constexpr (triage::detail::Unwrapped<Returned>::is_result) {
    Returned returned = invoke();
    if (!returned) return std::move(returned).error();
    if constexpr (!std::is_void_v<typename triage::detail::Unwrapped<Returned>::type>) {
      send_returned(context, make_message(returned.value()));
    }
  } else {
    send_returned(context, make_message(invoke()));
  }
  return outcome::success();
}

template <class F>
class CallInstance final : public Instance {
 public:
  explicit CallInstance(F call) : call_(std::move(call)) {}
  Result<void> handle(const Message& message, Context& context) override {
    const std::string handled = type_name<input_of<F>>();
    if (!takes(handled, message.type)) return unhandled(message, {handled});
    return call_handler(call_, message, context);
  }
  [[nodiscard]] bool has_state() const override { return HasHooks<F>; }
  [[nodiscard]] Json save() const override {
    if constexpr (HasHooks<F>) {
      return Json(call_.save());
    } else {
      return nullptr;
    }
  }
  Result<void> restore(const Json& saved) override {
    if constexpr (HasHooks<F>) {
      return call_.restore(saved);
    } else {
      return outcome::success();
    }
  }

 private:
  F call_;
};

template <class... F>
class PackInstance final : public Instance {
 public:
  explicit PackInstance(std::tuple<F...> calls) : calls_(std::move(calls)) {}
  Result<void> handle(const Message& message, Context& context) override {
    std::optional<Result<void>> done;
    for (const bool exact : {true, false}) {
      const auto try_one = [&](auto& call) {
        const std::string handled = type_name<input_of<decltype(call)>>();
        const bool fits = exact ? handled == message.type : takes(handled, message.type);
        if (!done && fits) done = call_handler(call, message, context);
      };
      std::apply([&](auto&... call) { (try_one(call), ...); }, calls_);
      if (done) return *std::move(done);
    }
    return unhandled(message, {type_name<input_of<F>>()...});
  }
  [[nodiscard]] bool has_state() const override { return (HasHooks<F> || ...); }
  // In their order; null for those without hooks.
  [[nodiscard]] Json save() const override {
    Json saved = Json::array();
    const auto save_one = [&](const auto& call) {
      if constexpr (HasHooks<std::decay_t<decltype(call)>>) {
        saved.push_back(call.save());
      } else {
        saved.push_back(nullptr);
      }
    };
    std::apply([&](const auto&... call) { (save_one(call), ...); }, calls_);
    return saved;
  }
  Result<void> restore(const Json& saved) override {
    if (!saved.is_array() || saved.size() != sizeof...(F)) {
      return Error{Errc::conflict, "what was saved is not of " + std::to_string(sizeof...(F)) +
                                       " handlers; allowed is what these have saved"};
    }
    Result<void> restored = outcome::success();
    std::size_t i = 0;
    const auto restore_one = [&](auto& call) {
      [[maybe_unused]] const Json& own = saved[i++];
      if constexpr (HasHooks<std::decay_t<decltype(call)>>) {
        if (restored && !own.is_null()) restored = call.restore(own);
      }
    };
    std::apply([&](auto&... call) { (restore_one(call), ...); }, calls_);
    return restored;
  }

 private:
  std::tuple<F...> calls_;
};

template <class F>
constexpr void require_no_lost_state() {
  static_assert(std::is_empty_v<F> || std::is_pointer_v<F> || HasHooks<F>,
                "triage: this executor has data members, which a checkpoint would lose: give it "
                "`Json save() const` and `Result<void> restore(const Json&)`, keep its state in "
                "context.state(), or wrap it in workflow::stateless(…) if they hold no state");
}

template <class F>
[[nodiscard]] ExecutorType executor_type(F call) {
  require_no_lost_state<F>();
  return {{type_name<input_of<F>>()},
          [call = std::move(call)] { return std::make_unique<CallInstance<F>>(call); },
          takes_context<F>,
          HasHooks<F>};
}
template <class F>
[[nodiscard]] ExecutorType executor_type(Stateless<F> marked) {
  return {{type_name<input_of<F>>()},
          [call = std::move(marked.call)] { return std::make_unique<CallInstance<F>>(call); },
          takes_context<F>,
          HasHooks<F>};
}
template <class... F>
[[nodiscard]] ExecutorType executor_type(Handlers<F...> pack) {
  (require_no_lost_state<F>(), ...);
  return {{type_name<input_of<F>>()...},
          [calls = std::move(pack.calls)] { return std::make_unique<PackInstance<F...>>(calls); },
          (takes_context<F> || ...),
          (HasHooks<F> || ...)};
}
template <class... F>
[[nodiscard]] ExecutorType executor_type(Stateless<Handlers<F...>> marked) {
  return {{type_name<input_of<F>>()...},
          [calls = std::move(marked.call.calls)] {
            return std::make_unique<PackInstance<F...>>(calls);
          },
          (takes_context<F> || ...),
          (HasHooks<F> || ...)};
}

}  // namespace detail

}  // namespace triage::inline v0_1::workflow
