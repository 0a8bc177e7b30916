// SPDX-License-Identifier: MIT
#pragma once
// A handler's view of its run.

#include "triage/attempt.hpp"
#include "triage/workflow/memory.hpp"
#include "triage/workflow/message.hpp"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::workflow {

class Context;

namespace detail {
class Call;
void send_returned(Context& context, Message message);
struct NestedRun;
NestedRun nested_run(Context& context, const Json& task);
}  // namespace detail

// Values that outlive one delivery, under keys of 1 to 256 bytes. The writer sees a write at once,
// other executors after the superstep (in an eager workflow: those that the writer leads to). The
// writes of a failed delivery are discarded.
class Scope {
 public:
  // Null if the key is missing.
  [[nodiscard]] std::shared_ptr<const Json> find(std::string_view key) const;
  // The value under `key`, or `otherwise`. Throws std::invalid_argument, naming the key, if it does
  // not convert.
  template <JsonReadable T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const auto found = find(key);
    return found ? detail::exactly<T>(*found, detail::named("state key", key))
                 : std::move(otherwise);
  }
  // Errors are sticky and fail the delivery: keys that begin with "triage/", and values that cannot
  // be stored.
  void set(std::string_view key, Json value);
  void remove(std::string_view key) { set(key, nullptr); }

 private:
  friend class Context;
  Scope(detail::Call* call, std::string name) : call_(call), name_(std::move(name)) {}
  detail::Call* call_;
  std::string name_;
};

struct RequestOptions {
  // From then on an answer is refused: request() fails as a timeout with the reason
  // request_expired, try_request() returns nothing. What the first call for a request says is
  // stored and counts for all later ones.
  std::optional<WallTime> expires{};
};

