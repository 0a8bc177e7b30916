// SPDX-License-Identifier: MIT
#include "going_on.hpp"

#include "arguments/key_value.hpp"
#include "render/output.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/workflow/inspect.hpp"

namespace triage::inline v0_1::cli {
namespace {

std::string command(const GivenRun& given, const std::vector<std::string>& inputs) {
  std::string words = "triage workflow run " + shell_word(given.file);
  if (!given.store.empty()) words += " --store " + shell_word(without_secrets(given.store));
  words += " --run " + shell_word(given.run);
  if (given.redact != "common") words += " --redact " + given.redact;
  for (const std::string& input : inputs) words += " --input " + shell_word(input);
  return words;
}

// What --input has to say for a run to have these inputs.
std::vector<std::string> inputs_as_given(const WorkflowFile& file, Json recorded) {
  for (const auto& [key, value] : file.inputs.items()) {
    if (recorded.value(key, Json()) == value) recorded.erase(key);
  }
  return pairs_of(recorded);
}

bool needs_reviving(RunStatus status) {
  return status == RunStatus::poisoned || status == RunStatus::aborted;
}

bool knows_all(const WorkflowFile& file, const Json& recorded) {
  for (const auto& [key, value] : recorded.items()) {
    if (!file.inputs.contains(key)) return false;
  }
  return recorded.size() == file.inputs.size();
}

}  // namespace

std::string command_of(const GivenRun& given) { return command(given, given.inputs); }

bool is_poisoned(CheckpointStore& store, const RunId& run) {
  const auto info = store.run(run);
  return info && info.value().status == RunStatus::poisoned;
}

std::string how_to_go_on(const GivenRun& given, const WorkflowFile& file, const Error& error,
                         CheckpointStore& store,
                         const std::vector<workflow::PendingRequest>& pending) {
  const auto info = store.run(given.run);
  if (!info) return {};  // The id is none, for example.
  if (error.code == Errc::busy) return {};
  if (needs_reviving(info.value().status)) {
    return "to go on: " + command(given, given.inputs) + " --revive";
  }
  if (error.code == Errc::exhausted) {
    return "raise max_supersteps in " + given.file +
           "; then go on: " + command(given, given.inputs);
  }
  if (error.code == Errc::conflict || error.code == Errc::invalid_argument) {
    const auto view = workflow::inspect(store, given.run);
    if (!view) return "begin another run with another --run";
    const Json given_inputs = object_of("--input", given.inputs).value();
    Json now = file.inputs;
    now.update(given_inputs);
    if (now != view.value().inputs && knows_all(file, view.value().inputs)) {
      return "to go on: " + command(given, inputs_as_given(file, view.value().inputs));
    }
    return "go on with the file as it was, or begin another run with another --run";
  }
  std::string words = "to go on: " + command(given, given.inputs);
  if (error.code != Errc::suspended) return words;
  for (const auto& one : pending) words += " --answer " + shell_word(one.id + "=VALUE");
  return words;
}

}  // namespace triage::inline v0_1::cli
