// SPDX-License-Identifier: MIT
#include "journal/failure_json.hpp"

#include "base/run_catching.hpp"
#include "journal/causes_json.hpp"
#include "triage/detail/stored_field.hpp"

#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

Json evidence_json(const std::vector<Evidence>& evidence) {
  Json all = Json::array();
  for (const Evidence& one : evidence) {
    Json entry{{"source", one.source},
               {"suggests", to_string(one.suggests)},
               {"detail", one.detail},
               {"confidence", one.confidence}};
    if (one.step) entry["step"] = *one.step;
    if (!one.facts.empty()) entry["facts"] = one.facts;
    all.push_back(std::move(entry));
  }
  return all;
}

FailureType type_field(const Json& body, const char* key) {
  return parse_failure_type(text_field(body, key)).value_or(FailureType::unknown);
}

Evidence evidence_from(const Json& json) {
  Evidence entry{.source = text_field(json, "source"),
                 .suggests = type_field(json, "suggests"),
                 .detail = text_field(json, "detail"),
                 .confidence = field(json, "confidence", 0.0),
                 .step = find_field<std::size_t>(json, "step")};
  if (const auto facts = json.find("facts"); facts != json.end() && facts->is_array()) {
    for (const Json& fact : *facts) {
      const bool pair =
          fact.is_array() && fact.size() == 2 && fact[0].is_string() && fact[1].is_string();
      if (pair) entry.facts.emplace_back(fact[0], fact[1]);
    }
  }
  return entry;
}

}  // namespace

Json failure_fields(const FailureContext& context, const Failure& failure) {
  const Classification& found = context.classification;
  Json fields{{"type", to_string(found.type)},
              {"reason", found.reason},
              {"confidence", found.confidence},
              {"text", context.text},
              {"exception_type", context.exception_type},
              {"evidence", evidence_json(found.evidence)}};
  if (context.refused) fields["refused"] = true;
  if (found.critical_step) fields["critical_step"] = *found.critical_step;
  if (found.retry_after) fields["retry_after_ns"] = found.retry_after->count();
  if (const std::error_code& code = failure.code; code) {
    fields["code"] = Json{
        {"category", code.category().name()}, {"value", code.value()}, {"text", message_of(code)}};
  }
  if (failure.http_status) fields["http_status"] = *failure.http_status;
  if (failure.json_rpc_code) fields["json_rpc_code"] = *failure.json_rpc_code;
  if (failure.grpc_status) fields["grpc_status"] = *failure.grpc_status;
  if (Json causes = causes_json(failure.causes); !causes.empty()) {
    fields["causes"] = std::move(causes);
  }
  if (!context.notes.empty()) fields["notes"] = context.notes;
  return fields;
}

void read_failure(const Json& body, FailureContext& context) {
  if (body.is_null()) return;
  Classification& found = context.classification;
  found.type = type_field(body, "type");
  found.reason = text_field(body, "reason");
  context.refused = body.contains("refused");
  found.confidence = field(body, "confidence", 0.0);
  found.critical_step = find_field<std::size_t>(body, "critical_step");
  if (const auto wait = find_field<Duration::rep>(body, "retry_after_ns")) {
    found.retry_after = Duration(*wait);
  }
  if (const auto evidence = body.find("evidence"); evidence != body.end() && evidence->is_array()) {
    for (const Json& one : *evidence) {
      if (one.is_object()) found.evidence.push_back(evidence_from(one));
    }
  }
  context.text = text_field(body, "text");
  context.exception_type = text_field(body, "exception_type");
  for (std::string& note : names_field(body, "notes")) context.notes.push_back(std::move(note));
}

Failure told_failure(const Json& body) {
  Failure failure{.text = text_field(body, "text"),
                  .exception_type = text_field(body, "exception_type"),
                  .http_status = find_field<int>(body, "http_status"),
                  .json_rpc_code = find_field<int>(body, "json_rpc_code"),
                  .grpc_status = find_field<int>(body, "grpc_status")};
  if (const auto causes = body.find("causes"); causes != body.end()) {
    failure.causes = parse_causes(*causes);
  }
  return failure;
}

}  // namespace triage::inline v0_1::detail
