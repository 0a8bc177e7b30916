// SPDX-License-Identifier: MIT
#pragma once
// Workflow: an immutable graph of executors, and its builder.

#include "triage/workflow/executor.hpp"
#include "triage/workflow/message.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

enum class Schedule : std::uint8_t {
  // Runs everything that is ready, then delivers its messages.
  supersteps,
  // Runs an executor as soon as its input is there. Each executor then has one way in, an edge or a
  // fan-in, so that the order of its deliveries does not depend on time. A fan-in of kind `any` or
  // `count` takes messages in the order (length of their path, executor), and so waits for those
  // that may still come before. So does whoever gets what several executors of a nested workflow
  // send out of it.
  eager,
};

// When a fan-in delivers a list of its sources' messages, in the order of the sources.
struct Join {
  enum class Kind : std::uint8_t {
    all,    // One message from every source.
    any,    // Each message at once, as a list of one.
    count,  // Messages from `count` sources.
  };
  Kind kind = Kind::all;
  std::size_t count = 0;

  [[nodiscard]] static Join all() { return {}; }
  [[nodiscard]] static Join any() { return {Kind::any, 1}; }
  [[nodiscard]] static Join of(std::size_t sources) { return {Kind::count, sources}; }
};

using Condition = std::function<bool(const Message&)>;
// Chooses the targets of a fan-out that get a message.
using Selector = std::function<std::vector<std::string>(const Message&)>;

// A condition on messages of one type; other messages do not pass, nor do numbers that T would cut.
template <class T, class F>
[[nodiscard]] Condition when(F&& holds) {
  return [holds = std::forward<F>(holds)](const Message& message) -> bool {
    if (message.type != type_name<T>()) return false;
    if constexpr (std::is_arithmetic_v<T>) {
      std::optional<T> number;
      try {
        number = detail::exactly<T>(message.json());
      } catch (const std::exception&) {
        return false;
      }
      return holds(*number);
    } else {
      return holds(message.json().get<T>());
    }
  };
}

struct Case {
  Condition condition{};
  std::string target{};
};

struct EdgeOptions {
  // Unique in the workflow, without "/"; empty: made from the ends, "a->b".
  std::string name{};
  std::string version = "1";  // Part of the fingerprint: for conditions and selectors.
};

// Defaults for executors that do not override them; nested workflows have their own.
struct ExecutorDefaults {
  std::optional<FailurePolicy> policy{};
  Duration timeout{0};
  Duration idle_timeout{0};
  std::optional<Limits> limits{};
};

struct WorkflowOptions {
  std::string version = "1";  // Part of the fingerprint.
  Schedule schedule = Schedule::supersteps;
  // 1 to 1,000,000. Exceeding it ends the run as `step_limit`. Nested workflows take their steps in
  // those of the outermost one, so theirs does not count.
  int max_supersteps = 100;
  // The start executors receive the run's inputs; false: null, and they use Context::input.
  bool deliver_inputs = true;
  // When it makes checkpoints. A nested workflow without a policy inherits its parent's.
  std::optional<CheckpointPolicy> checkpoints{};
  ExecutorDefaults defaults{};
  // How many deliveries may run at once, including those of nested workflows; 0: any number.
  // Deliveries that wait for an answer do not count. Not part of the fingerprint.
  std::size_t capacity = 0;
  // The same for groups of executors that name one of these: ExecutorOptions::shares. 1 or more.
  std::map<std::string, std::size_t> capacities{};
  // How often a run may roll back as a whole (RollbackScope::workflow) before its failure is final;
  // 0 to 1,000.
  int max_rollbacks = 3;
};

// An executor's private data.
struct ExecutorState {
  Json saved{};                 // The last result of its save(); null: none.
  Json state = Json::object();  // The contents of context.state(), by key.
};
// Converts what one version has left behind to what the next one can continue with.
using Migrate = std::function<Result<ExecutorState>(ExecutorState)>;

namespace detail {

struct EdgeSpec {
  enum class Kind : std::uint8_t { direct, choice, fan_out, fan_in };
  Kind kind = Kind::direct;
  EdgeOptions options{};
  std::vector<std::string> sources{};
  std::vector<std::string> targets{};  // choice: the cases' targets, then the default.
  std::vector<Condition> conditions{};
  Selector selector{};
  Join join{};
};

struct MigrationSpec {
  std::string from{};
  std::string to{};
  Migrate change{};
};

class WorkflowBody;
struct NodeSpec {
  std::string id{};
  ExecutorType type{};
  ExecutorOptions options{};
  std::shared_ptr<const WorkflowBody> nested{};
  std::vector<MigrationSpec> migrations{};
};
// Combines writes to one key of shared state in one superstep.
using Reducer = std::function<Json(const Json& before, const Json& written)>;

struct PortSpec {
  std::string type{};
  std::function<Result<void>(const Json&)> check{};
};

// A builder's content, not necessarily checked.
struct WorkflowSpec {
  std::string id{};
  WorkflowOptions options{};
  std::vector<NodeSpec> nodes{};
  std::vector<EdgeSpec> edges{};
  std::vector<std::string> starts{};
  std::map<std::string, PortSpec, std::less<>> ports{};
  std::map<std::string, Reducer, std::less<>> reducers{};           // By key of the shared state.
  std::vector<std::pair<std::string, MigrationSpec>> migrations{};  // Until build(), by executor.
};

[[nodiscard]] Result<void> answers_as(const Json& answer, const std::function<void()>& convert);

}  // namespace detail

