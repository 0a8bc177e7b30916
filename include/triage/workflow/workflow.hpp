// SPDX-License-Identifier: MIT
#pragma once
// Workflow: an immutable graph of executors, and its builder.

#include "triage/workflow/executor.hpp"
#include "triage/workflow/message.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

enum class Schedule : std::uint8_t {
  // All that is ready runs, then what it sent is delivered.
  supersteps,
  // An executor runs as soon as its own input is there. Every executor has one way in, then: an
  // edge, or a fan-in of kind `all`; so the order of its deliveries does not depend on time.
  eager,
};

// When a fan-in delivers one list of what its sources have sent, in the order of the sources.
struct Join {
  enum class Kind : std::uint8_t {
    all,    // One message of every source.
    any,    // Each message, alone in its list.
    count,  // As many sources as `count` says.
  };
  Kind kind = Kind::all;
  std::size_t count = 0;

  [[nodiscard]] static Join all() { return {}; }
  [[nodiscard]] static Join any() { return {Kind::any, 1}; }
  [[nodiscard]] static Join of(std::size_t sources) { return {Kind::count, sources}; }
};

using Condition = std::function<bool(const Message&)>;
// Which of the targets of a fan-out get a message.
using Selector = std::function<std::vector<std::string>(const Message&)>;

// A condition on messages of one type; others do not pass.
template <class T, class F>
[[nodiscard]] Condition when(F&& holds) {
  return [holds = std::forward<F>(holds)](const Message& message) {
    return message.type == type_name<T>() && holds(message.json().get<T>());
  };
}

struct Case {
  Condition condition{};
  std::string target{};
};

struct EdgeOptions {
  std::string name{};         // Empty: made of the ends, "a->b". Unique in the workflow.
  std::string version = "1";  // Part of the fingerprint: for conditions and selectors.
};

struct WorkflowOptions {
  std::string version = "1";  // Part of the fingerprint.
  Schedule schedule = Schedule::supersteps;
  int max_supersteps = 100;  // 1 to 1,000,000. More end the run as `step_limit`.
  // The starts get the run's inputs as their message; false: null, and Context::input has them.
  bool deliver_inputs = true;
  // When it makes checkpoints. A nested workflow that has none inherits those around it.
  std::optional<CheckpointPolicy> checkpoints{};
};

namespace detail {

struct EdgeSpec {
  enum class Kind : std::uint8_t { direct, choice, fan_out, fan_in };
  Kind kind = Kind::direct;
  EdgeOptions options{};
  std::vector<std::string> sources{};
  std::vector<std::string> targets{};  // choice: of the cases, then the default.
  std::vector<Condition> conditions{};
  Selector selector{};
  Join join{};
};

class WorkflowBody;
struct NodeSpec {
  std::string id{};
  ExecutorType type{};
  ExecutorOptions options{};
  std::shared_ptr<const WorkflowBody> nested{};
};
// How executors that write one key of shared state in one superstep agree.
using Reducer = std::function<Json(const Json& before, const Json& written)>;

struct PortSpec {
  std::string type{};
  std::function<Result<void>(const Json&)> check{};
};

// What a builder has gathered, checked or not.
struct WorkflowSpec {
  std::string id{};
  WorkflowOptions options{};
  std::vector<NodeSpec> nodes{};
  std::vector<EdgeSpec> edges{};
  std::vector<std::string> starts{};
  std::map<std::string, PortSpec, std::less<>> ports{};
  std::map<std::string, Reducer, std::less<>> reducers{};  // By key of the shared state.
};

[[nodiscard]] Result<void> answers_as(const Json& answer, const std::function<void()>& convert);

}  // namespace detail

// Thread-safety: immutable; one Workflow serves any number of runs at once. Cheap to copy.
class Workflow {
 public:
  [[nodiscard]] const std::string& id() const noexcept;
  // Names of parts ("executor plan", "edge a->b", "workflow") and what they are, hashed. Runs go on
  // where these are equal.
  [[nodiscard]] const std::map<std::string, std::string>& fingerprint() const noexcept;
  // The paths of all executors, nested ones as "outer/inner", in the order of their merging.
  [[nodiscard]] std::vector<std::string> executors() const;

