// SPDX-License-Identifier: MIT
#include "reference_steps.hpp"

#include <limits>
#include <optional>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr const char* theirs = "triage_agent";
constexpr const char* ours = "triage";

// Each takes a member out, if it has the right type.
std::optional<std::string> take_text(Json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end() || !(found->is_string() || found->is_null())) return std::nullopt;
  std::optional<std::string> text;
  if (found->is_string()) text = std::move(found->get_ref<std::string&>());
  from.erase(found);
  return text;
}
std::optional<int> take_number(Json& from, const char* name, int least, int most) {
  const auto found = from.find(name);
  if (found == from.end() || !found->is_number_integer()) return std::nullopt;
  const bool huge =
      found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  const auto value = found->get<std::int64_t>();
  if (huge || value < least || value > most) return std::nullopt;
  from.erase(found);
  return static_cast<int>(value);
}
bool take_flag(Json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end() || !found->is_boolean()) return false;
  const bool value = found->get<bool>();
  from.erase(found);
  return value;
}
Json take_any(Json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end()) return nullptr;
  Json value = std::move(*found);
  from.erase(found);
  return value;
}
void drop_if(Json& from, const char* name, const Json& usual) {
  const auto found = from.find(name);
  if (found != from.end() && *found == usual) from.erase(found);
}

constexpr int least_code = std::numeric_limits<int>::min();
constexpr int most_code = std::numeric_limits<int>::max();

Json text_or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

}  // namespace

Step step_of_reference(Json from, std::size_t index) {
  Step step;
  step.action = take_text(from, "action").value_or("");
  step.tool_called = take_text(from, "tool_called");
  step.tool_input = take_any(from, "tool_input");
  step.tool_output = take_any(from, "tool_output");
  step.llm_output = take_text(from, "llm_output");
  step.error = take_text(from, "error");
  step.exception_type = take_text(from, "exception_type");
  // Of versions that keep them.
  step.agent_id = take_text(from, "agent_id");
  step.idempotent = take_flag(from, "idempotent");
  drop_if(from, "index", index);
  drop_if(from, "state_hash", nullptr);
  drop_if(from, "partial", false);
  if (const auto found = from.find("metadata"); found != from.end() && found->is_object()) {
    step.metadata = take_any(from, "metadata");
    step.http_status = take_number(step.metadata, "http_status", 100, 599);
    step.json_rpc_code = take_number(step.metadata, "json_rpc_code", least_code, most_code);
    if (const auto own = step.metadata.find(ours); own != step.metadata.end() && own->is_object()) {
      step.grpc_status = take_number(*own, "grpc_status", 0, 16);
      if (auto agent = take_text(*own, "agent_id")) step.agent_id = std::move(agent);
      step.idempotent = take_flag(*own, "idempotent") || step.idempotent;
      if (own->empty()) step.metadata.erase(own);
    }
  }
  if (!from.empty()) {
    if (step.metadata.is_null()) step.metadata = Json::object();
    step.metadata[theirs] = std::move(from);
  }
  return step;
}

Json reference_of_step(const Step& step, std::size_t index, double timestamp) {
  Json metadata = step.metadata.is_object() ? step.metadata : Json::object();
  Json rest = Json::object();
  if (const auto found = metadata.find(theirs); found != metadata.end() && found->is_object()) {
    rest = std::move(*found);
    metadata.erase(found);
  }
  if (step.http_status) metadata["http_status"] = *step.http_status;
  if (step.json_rpc_code) metadata["json_rpc_code"] = *step.json_rpc_code;
  Json own = Json::object();
  if (step.grpc_status) own["grpc_status"] = *step.grpc_status;
  if (step.agent_id) own["agent_id"] = *step.agent_id;
  if (step.idempotent) own["idempotent"] = true;
  if (const auto found = metadata.find(ours); found != metadata.end() && found->is_object()) {
    own.update(*found);  // What else the agent put there.
  }
  if (!own.empty()) metadata[ours] = std::move(own);
  Json out{{"index", index},
           {"action", step.action},
           {"tool_called", text_or_null(step.tool_called)},
           {"tool_input", step.tool_input},
           {"tool_output", step.tool_output},
           {"llm_output", text_or_null(step.llm_output)},
           {"error", text_or_null(step.error)},
           {"exception_type", text_or_null(step.exception_type)},
           {"timestamp", timestamp},
           {"state_hash", nullptr},
           {"metadata", std::move(metadata)}};
  out.update(rest);
  return out;
}

}  // namespace triage::inline v0_1::detail
