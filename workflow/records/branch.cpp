// SPDX-License-Identifier: MIT
#include "branch.hpp"
#include "definition/task_outputs.hpp"
#include "definition/team_message.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

Error wrong_edit(std::string text) { return {Errc::invalid_argument, std::move(text)}; }

std::string quoted_name(std::string_view name) { return "\"" + printable(name) + "\""; }

// The last delivery that the executor had finished: its occurrence and its stored form.
std::pair<int, const Json*> last_of(const State& state, const std::string& path) {
  std::pair<int, const Json*> last{};
  for (int occurrence = 1;; ++occurrence) {
    const Json* stored = state.find(finished_key(path, occurrence));
    if (stored == nullptr || stored->is_null()) return last;
    last = {occurrence, stored};
  }
}

void set_written(Json& write, const Json& value) {
  write = Json::array({write.at(0), write.at(1), value});
}

std::string id_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Json value_in(const State& state, const Json& message) {
  Parts parts;  // Of a long output, or a long reason for a failure.
  if (message.contains("p")) parts.begin_with(state);
  return stored_value(parts, message);
}

// A Team's agents and coordinator tell what their output, or patch, is about. That stays.
Json with_value(const State& state, const Json& message, const Json& value) {
  if (message.at("t") != TeamMessage::message_type) return value;
  Json told = value_in(state, message);
  if (told.contains("patch")) {
    told["patch"] = value;
  } else if (told.contains("output") || told.contains("failed")) {
    told.erase("failed");
    told["output"] = value;
  } else {
    return value;
  }
  return told;
}

// How the task ended, if the executor is one of a TaskGraph; else null.
Json told_by_task(const std::string& path, const State& state, const Json& message) {
  if (message.at("t") != task_message_type) return nullptr;
  Json told = value_in(state, message);
  const bool is_task =
      told.is_object() && told.value("task", Json()) == id_in(path) && told.contains("status");
  return is_task ? std::move(told) : Json();
}

// The task has completed with this output, which is in the shared state. `told`: how it ended; the
// last tasks also send their output, which others ignore.
void set_task_output(const std::string& path, int occurrence, Json& stored, const Json& told,
                     Json& message, const Json& value) {
  const std::size_t slash = path.rfind('/');
  const std::string task = id_in(path);
  const std::string key = task_output_key(task, occurrence);
  const std::string scope =
      shared_scope(slash == std::string::npos ? "" : path.substr(0, slash), task_outputs_scope);
  message["v"] = Json{{"task", task}, {"status", "completed"}};
  if (told.contains("output") || told["status"] != "completed") message["v"]["output"] = value;
  Json& writes = stored["wrote"];
  if (value.is_null()) writes.push_back(Json::array({scope, null_output_key(key), true}));
  for (Json& write : writes) {
    const bool its_output = write.at(1) == key || write.at(1) == task;  // Or of an earlier version.
    if (write.at(0) == scope && its_output) return set_written(write, value);
  }
  writes.push_back(Json::array({scope, key, value}));
}

// What was sent instead of a result counts as sent.
Result<Json> with_output(const std::string& path, int occurrence, const State& state,
                         const Json& value) {
  Json stored = *state.find(finished_key(path, occurrence));
  const std::size_t sent = stored.contains("sent") ? stored["sent"].size() : 0;
  const std::size_t out = stored.contains("out") ? stored["out"].size() : 0;
  if (sent + out != 1) {
    return wrong_edit("the output of executor " + quoted_name(path) +
                      " cannot be edited: it has sent " + std::to_string(sent + out) +
                      " messages; allowed is 1");
  }
  Json& message = stored[sent == 1 ? "sent" : "out"].at(0);
  const Json told = told_by_task(path, state, message);
  // Its routes say whether it was sent to somebody in particular.
  if (!stored.value("edited", false) || stored.value("routed", false)) {
    stored["was"] = message;
    stored["was"].erase("to");
  }
  Json now = with_value(state, message, value);
  message.erase("p");
  message["v"] = std::move(now);
  if (!told.is_null()) set_task_output(path, occurrence, stored, told, message, value);
  stored["edited"] = true;
  stored.erase("routed");
  stored.erase("failed");
  return outcome::success(std::move(stored));
}

// Where a shared key was last written: the record, and the place in it.
std::pair<std::string, std::size_t> last_write(const std::vector<std::string>& executors,
                                               const State& state, const std::string& key) {
  std::pair<std::string, std::size_t> found{};
  std::tuple<int, std::size_t, int> newest{};
  for (std::size_t node = 0; node < executors.size(); ++node) {
    for (int occurrence = 1;; ++occurrence) {
      const std::string record = finished_key(executors[node], occurrence);
      const Json* stored = state.find(record);
      if (stored == nullptr || stored->is_null()) break;
      const Json writes = stored->value("wrote", Json::array());
      for (std::size_t i = 0; i < writes.size(); ++i) {
        if (writes[i].at(0) != shared_scope("", "") || writes[i].at(1) != key) continue;
        const std::tuple<int, std::size_t, int> when{stored->value("step", 0), node, occurrence};
        if (when < newest) continue;
        newest = when;
        found = {record, i};
      }
    }
  }
  return found;
}

