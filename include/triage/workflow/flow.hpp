// SPDX-License-Identifier: MIT
#pragma once
// Flow: methods that listen for each other and for the labels of routers, as a workflow.

#include "triage/workflow/workflow.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

// What a listener waits for: names of methods, or labels that routers return.
struct Trigger {
  std::vector<std::string> names{};
  bool all = false;

  Trigger(std::string name) : names{std::move(name)} {}  // NOLINT(google-explicit-constructor)
  Trigger(const char* name) : names{name} {}             // NOLINT(google-explicit-constructor)
  Trigger(std::vector<std::string> several, bool wait_for_all)
      : names(std::move(several)), all(wait_for_all) {}
};
// Each time that every one has come, with the list of what they gave, in this order.
[[nodiscard]] inline Trigger all_of(std::vector<std::string> names) {
  return {std::move(names), true};
}
// Each time that one has come, with what it gave.
[[nodiscard]] inline Trigger any_of(std::vector<std::string> names) {
  return {std::move(names), false};
}

//   Flow("post").start("draft", …).router("judge", "draft", …).listen("publish", "good", …)
//
// A method takes (const In&, Context&) or (const In&), where In is what its trigger gave: the
// value that the method returned, or a router's label. Cycles are allowed: Context::occurrence()
// tells the rounds, WorkflowOptions::max_supersteps ends those that would not.
class Flow {
 public:
  explicit Flow(std::string id, WorkflowOptions options = {}) : builder_(std::move(id), options) {}

  // Gets the run's inputs.
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
  // `method` returns the label, a text, that it sends its listeners; an empty one ends this way.
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

  // Errors: Errc::invalid_argument: those of WorkflowBuilder::build(), and a label where there is
  // no router.
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
