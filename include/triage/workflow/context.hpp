// SPDX-License-Identifier: MIT
#pragma once
// What a handler of an executor sees of its run.

#include "triage/attempt.hpp"
#include "triage/workflow/memory.hpp"
#include "triage/workflow/message.hpp"

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

// Values that outlive one delivery, under keys of 1 to 256 bytes. A write is seen by its writer at
// once, by others after the superstep (in an eager workflow: by those that it led to). Nothing of a
// delivery that fails is kept.
class Scope {
 public:
  // Null if there is no such key.
  [[nodiscard]] std::shared_ptr<const Json> find(std::string_view key) const;
  // The value under `key`, or `otherwise`. Throws as nlohmann's get does.
  template <JsonReadable T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const auto found = find(key);
    return found ? found->template get<T>() : std::move(otherwise);
  }
  // Errors are sticky: the delivery fails with them. Refused are keys that begin with "triage/" and
  // values that cannot be stored.
  void set(std::string_view key, Json value);
  void remove(std::string_view key) { set(key, nullptr); }

 private:
  friend class Context;
  Scope(detail::Call* call, std::string name) : call_(call), name_(std::move(name)) {}
  detail::Call* call_;
  std::string name_;
};

struct RequestOptions {
  std::optional<WallTime> expires{};  // The delivery fails as a timeout then.
};

// Thread-safety: for the thread that the handler was called on; effect(), record_step(),
// stop_token() and deadline() also for threads that it has started and joins.
class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const std::string& executor() const noexcept;  // Its path: "outer/inner".
  [[nodiscard]] const std::string& run_id() const;
  // Which delivery to this executor this is; 1 for the first.
  [[nodiscard]] int occurrence() const noexcept;
  // Its superstep, 1 for the first; in an eager workflow the length of the longest way to here.
  [[nodiscard]] int superstep() const noexcept;

  // Sends a message along the executor's edges, when the handler has returned. A value that a
  // handler returns is sent like this, or is an output if the executor has no edges.
  template <JsonWritable T>
  void send(const T& value) {
    send_message(make_message(value));
  }
  void send_message(Message message);
  // Sends it to one of the executors that its edges lead to. Another one is a sticky error.
  template <JsonWritable T>
  void send_to(std::string_view target, const T& value) {
    send_message_to(target, make_message(value));
  }
  void send_message_to(std::string_view target, Message message);
  // Adds to what the workflow returns; in a nested workflow, what it sends.
  template <JsonWritable T>
  void output(const T& value) {
    output_message(make_message(value));
  }
  void output_message(Message message);

  // An input of the run; nothing if the inputs are no object or have no such key.
  [[nodiscard]] std::shared_ptr<const Json> find_input(std::string_view key) const;
  template <JsonReadable T>
  [[nodiscard]] std::optional<T> input(std::string_view key) const {
    const auto found = find_input(key);
    return found ? std::optional<T>(found->template get<T>()) : std::nullopt;
  }

  // This executor's own values, and those that all executors of this workflow share, under a name
  // if there is one.
  [[nodiscard]] Scope state();
  [[nodiscard]] Scope shared(std::string_view name = {});

  // What the run remembers under "agent/…". An agent is any name of 1 to 250 bytes.
  [[nodiscard]] Memory memory(std::string_view agent);
  // One of WorkflowRunOptions::resources, or nothing.
  [[nodiscard]] std::optional<Resource> resource(std::string_view name) const;

  // Asks a person, or a program, outside. The first call ends the handler (it throws
  // RequestPending: let it pass); when `run.answer` has answered, the handler is called again with
  // the same message, comes here again and gets the answer. What it did before must be an effect,
  // or bear to be repeated. `port` names what is asked for; it must have been declared with
  // WorkflowBuilder::port<Answer>.
  template <JsonReadable Answer>
  [[nodiscard]] Answer request(std::string_view port, const Json& payload,
                               const RequestOptions& options = {}) {
    return request_json(port, type_name<Answer>(), payload, options).template get<Answer>();
  }

  // Attempt::effect, under the executor's path: at most once in the life of the run for each
  // executor and key.
  template <EffectFunction Fn>
  auto effect(std::string_view key, Fn&& fn, const EffectOptions& options = {})
      -> triage::detail::effect_result_t<Fn> {
    before_effect();
    return settled(attempt().try_effect(effect_key(key), std::forward<Fn>(fn), options));
  }
  template <EffectFunction Fn>
  auto effect(std::string_view key, const Json& arguments, Fn&& fn,
              const EffectOptions& options = {}) -> triage::detail::effect_result_t<Fn> {
    before_effect();
    return settled(attempt().try_effect(effect_key(key), arguments, std::forward<Fn>(fn), options));
  }
  // As Attempt::record_step, with the executor as Step::agent_id.
  void record_step(Step step);
  void record_usage(const Usage& usage);
  // Says that the executor has changed the plan that others work on
  // (CheckpointTrigger::plan_patched). It must have said so: ExecutorOptions::patches_plan.
  void plan_patched();
  // Triggered when the run is cancelled or the executor has no time left.
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
  void before_effect();
  [[nodiscard]] Json request_json(std::string_view port, std::string type, const Json& payload,
                                  const RequestOptions& options);
  [[noreturn]] void give_up(Error error);
  template <class T>
  T settled(Result<T> done) {
    if (!done) give_up(std::move(done).error());
    if constexpr (!std::is_void_v<T>) return std::move(done).value();
  }

  detail::Call* call_;
};

// Thrown by Context::request when there is no answer yet. Let it pass: the handler is called again
// when there is one, even if it is swallowed. It is no std::exception.
struct RequestPending {};

}  // namespace triage::inline v0_1::workflow
