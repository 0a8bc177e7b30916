// SPDX-License-Identifier: MIT
#include "checkpoint_argument.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace triage::inline v0_1::cli {

Result<CheckpointId> parse_what(const std::string& text) {
  CheckpointId id{text, 0};
  if (text.find('@') != std::string::npos) {
    TRIAGE_TRY(parsed, parse_checkpoint_id(text));
    id = std::move(parsed);
  }
  TRIAGE_TRYV(check_run_id(id.run));
  return outcome::success(std::move(id));
}

Result<Checkpoint> find_checkpoint(const Journal& journal, const CheckpointId& id) {
  Checkpoint latest = journal.latest();
  if (id.sequence == 0 || id.sequence == latest.info.id.sequence) {
    return outcome::success(std::move(latest));
  }
  if (const auto position = journal.find(id.sequence)) {
    return outcome::success(journal.restore(*position));
  }
  const auto& all = journal.positions();
  std::string near;
  const auto after = std::lower_bound(
      all.begin(), all.end(), id.sequence,
      [](const Journal::Position& position, Sequence wanted) { return position.seq < wanted; });
  if (after != all.begin()) near += " " + to_string({id.run, std::prev(after)->seq});
  if (after != all.end()) near += " " + to_string({id.run, after->seq});
  return Error{Errc::not_found, "run \"" + id.run + "\" has no checkpoint " + to_string(id) +
                                    (near.empty() ? "" : "; the nearest are" + near)};
}

Json step_json(const Step& step, std::size_t index) {
  Json json{{"index", index}, {"action", step.action}, {"idempotent", step.idempotent}};
  const auto set = [&](const char* name, const auto& value) {
    if (value) json[name] = *value;
  };
  set("tool_called", step.tool_called);
  set("llm_output", step.llm_output);
  set("error", step.error);
  set("exception_type", step.exception_type);
  set("http_status", step.http_status);
  set("json_rpc_code", step.json_rpc_code);
  set("grpc_status", step.grpc_status);
  set("agent_id", step.agent_id);
  if (!step.tool_input.is_null()) json["tool_input"] = step.tool_input;
  if (!step.tool_output.is_null()) json["tool_output"] = step.tool_output;
  if (!step.metadata.is_null()) json["metadata"] = step.metadata;
  return json;
}

}  // namespace triage::inline v0_1::cli
