// SPDX-License-Identifier: MIT
#pragma once
// A checked workflow with nested ones laid out flat; used by the scheduler and the driver.

#include "resource_queue.hpp"
#include "triage/workflow/workflow.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The library's own port, at which executors' policies ask for decisions (SUSPEND).
inline constexpr std::string_view decision_port = "triage.decision";

// An edge out of an executor.
struct Exit {
  std::size_t edge = 0;    // Index into Plan::edges.
  std::size_t source = 0;  // Index of the source within the edge.
};

struct PlanNode {
  std::string path{};     // "outer/inner".
  std::size_t scope = 0;  // Index into Plan::scopes of its workflow.
  const NodeSpec* spec = nullptr;
  std::vector<Exit> edges{};
  std::vector<std::size_t> pools{};  // In which each of its deliveries takes a place.
};

// The workflow itself or a nested one.
struct PlanScope {
  std::string path{};  // Empty for the workflow itself; "outer" for a nested one.
  std::ptrdiff_t parent = -1;
  std::vector<std::size_t> starts{};  // Nodes.
  std::vector<Exit> edges{};          // Leading out of it as an executor of its parent.
  const WorkflowSpec* spec = nullptr;
  const NodeSpec* node = nullptr;  // Its executor in the parent; null for the workflow itself.
};

struct PlanEdge {
  std::string name{};  // With the scope's path: "outer/a->b".
  const EdgeSpec* spec = nullptr;
  std::vector<std::vector<std::size_t>> targets{};  // Nodes of each target: a nested workflow has
                                                    // one per start.
};

struct Plan {
  std::vector<PlanNode> nodes{};
  std::vector<std::size_t> pools{};  // Capacities, of workflows and of groups in them.
  std::vector<PlanScope> scopes{};
  std::vector<PlanEdge> edges{};
  std::map<std::string, std::size_t, std::less<>> node_of{};  // By path.
  std::map<std::string, std::size_t, std::less<>> scope_of{};
  std::map<std::string, std::size_t, std::less<>> edge_of{};
};

// Immutable; the content of a Workflow.
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
  // Shared by its runs: a branch waits for its origin, and for its siblings.
  [[nodiscard]] ResourceQueue& resource_queue() const noexcept { return resource_queue_; }

 private:
  void lay_out(const WorkflowSpec& spec, std::size_t scope);
  void connect(const WorkflowSpec& spec, std::size_t scope);
  void share_capacities();
  void print(const WorkflowSpec& spec, const std::string& prefix);

  WorkflowSpec spec_;
  Plan plan_{};
  std::map<std::string, std::string> fingerprint_{};
  std::string fingerprint_text_{};
  mutable ResourceQueue resource_queue_{};  // No part of the value.
};

// The part of a fingerprint that names the starts of an eager workflow, with commas between them.
inline constexpr const char* starts_part = "starts";
// A version as a fingerprint has it: long ones are shortened.
[[nodiscard]] std::string version_mark(const std::string& version);
// The mark of the workflow itself, as it is if these are its starts.
[[nodiscard]] std::string workflow_mark(const WorkflowSpec& spec,
                                        const std::vector<std::string>& starts);
// Assigns migrations to executors. Errors: see WorkflowBuilder::build.
[[nodiscard]] Result<void> attach_migrations(WorkflowSpec& spec);
// what: whose id it is, for the message, which quotes the id and says what is allowed. Errors:
// Errc::invalid_argument.
[[nodiscard]] Result<void> check_id(const std::string& id, const std::string& what);
// Of a workflow, or of a run of one.
[[nodiscard]] Result<void> check_max_supersteps(int most);
// Errors: see WorkflowBuilder::build.
[[nodiscard]] Result<void> check_workflow(const WorkflowSpec& spec);

}  // namespace triage::inline v0_1::workflow::detail