// Thread-safety: immutable; one Workflow serves any number of runs at once. Cheap to copy.
class Workflow {
 public:
  [[nodiscard]] const std::string& id() const noexcept;
  // Hashes by part ("executor plan", "edge a->b", "workflow"), and the ids of an eager workflow's
  // "starts". A run can only resume if they are equal, but for parts that have not had their turn.
  [[nodiscard]] const std::map<std::string, std::string>& fingerprint() const noexcept;
  // The paths of all executors, nested ones as "outer/inner", in merge order.
  [[nodiscard]] std::vector<std::string> executors() const;

  [[nodiscard]] const std::shared_ptr<const detail::WorkflowBody>& body() const noexcept {
    return body_;
  }

 private:
  friend class WorkflowBuilder;
  explicit Workflow(std::shared_ptr<const detail::WorkflowBody> body) : body_(std::move(body)) {}
  std::shared_ptr<const detail::WorkflowBody> body_;
};

// Collects executors and edges; build() checks them. Ids have 1 to 128 of A-Z a-z 0-9 . _ : - and
// do not begin with a dot.
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

  // `call` is handlers(…), or takes (const In&, Context&) or (const In&) and returns nothing, a
  // value to send, or a Result of either.
  template <class F>
  WorkflowBuilder& executor(std::string id, F call, ExecutorOptions options = {}) {
    spec_.nodes.push_back(
        {std::move(id), detail::executor_type(std::move(call)), std::move(options), nullptr});
    return *this;
  }
  // A workflow as an executor: messages to it start it, its outputs are sent. Its executors run in
  // this workflow's supersteps; its state is separate. Of the options, only `checkpoints` and
  // `shares` are allowed: the others belong to its own executors.
  WorkflowBuilder& executor(std::string id, const Workflow& nested, ExecutorOptions options = {});
  // Receives the run's inputs. At least one.
  WorkflowBuilder& start(std::string id);

  WorkflowBuilder& edge(std::string from, std::string to, Condition condition = {},
                        EdgeOptions options = {});
  // a → b → c.
  WorkflowBuilder& chain(const std::vector<std::string>& executors);
  // Sends the message to the first case that holds, else to `otherwise`.
  WorkflowBuilder& choice(std::string from, std::vector<Case> cases, std::string otherwise,
                          EdgeOptions options = {});
  // Sends the message to all targets, or to those that the selector names.
  WorkflowBuilder& fan_out(std::string from, std::vector<std::string> to, Selector selector = {},
                           EdgeOptions options = {});
  WorkflowBuilder& fan_in(std::vector<std::string> from, std::string to, Join join = {},
                          EdgeOptions options = {});

  // Declares a port for Context::request.
  template <JsonReadable Answer>
  WorkflowBuilder& port(std::string name) {
    return add_port(std::move(name), {type_name<Answer>(), [](const Json& answer) {
                                        return detail::answers_as(answer, [&] {
                                          static_cast<void>(detail::exactly<Answer>(answer));
                                        });
                                      }});
  }
  // Combines several writers' values of one key of shared state, else a conflict.
  WorkflowBuilder& reducer(std::string key, detail::Reducer reduce);

  // Lets runs that finished something in version `from` of an executor continue if its current
  // version is `to`, or is reachable from it through other migrations. Called once for each such
  // run, before its first handler.
  WorkflowBuilder& migrate(std::string executor, std::string from, std::string to, Migrate change);

  // Errors: Errc::invalid_argument, naming the part, its value and what is allowed: empty,
  // duplicate or reserved ids; edges with an unknown end, or from an executor to itself without a
  // condition; unreachable executors; a fan-in of one source or with an unreachable count; a choice
  // without cases or default; no start; in an eager workflow, an executor with two ways in.
  [[nodiscard]] Result<Workflow> build() const;

 private:
  WorkflowBuilder& add_port(std::string name, detail::PortSpec port);
  detail::WorkflowSpec spec_{};
};

// Reducers. append: joins lists and values into one list; sum: numbers; max: numbers or texts;
// merge: objects, key by key, the later value wins.
namespace reduce {
[[nodiscard]] detail::Reducer append();
[[nodiscard]] detail::Reducer sum();
[[nodiscard]] detail::Reducer max();
[[nodiscard]] detail::Reducer merge();
}  // namespace reduce

}  // namespace triage::inline v0_1::workflow
