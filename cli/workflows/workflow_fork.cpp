// SPDX-License-Identifier: MIT
#include "workflow_fork.hpp"

#include "arguments/key_value.hpp"
#include "arguments/read_policy.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <map>
#include <set>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

using workflow::Fork;
using workflow::Rerun;
using workflow::RerunView;

constexpr std::size_t longest_reason = 200;

Result<Fork> edits_of(const WorkflowFork& given) {
  Fork edits{.label = given.label};
  if (!given.inputs.empty()) {
    TRIAGE_TRY(inputs, object_of("--input", given.inputs));
    edits.inputs = std::move(inputs);
  }
  if (!given.set.empty()) {
    TRIAGE_TRY(state, object_of("--set", given.set));
    edits.state = std::move(state);
  }
  TRIAGE_TRY(outputs, object_of("--output", given.outputs));
  for (const std::string& pair : given.outputs) {
    const std::string executor = pair.substr(0, pair.find('='));
    const std::string text = pair.substr(executor.size() + 1);
    if (text.rfind('@', 0) == 0) {
      TRIAGE_TRY(content, read_text_file(text.substr(1)));
      TRIAGE_TRY(value, value_of(content));
      edits.outputs[executor] = std::move(value);
    } else {
      edits.outputs[executor] = outputs[executor];
    }
  }
  return outcome::success(std::move(edits));
}

// Executors of the workflow that have finished nothing there.
Result<std::set<std::string>> not_finished(CheckpointStore& store, const std::string& checkpoint) {
  TRIAGE_TRY(view, workflow::inspect(store, checkpoint));
  std::set<std::string> open;
  constexpr std::string_view prefix = "executor ";
  for (const auto& [part, mark] : view.parts.items()) {
    if (part.rfind(prefix, 0) == 0) open.insert(part.substr(prefix.size()));
  }
  for (const auto& one : view.deliveries) open.erase(one.executor);
  return outcome::success(std::move(open));
}

void print_preview(const std::vector<RerunView>& views, const std::set<std::string>& open) {
  const std::map<Rerun, std::string> words{
      {Rerun::edited, "is edited"}, {Rerun::runs, "runs again"}, {Rerun::may_run, "may run again"}};
  std::size_t kept = 0;
  Table table({"EXECUTOR", "BRANCH", Column("WHY", Cut::wrap)});
  for (const RerunView& one : views) {
    const auto word = words.find(one.how);
    if (word == words.end()) {
      ++kept;
      continue;
    }
    const std::string name = one.occurrence == 1
                                 ? one.executor
                                 : one.executor + " (" + std::to_string(one.occurrence) + ")";
    table.add({name, word->second, shorten(one.why, longest_reason)});
  }
  for (const std::string& one : open) {
    table.add({one, "may run", "it had not finished there; it runs if the branch comes to it"});
  }
  print(table.text());
  print("Of " + counted(views.size(), "finished result") + " " + std::to_string(kept) +
        (kept == 1 ? " is" : " are") + " kept for certain\n");
}

Json preview_json(const std::vector<RerunView>& views, const std::set<std::string>& open) {
  Json all = Json::array();
  for (const RerunView& one : views) {
    all.push_back({{"executor", one.executor},
                   {"occurrence", one.occurrence},
                   {"branch", to_string(one.how)},
                   {"why", one.why}});
  }
  return {{"finished", std::move(all)}, {"not_finished", open}};
}

}  // namespace

// The run is asked: it may have no such checkpoint, and may be damaged.
bool is_workflow_run(CheckpointStore& store, const std::string& checkpoint) {
  const auto view = workflow::inspect(store, checkpoint.substr(0, checkpoint.rfind('@')));
  return view || (view.error().code != Errc::not_found && view.error().code != Errc::conflict);
}

ExitStatus fork_workflow(const std::shared_ptr<CheckpointStore>& store, const WorkflowFork& given) {
  const auto edits = edits_of(given);
  if (!edits) return report(edits.error());
  const auto views = workflow::preview_fork(*store, given.checkpoint, edits.value());
  if (!views) return report(views.error());
  const auto open = not_finished(*store, given.checkpoint);
  if (!open) return report(open.error());
  Json json = preview_json(views.value(), open.value());
  if (!given.json) print_preview(views.value(), open.value());
  if (!given.dry_run) {
    auto made = workflow::branch_off(store, given.checkpoint, given.run, edits.value());
    if (!made) return report(made.error());
    json["branch"] = given.run;
    if (!given.json) {
      print("Branch " + printable(given.run) +
            " is made; to run it, with the inputs that its origin began with: triage workflow run "
            "FILE" +
            (given.store.empty() ? "" : " --store " + printable(shell_word(given.store))) +
            " --run " + printable(given.run) + "\n");
    }
  }
  if (given.json) print_json(json);
  return ExitStatus::done;
}

}  // namespace triage::inline v0_1::cli
