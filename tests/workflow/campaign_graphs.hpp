// SPDX-License-Identifier: MIT
#pragma once
// Random workflows with cycles, fan-ins, requests, shared state and nesting.

#include "triage/workflow/inspect.hpp"
#include "triage/workflow/run.hpp"

#include <functional>
#include <random>
#include <string>

namespace triage::test {

using Rng = std::mt19937;
[[nodiscard]] inline std::size_t below(Rng& rng, std::size_t n) { return rng() % n; }

[[nodiscard]] workflow::Workflow random_workflow(Rng& rng, std::size_t nodes, int depth = 0);

// Continues and answers all requests, always in the same way, until the run ends. `each` is called
// after each continuation.
[[nodiscard]] Result<workflow::WorkflowResult> answered_to_end(
    workflow::WorkflowRun& run, const Json& inputs, const std::function<void()>& each = [] {});

// The same; returns the run's results: outputs or error, state, and what each executor gave.
[[nodiscard]] std::string run_to_end(workflow::WorkflowRun& run, CheckpointStore& store);

}  // namespace triage::test
