// SPDX-License-Identifier: MIT
#include "random_edit.hpp"

#include "triage/stores/memory.hpp"
#include "triage/workflow/task_graph.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace triage::test {
namespace {

using namespace workflow;

using Outputs = std::map<std::string, std::string>;
using Names = std::set<std::string>;

std::uint32_t hash_of_text(const std::string& text) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16'777'619U;
  return hash;
}

// A task's answer to its input: short, and sometimes the same for different context.
std::string digest(const TaskInput& task, unsigned coarseness) {
  std::uint32_t sum = 0;
  for (const TaskOutput& before : task.context) {
    sum = sum * 31 + hash_of_text(before.task + before.output.get<std::string>());
  }
  return task.id + std::to_string(sum % coarseness);
}

struct Graph {
  unsigned coarseness = 1;
  std::vector<std::vector<std::string>> depends{};

  explicit Graph(std::mt19937& rng)
      : coarseness(static_cast<unsigned>(1 + rng() % 5)), depends(2 + rng() % 20) {
    for (std::size_t i = 1; i < depends.size(); ++i) {
      Names on;
      for (std::size_t k = rng() % 4; k > 0; --k) on.insert("t" + std::to_string(rng() % i));
      depends[i] = {on.begin(), on.end()};
    }
  }

  [[nodiscard]] TaskGraph tasks() const {
    TaskGraph graph("plan");
    graph.agent("digester", [n = coarseness](const TaskInput& task) { return digest(task, n); });
    for (std::size_t i = 0; i < depends.size(); ++i) {
      graph.task({.id = "t" + std::to_string(i), .depends_on = depends[i]});
    }
    return graph;
  }

  // The oracle: a task runs again if it sees another output than before.
  [[nodiscard]] Outputs outputs(const Outputs& before, const std::string& edited,
                                Names& ran) const {
    Outputs all;
    for (std::size_t i = 0; i < depends.size(); ++i) {
      TaskInput task{.id = "t" + std::to_string(i)};
      bool changed = before.empty();
      for (const std::string& on : depends[i]) {
        task.context.push_back({on, all.at(on)});
        changed |= !before.empty() && all.at(on) != before.at(on);
      }
      if (changed && task.id != edited) ran.insert(task.id);
      all[task.id] = task.id == edited ? "edited" : digest(task, coarseness);
    }
    return all;
  }
};

Names ran_again(const WorkflowRun& run) {
  Names names;
  const auto deliveries = run.deliveries();
  for (const DeliveryView& one : deliveries.value()) {
    if (one.how != Ran::reused) names.insert(one.executor);
  }
  return names;
}

}  // namespace

EditedRun random_edit(std::mt19937& rng) {
  const Graph graph(rng);
  const TaskGraph tasks = graph.tasks();
  const auto store = MemoryStore::create();
  const auto workflow = tasks.build().value();
  WorkflowRun origin(workflow, {.run_id = "origin", .store = store, .threads = 1});
  if (!origin.run(nullptr)) return {.wrong = "the origin did not end"};
  const std::string edited = "t" + std::to_string(rng() % graph.depends.size());
  Names expected;
  const Outputs before = graph.outputs({}, "", expected);
  expected.clear();
  const Outputs after = graph.outputs(before, edited, expected);

  WorkflowRun branch(workflow, {.store = store, .threads = 1});
  const auto checkpoints = origin.checkpoints();
  const auto done =
      branch.fork(to_string(checkpoints.value().back().id), {.outputs = {{edited, "edited"}}});
  if (!done) return {.wrong = done.error().detail};
  EditedRun result{.rerun = expected.size()};
  const Names ran = ran_again(branch);
  if (ran != expected) {
    result.wrong = "after an edit of " + edited + " these ran:";
    for (const std::string& one : ran) result.wrong += " " + one;
    result.wrong += "; expected:";
    for (const std::string& one : expected) result.wrong += " " + one;
  }
  const auto views = tasks.tasks(branch);
  if (!views) return {.wrong = views.error().detail};
  for (const TaskView& view : views.value()) {
    if (view.output != after.at(view.id)) result.wrong = view.id + " gave " + show(view.output);
  }
  return result;
}

}  // namespace triage::test