// Thread-safety: for the thread that calls the handler; effect(), record_step(), stop_token() and
// deadline() also for threads that the handler starts and joins.
class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const std::string& executor() const noexcept;  // Its path: "outer/inner".
  [[nodiscard]] const std::string& run_id() const;
  // The number of this delivery to the executor; 1 for the first.
  [[nodiscard]] int occurrence() const noexcept;
  // The superstep, from 1; in an eager workflow the length of the longest path to this executor.
  [[nodiscard]] int superstep() const noexcept;

  // Sends a message along the executor's edges once the handler has returned. A returned value is
  // sent the same way, or is an output if the executor has no edges.
  template <JsonWritable T>
  void send(const T& value) {
    send_message(make_message(value));
  }
  void send_message(Message message);
  // Sends to one executor that its edges lead to; any other is a sticky error.
  template <JsonWritable T>
  void send_to(std::string_view target, const T& value) {
    send_message_to(target, make_message(value));
  }
  void send_message_to(std::string_view target, Message message);
  // Adds to the workflow's outputs; in a nested workflow, sends.
  template <JsonWritable T>
  void output(const T& value) {
    output_message(make_message(value));
  }
  void output_message(Message message);

  // An input of the run; empty if the inputs are not an object or lack the key. input() throws like
  // Scope::value.
  [[nodiscard]] std::shared_ptr<const Json> find_input(std::string_view key) const;
  template <JsonReadable T>
  [[nodiscard]] std::optional<T> input(std::string_view key) const {
    const auto found = find_input(key);
    if (!found) return std::nullopt;
    return detail::exactly<T>(*found, detail::named("input", key));
  }

  // This executor's own values; and those shared by all executors of this workflow, in a scope with
  // an optional name.
  [[nodiscard]] Scope state();
  [[nodiscard]] Scope shared(std::string_view name = {});

  // What the run remembers under "agent/...". agent: a name of 1 to 250 bytes.
  [[nodiscard]] Memory memory(std::string_view agent);
  // One of WorkflowRunOptions::resources; empty if the name is unknown.
  [[nodiscard]] std::optional<Resource> resource(std::string_view name) const;

  // Asks a person or program outside. The first call ends the handler by throwing RequestPending
  // (let it pass). Once WorkflowRun::answer() has answered, the handler is called again with the
  // same message, and this call returns the answer. Work before it must be an effect or safe to
  // repeat; inside an effect a request is refused. `port` names what is asked for and must be
  // declared with WorkflowBuilder::port<Answer>.
  template <JsonReadable Answer>
  [[nodiscard]] Answer request(std::string_view port, const Json& payload,
                               const RequestOptions& options = {}) {
    return detail::exactly<Answer>(request_json(port, type_name<Answer>(), payload, options),
                                   detail::named("the answer at port", port));
  }
  // Like request(), but empty once the request has expired without an answer.
  template <JsonReadable Answer>
  [[nodiscard]] std::optional<Answer> try_request(std::string_view port, const Json& payload,
                                                  const RequestOptions& options) {
    const auto answer = try_request_json(port, type_name<Answer>(), payload, options);
    if (!answer) return std::nullopt;
    return detail::exactly<Answer>(*answer, detail::named("the answer at port", port));
  }

  // Attempt::effect under the executor's path: at most once in the life of the run per executor and
  // key.
  template <EffectFunction Fn>
  auto effect(std::string_view key, Fn&& fn, const EffectOptions& options = {})
      -> triage::detail::effect_result_t<Fn> {
    return carry_out(effect_key(key), key, nullptr, fn, options);
  }
  template <EffectFunction Fn>
  auto effect(std::string_view key, const Json& arguments, Fn&& fn,
              const EffectOptions& options = {}) -> triage::detail::effect_result_t<Fn> {
    return carry_out(effect_key(key), key, &arguments, fn, options);
  }
  // An effect on an external resource that others also act on: "account:42". Acts on one resource
  // happen one after another, and each key once: a later caller with the same key, in another
  // executor or another branch, gets the first result, or Errc::conflict if the arguments differ.
  // resource: 1 to 256 bytes. fn must not use effect_on() for the same resource; of several
  // resources, all who act on one inside another must take them in the same order, else they wait
  // for each other for ever. Needs a store that all of them share. Allows no compensation, because
  // others may depend on the act.
  template <EffectFunction Fn>
  auto effect_on(std::string_view resource, std::string_view key, Fn&& fn,
                 const EffectOptions& options = {}) -> triage::detail::effect_result_t<Fn> {
    return carry_out_on(resource, key, nullptr, fn, options);
  }
  template <EffectFunction Fn>
  auto effect_on(std::string_view resource, std::string_view key, const Json& arguments, Fn&& fn,
                 const EffectOptions& options = {}) -> triage::detail::effect_result_t<Fn> {
    return carry_out_on(resource, key, &arguments, fn, options);
  }
  // Like Attempt::reserve: from the budgets of the run and of the agents around it.
  [[nodiscard]] Result<Reservation> reserve(const Usage& estimate);
  // Like Attempt::record_step, with the executor as Step::agent_id.
  void record_step(Step step);
  void record_usage(const Usage& usage);
  // Reports that the executor has changed the plan that others work on
  // (CheckpointTrigger::plan_patched). Requires ExecutorOptions::patches_plan.
  void plan_patched();
  // Triggered when the run is cancelled, or the executor is out of time: ExecutorOptions::timeout
  // and idle_timeout. The first call under one of these sets an alarm (Clock::alarm: a thread).
  [[nodiscard]] std::stop_token stop_token() const;
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  // Reports a failure: `return context.fail({.text = …, .http_status = 503});`
  [[nodiscard]] Error fail(Failure failure);

 private:
  friend class detail::Call;
  friend void detail::send_returned(Context& context, Message message);
  friend detail::NestedRun detail::nested_run(Context& context, const Json& task);
  explicit Context(detail::Call* call) noexcept : call_(call) {}
  [[nodiscard]] Attempt& attempt() const;
  [[nodiscard]] std::string effect_key(std::string_view key) const;
  [[nodiscard]] std::string effect_key_on(std::string_view resource, std::string_view key) const;
  // Around what an effect does.
  class InEffect {
   public:
    InEffect(Context& context, std::string_view key) : context_(context) {
      context_.effect_begins(key);
    }
    ~InEffect() { context_.effect_ends(); }
    InEffect(const InEffect&) = delete;
    InEffect& operator=(const InEffect&) = delete;

   private:
    Context& context_;
  };
  void effect_begins(std::string_view key);
  void effect_ends() noexcept;
  // Why no new effect may begin: in a branch that refuses them (ForkEffects), or out of time.
  [[nodiscard]] std::optional<Error> refusal(std::string_view what) const;
  // name: the effect's in the run. key: the executor's, for people.
  template <class Fn>
  auto carry_out(const std::string& name, std::string_view key, const Json* arguments, Fn& fn,
                 const EffectOptions& options) -> triage::detail::effect_result_t<Fn> {
    const InEffect inside(*this, key);
    const auto act = [&](auto& work) {
      return arguments != nullptr ? attempt().try_effect(name, *arguments, work, options)
                                  : attempt().try_effect(name, work, options);
    };
    std::optional<Error> refused = refusal(key);
    if (!refused) return settled(act(fn));
    auto nothing = [&]() -> triage::detail::effect_result_t<Fn> {
      throw EffectNotDone(refused->detail);
    };
    try {
      return settled(act(nothing));
    } catch (const EffectNotDone&) {
      give_up(*std::move(refused));
    }
  }
  using Act = std::function<Json(const EffectCall&)>;
  [[nodiscard]] Json act_on(std::string_view resource, std::string_view key, const Json* arguments,
                            const Act& act, const EffectOptions& options);
  [[noreturn]] void unreadable_result(std::string_view key, const std::string& why);
  template <class Fn>
  auto carry_out_on(std::string_view resource, std::string_view key, const Json* arguments, Fn& fn,
                    const EffectOptions& options) -> triage::detail::effect_result_t<Fn> {
    using Value = triage::detail::effect_result_t<Fn>;
    const Act act = [&fn](const EffectCall& effect) {
      return triage::detail::effect_as_json(fn, effect);
    };
    const Json done = act_on(resource, key, arguments, act, options);
    if constexpr (!std::is_void_v<Value>) {
      try {
        return done.template get<Value>();
      } catch (const std::exception& e) {
        unreadable_result(key, e.what());
      }
    }
  }
  [[nodiscard]] Json request_json(std::string_view port, std::string type, const Json& payload,
                                  const RequestOptions& options);
  [[nodiscard]] std::optional<Json> try_request_json(std::string_view port, std::string type,
                                                     const Json& payload,
                                                     const RequestOptions& options);
  [[noreturn]] void give_up(Error error);
  template <class T>
  T settled(Result<T> done) {
    if (!done) give_up(std::move(done).error());
    if constexpr (!std::is_void_v<T>) return std::move(done).value();
  }

  detail::Call* call_;
};

// Thrown by Context::request if there is no answer yet. Do not catch it: the handler is called
// again with the answer even if you do. It is not a std::exception.
struct RequestPending {};

}  // namespace triage::inline v0_1::workflow