Result<void> edit_state(const std::vector<std::string>& executors, const State& state,
                        const Json& edits, Json& changed) {
  for (const auto& [key, value] : edits.items()) {
    if (key.empty() || key.size() > 256 || triage::detail::is_reserved(key)) {
      return wrong_edit("the branch's state key " + quoted_name(key) +
                        " is not allowed: 1 to 256 bytes that do not begin with \"triage/\"");
    }
    const auto [record, index] = last_write(executors, state, key);
    if (record.empty()) {
      changed[std::string(edits_key)]["state"][key] = value;
      continue;
    }
    Json stored = changed.contains(record) ? changed[record] : *state.find(record);
    Json& write = stored["wrote"].at(index);
    write = Json::array({write.at(0), write.at(1), value, nullptr, true});
    if (!stored.value("edited", false)) stored["routed"] = true;
    stored["edited"] = true;
    changed[record] = std::move(stored);
  }
  return outcome::success();
}

// Throws std::exception if a stored delivery is damaged.
Result<Json> checked_edits(const std::vector<std::string>& executors, const RunId& origin,
                           const Json& inputs, const State& checkpoint, const Fork& edits) {
  for (const auto& [what, json] :
       {std::pair<const char*, const Json*>{"inputs", &edits.inputs}, {"state", &edits.state}}) {
    if (!json->is_null() && !json->is_object()) {
      return wrong_edit(std::string("the branch's ") + what + " must be a JSON object; this is a " +
                        json->type_name());
    }
    TRIAGE_TRYV(check_json(*json, std::string("the branch's ") + what));
  }
  if (!edits.inputs.empty() && !inputs.is_object() && !inputs.is_null()) {
    return wrong_edit("the branch's inputs are keys to be set, but the inputs of run " +
                      quoted_name(origin) + " are a " + inputs.type_name() + "; allowed are none");
  }
  Json changed = Json::object();
  if (!checkpoint.contains(root_key)) changed[std::string(root_key)] = origin;
  const Json* before = checkpoint.find(edits_key);
  Json& own = changed[std::string(edits_key)] = before != nullptr ? *before : Json::object();
  if (edits.effects == ForkEffects::refuse_new) own["effects"] = refuse_new;
  if (edits.inputs.is_object()) own["inputs"].update(edits.inputs);
  const bool changes = !edits.outputs.empty() || !edits.inputs.empty() || !edits.state.empty();
  if (changes) own["changed"] = true;  // So its questions may be others.
  for (const auto& [path, value] : edits.outputs) {
    if (std::find(executors.begin(), executors.end(), path) == executors.end()) {
      return wrong_edit("executor " + quoted_name(path) +
                        ", whose output is edited, does not exist" +
                        triage::detail::allowed_names(path, executors));
    }
    const auto [occurrence, stored] = last_of(checkpoint, path);
    if (stored == nullptr) {
      std::vector<std::string> finished = executors;
      std::erase_if(finished, [&](const std::string& one) {
        return last_of(checkpoint, one).second == nullptr;
      });
      return wrong_edit("executor " + quoted_name(path) +
                        ", whose output is edited, has not finished at the checkpoint" +
                        triage::detail::allowed_names("", finished));
    }
    TRIAGE_TRYV(check_json(value, "an edited output"));
    TRIAGE_TRY(edited, with_output(path, occurrence, checkpoint, value));
    changed[finished_key(path, occurrence)] = std::move(edited);
  }
  if (edits.state.is_object()) {
    TRIAGE_TRYV(edit_state(executors, checkpoint, edits.state, changed));
  }
  return outcome::success(std::move(changed));
}

}  // namespace

Result<Json> branch_edits(const std::vector<std::string>& executors, const RunId& origin,
                          const Json& inputs, const State& checkpoint, const Fork& edits) {
  try {
    return checked_edits(executors, origin, inputs, checkpoint, edits);
  } catch (const std::exception& e) {
    return damaged_run(origin, e.what());
  }
}

Json edited_inputs(const Json& inputs, const State& state) {
  const Json* edits = state.find(edits_key);
  if (edits == nullptr || !edits->contains("inputs")) return inputs;
  Json edited = inputs.is_object() ? inputs : Json::object();
  edited.update(edits->at("inputs"));
  return edited;
}

}  // namespace triage::inline v0_1::workflow::detail
