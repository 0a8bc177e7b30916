// SPDX-License-Identifier: MIT
// triage checkpoint tree: a workflow's run and its branches, with the status of each executor.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "run_status.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

using workflow::BranchView;
using workflow::NodeStatus;

constexpr std::size_t longest_line = 160;

struct TreeArguments {
  StoreArgument where{};
  bool json = false;
};

// "done plan, left; skipped right"
std::string nodes_text(const BranchView& branch) {
  std::map<NodeStatus, std::string> names;
  for (const auto& [node, status] : branch.nodes) {
    std::string& all = names[status];
    all += (all.empty() ? "" : ", ") + node;
  }
  std::string text;
  for (const auto& [status, all] : names) {
    text += (text.empty() ? "" : "; ") + std::string(to_string(status)) + " " + all;
  }
  return text.empty() ? "nothing has run" : text;
}

Json branch_json(const BranchView& branch) {
  Json nodes = Json::object();
  for (const auto& [node, status] : branch.nodes) nodes[node] = to_string(status);
  Json checkpoints = Json::array();
  for (const workflow::WorkflowCheckpoint& one : branch.checkpoints) {
    checkpoints.push_back({{"id", to_string(one.id)},
                           {"label", one.label},
                           {"trigger", one.trigger},
                           {"time", iso_time(one.time)}});
  }
  return {{"run", branch.run.id},
          {"label", branch.run.label},
          {"status", status_text(branch.run)},
          {"parent", branch.parent},
          {"author", branch.author},
          {"started", iso_time(branch.run.started)},
          {"nodes", std::move(nodes)},
          {"checkpoints", std::move(checkpoints)}};
}

void print_tree(const std::vector<BranchView>& all) {
  std::map<RunId, std::size_t> depths;
  for (const BranchView& branch : all) {
    const auto above = depths.find(branch.parent.substr(0, branch.parent.rfind('@')));
    const std::size_t depth = above == depths.end() ? 0 : above->second + 1;
    depths[branch.run.id] = depth;
    const std::string indent(depth * 4, ' ');
    std::string line = branch.run.id + "  " + status_text(branch.run);
    if (!branch.run.label.empty()) line += "  \"" + branch.run.label + "\"";
    if (!branch.parent.empty()) line += "  from " + branch.parent;
    if (!branch.author.empty()) line += "  by " + branch.author;
    print(indent + shorten(line, longest_line) + "\n");
    print(indent + "  " + shorten(nodes_text(branch), longest_line) + "\n");
    for (const workflow::WorkflowCheckpoint& one : branch.checkpoints) {
      const std::string made = one.label.empty() ? one.trigger : "\"" + one.label + "\"";
      print(indent + "  " + printable(to_string(one.id)) + "  " + short_time(one.time) + "  " +
            shorten(made, longest_line) + "\n");
    }
  }
}

Result<std::vector<BranchView>> gather_tree(const StoreAndRun& meant) {
  TRIAGE_TRY(store, open_store_to_read(meant.store));
  return workflow::branches(*store, meant.run);
}

}  // namespace

std::function<ExitStatus()> checkpoint_tree(CLI::App& arguments) {
  auto given = std::make_shared<TreeArguments>();
  declare_store(arguments, given->where, "A run of a workflow, or a branch of one.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage checkpoint tree today");
  return [given] {
    const auto meant = meant_run(given->where);
    if (!meant) return report(meant.error());
    const auto all = gather_tree(meant.value());
    if (!all) return report(all.error());
    if (given->json) {
      Json list = Json::array();
      for (const BranchView& branch : all.value()) list.push_back(branch_json(branch));
      print_json(list);
    } else {
      print_tree(all.value());
    }
    return ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
