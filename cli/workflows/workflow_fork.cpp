// SPDX-License-Identifier: MIT
#include "workflow_fork.hpp"

#include "arguments/key_value.hpp"
#include "arguments/read_policy.hpp"
#include "render/output.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/open_store.hpp"
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

// A file's run has a value for each of its inputs. What a program's run does not have, that program
// can give a branch itself.
Result<void> check_inputs(const workflow::CheckpointView& view, const Json& edited) {
  std::vector<std::string> known;
  for (const auto& [key, value] : view.inputs.items()) known.push_back(key);
  for (const auto& [key, value] : edited.items()) {
    if (view.inputs.contains(key)) continue;
    return Error{Errc::invalid_argument, "--input " + printable(key) +
                                             " is not an input of run \"" + view.id.run + "\"" +
                                             detail::allowed_names(key, known)};
  }
  return outcome::success();
}

// Executors of the workflow that have finished nothing there.
std::set<std::string> not_finished(const workflow::CheckpointView& view) {
  std::set<std::string> open;
  constexpr std::string_view prefix = "executor ";
  for (const auto& [part, mark] : view.parts.items()) {
    if (part.rfind(prefix, 0) == 0) open.insert(part.substr(prefix.size()));
  }
  for (const auto& one : view.deliveries) open.erase(one.executor);
  return open;
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
  const auto view = workflow::inspect(*store, given.checkpoint);
  if (!view) return report(view.error());
  if (const auto known = check_inputs(view.value(), edits.value().inputs); !known) {
    return report(known.error());
  }
  const auto views = workflow::preview_fork(*store, given.checkpoint, edits.value());
  if (!views) return report(views.error());
  const std::set<std::string> open = not_finished(view.value());
  Json json = preview_json(views.value(), open);
  if (!given.json) print_preview(views.value(), open);
  if (!given.dry_run) {
    auto made = workflow::branch_off(store, given.checkpoint, given.run, edits.value());
    if (!made) return report(made.error());
    json["branch"] = given.run;
    if (!given.json) {
      std::string words = "triage workflow run FILE";
      if (!given.store.empty()) words += " --store " + shell_word(without_secrets(given.store));
      words += " --run " + given.run;
      Json inputs = view.value().inputs;
      for (const auto& [key, value] : edits.value().inputs.items()) inputs[key] = value;
      for (const std::string& input : pairs_of(inputs)) words += " --input " + shell_word(input);
      print("Branch " + printable(given.run) + " is made; to run it: " + printable(words) + "\n");
    }
  }
  if (given.json) print_json(json);
  return ExitStatus::done;
}

}  // namespace triage::inline v0_1::cli
