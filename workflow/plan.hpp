// SPDX-License-Identifier: MIT
#pragma once
// A checked workflow, nested ones laid out flat: what the scheduler and the driver work on.

#include "triage/workflow/workflow.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// A way out of an executor.
struct Exit {
  std::size_t edge = 0;    // Index into Plan::edges.
  std::size_t source = 0;  // Which of the edge's sources it is.
};

struct PlanNode {
  std::string path{};     // "outer/inner".
  std::size_t scope = 0;  // The workflow it belongs to: index into Plan::scopes.
  const NodeSpec* spec = nullptr;
  std::vector<Exit> edges{};
  std::vector<std::size_t> pools{};  // That a delivery to it takes a place in.
};

// The workflow itself, and each nested one.
struct PlanScope {
  std::string path{};  // Empty for the workflow itself; "outer" for a nested one.
  std::ptrdiff_t parent = -1;
  std::vector<std::size_t> starts{};  // Nodes.
  std::vector<Exit> edges{};          // That lead from it as an executor of its parent.
  const WorkflowSpec* spec = nullptr;
  const NodeSpec* node = nullptr;  // What it is to its parent; null for the workflow itself.
};

struct PlanEdge {
  std::string name{};  // With the scope's path: "outer/a->b".
  const EdgeSpec* spec = nullptr;
  std::vector<std::vector<std::size_t>> targets{};  // For each target its nodes: a nested
                                                    // workflow has as many as it has starts.
};

struct Plan {
  std::vector<PlanNode> nodes{};
  std::vector<std::size_t> pools{};  // Their capacities: of workflows, and of groups in them.
  std::vector<PlanScope> scopes{};
  std::vector<PlanEdge> edges{};
  std::map<std::string, std::size_t, std::less<>> node_of{};  // By path.
  std::map<std::string, std::size_t, std::less<>> edge_of{};
};

// Immutable; what a Workflow is.
class WorkflowBody {
 public:
  explicit WorkflowBody(WorkflowSpec checked);
  [[nodiscard]] const WorkflowSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const std::map<std::string, std::string>& fingerprint() const noexcept {
    return fingerprint_;
  }
  // The same as a JSON object in a text, which is stored, read and compared as a whole.
  [[nodiscard]] const std::string& fingerprint_text() const noexcept { return fingerprint_text_; }

 private:
  void lay_out(const WorkflowSpec& spec, std::size_t scope);
  void connect(const WorkflowSpec& spec, std::size_t scope);
  void share_capacities();
  void print(const WorkflowSpec& spec, const std::string& prefix);

  WorkflowSpec spec_;
  Plan plan_{};
  std::map<std::string, std::string> fingerprint_{};
  std::string fingerprint_text_{};
};

// Gives each executor its migrations. Errors: see WorkflowBuilder::build.
[[nodiscard]] Result<void> attach_migrations(WorkflowSpec& spec);
// Errors: see WorkflowBuilder::build.
[[nodiscard]] Result<void> check_workflow(const WorkflowSpec& spec);

}  // namespace triage::inline v0_1::workflow::detail
