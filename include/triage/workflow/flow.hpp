// SPDX-License-Identifier: MIT
#pragma once
// Flow: methods that listen to each other and to routers' labels, as a workflow.

#include "triage/workflow/workflow.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

// What a listener waits for: method names, or labels that routers return. A method's name is never
// a label.
struct Trigger {
  std::vector<std::string> names{};
  bool all = false;

  Trigger(std::string name) : names{std::move(name)} {}  // NOLINT(google-explicit-constructor)
  Trigger(const char* name) : names{name} {}             // NOLINT(google-explicit-constructor)
  Trigger(std::vector<std::string> several, bool wait_for_all)
      : names(std::move(several)), all(wait_for_all) {}
};
// Fires each time all of them have arrived, with the list of their values in this order; of a
// single name, with its value.
[[nodiscard]] inline Trigger all_of(std::vector<std::string> names) {
  return {std::move(names), true};
}
// Fires each time one of them arrives, with its value.
[[nodiscard]] inline Trigger any_of(std::vector<std::string> names) {
  return {std::move(names), false};
}

//   Flow("post").start("draft", …).router("judge", "draft", …).listen("publish", "good", …)
//
// A method takes (const In&, Context&) or (const In&), where In is its trigger's value: what the
// method returned, or a router's label. Cycles are allowed: Context::occurrence() counts the
// rounds, WorkflowOptions::max_supersteps ends endless ones.
class Flow {
 public:
  explicit Flow(std::string id, WorkflowOptions options = {}) : builder_(std::move(id), options) {}

  // Receives the run's inputs.
  template <class F>
  Flow& start(std::string id, F method, ExecutorOptions options = {}) {
    builder_.executor(id, std::move(method), std::move(options)).start(id);
    methods_.push_back({std::move(id), {}, false});
    return *this;
  }
  template <class F>
  Flow& listen(std::string id, Trigger trigger, F method, ExecutorOptions options = {}) {
    builder_.executor(id, std::move(method), std::move(options));
    methods_.push_back({std::move(id), {std::move(trigger)}, false});
    return *this;
  }
  // `method` returns the label for its listeners, a text; an empty one ends this path.
  template <class F>
  Flow& router(std::string id, Trigger trigger, F method, ExecutorOptions options = {}) {
    builder_.executor(id, std::move(method), std::move(options));
    methods_.push_back({std::move(id), {std::move(trigger)}, true});
    return *this;
  }
  template <JsonReadable Answer>
  Flow& port(std::string name) {
    builder_.port<Answer>(std::move(name));
    return *this;
  }

  // Errors: Errc::invalid_argument: those of WorkflowBuilder::build(), and a label without a
  // router.
  [[nodiscard]] Result<Workflow> build() const;

 private:
  struct Method {
    std::string id{};
    std::vector<Trigger> triggers{};
    bool routes = false;
  };
  WorkflowBuilder builder_;
  std::vector<Method> methods_{};
};

}  // namespace triage::inline v0_1::workflow
