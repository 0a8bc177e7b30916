// SPDX-License-Identifier: MIT
#pragma once
// Shared by the tests of workflows.

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/stores/memory.hpp"
#include "triage/workflow/run.hpp"
#include "triage/workflow/task_graph.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace triage::test {

template <class Builder>
workflow::Workflow built(const Builder& builder) {
  auto workflow = builder.build();
  REQUIRE_OK(workflow);
  return std::move(workflow).value();
}

inline std::shared_ptr<CheckpointStore> memory() { return MemoryStore::create(); }

inline std::string last_checkpoint(const workflow::WorkflowRun& run) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  REQUIRE_FALSE(all.value().empty());
  return to_string(all.value().back().id);
}

// A task's work: "ID[CONTEXT…]", which tells whose outputs it got.
inline std::string told(const workflow::TaskInput& task) {
  std::string text = task.id + "[";
  for (const workflow::TaskOutput& before : task.context) text += before.task;
  return text + "]";
}

// The executors whose handlers were called since the run was last continued.
inline std::set<std::string> called(const workflow::WorkflowRun& run) {
  std::set<std::string> paths;
  const auto deliveries = run.deliveries();
  REQUIRE_OK(deliveries);
  for (const auto& one : deliveries.value()) {
    using enum workflow::Ran;
    const bool begun = one.how != reused && one.how != pending && one.how != skipped;
    if (begun) paths.insert(one.executor);
  }
  return paths;
}

inline std::map<std::string, workflow::Ran> how_they_ran(const workflow::WorkflowRun& run) {
  const auto deliveries = run.deliveries();
  REQUIRE_OK(deliveries);
  std::map<std::string, workflow::Ran> how;
  for (const auto& one : deliveries.value()) how[one.executor] = one.how;
  return how;
}

}  // namespace triage::test