  [[nodiscard]] const std::shared_ptr<const detail::WorkflowBody>& body() const noexcept {
    return body_;
  }

 private:
  friend class WorkflowBuilder;
  explicit Workflow(std::shared_ptr<const detail::WorkflowBody> body) : body_(std::move(body)) {}
  std::shared_ptr<const detail::WorkflowBody> body_;
};

// Gathers executors and edges; build() checks them. Ids have 1 to 128 of A-Z a-z 0-9 . _ : - and do
// not begin with a dot.
//
//   auto graph = WorkflowBuilder("greet")
//                    .executor("first", [](const std::string& name) { return "hello " + name; })
//                    .start("first")
//                    .build();
class WorkflowBuilder {
 public:
  explicit WorkflowBuilder(std::string id, WorkflowOptions options = {}) {
    spec_.id = std::move(id);
    spec_.options = std::move(options);
  }

  // `call` takes (const In&, Context&) or (const In&) and returns nothing, a value that is sent, or
  // a Result of either; or it is handlers(…) of several.
  template <class F>
  WorkflowBuilder& executor(std::string id, F call, ExecutorOptions options = {}) {
    spec_.nodes.push_back(
        {std::move(id), detail::executor_type(std::move(call)), std::move(options), nullptr});
    return *this;
  }
  // A workflow as an executor: what reaches it starts it, what it outputs it sends. Its executors
  // run in this workflow's supersteps, and its state is its own.
  WorkflowBuilder& executor(std::string id, const Workflow& nested, ExecutorOptions options = {});
  // Where the run's inputs are delivered. At least one.
  WorkflowBuilder& start(std::string id);

  WorkflowBuilder& edge(std::string from, std::string to, Condition condition = {},
                        EdgeOptions options = {});
  // a → b → c.
  WorkflowBuilder& chain(const std::vector<std::string>& executors);
  // The first case that holds gets the message, else `otherwise`.
  WorkflowBuilder& choice(std::string from, std::vector<Case> cases, std::string otherwise,
                          EdgeOptions options = {});
  // All targets, or those that the selector names, get the message.
  WorkflowBuilder& fan_out(std::string from, std::vector<std::string> to, Selector selector = {},
                           EdgeOptions options = {});
  WorkflowBuilder& fan_in(std::vector<std::string> from, std::string to, Join join = {},
                          EdgeOptions options = {});

  // Declares what Context::request may ask for.
  template <JsonReadable Answer>
  WorkflowBuilder& port(std::string name) {
    return add_port(std::move(name), {type_name<Answer>(), [](const Json& answer) {
                                        return detail::answers_as(answer, [&] {
                                          static_cast<void>(answer.template get<Answer>());
                                        });
                                      }});
  }
  // How several writers of one key of the shared state agree; without one they are a conflict.
  WorkflowBuilder& reducer(std::string key, detail::Reducer reduce);

  // Errors: Errc::invalid_argument, naming the part, its value and what is allowed: ids that are
  // empty, twice there or reserved; edges from or to nothing, or from an executor to itself without
  // a condition; executors that nothing reaches; a fan-in of one source or with a count that it
  // cannot reach; a choice without cases or default; nothing to start; in an eager workflow, an
  // executor with two ways in.
  [[nodiscard]] Result<Workflow> build() const;

 private:
  WorkflowBuilder& add_port(std::string name, detail::PortSpec port);
  detail::WorkflowSpec spec_{};
};

// Reducers. append: lists and values to one list; sum: numbers; max: numbers or texts; merge:
// objects, key by key, the later one wins.
namespace reduce {
[[nodiscard]] detail::Reducer append();
[[nodiscard]] detail::Reducer sum();
[[nodiscard]] detail::Reducer max();
[[nodiscard]] detail::Reducer merge();
}  // namespace reduce

}  // namespace triage::inline v0_1::workflow
