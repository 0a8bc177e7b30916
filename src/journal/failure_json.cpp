// SPDX-License-Identifier: MIT
#include "journal/failure_json.hpp"

#include "journal/suspension_json.hpp"

#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

FailureType type_field(const Json& body, const char* key) {
  return parse_failure_type(text_field(body, key)).value_or(FailureType::unknown);
}

Evidence evidence_from(const Json& json) {
  Evidence entry{.source = text_field(json, "source"),
                 .suggests = type_field(json, "suggests"),
                 .detail = text_field(json, "detail"),
                 .confidence = number_field(json, "confidence", 0.0)};
  if (json.contains("step")) entry.step = number_field<std::size_t>(json, "step", 0);
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

void read_failure(const Json& body, FailureContext& context) {
  if (body.is_null()) return;
  Classification& found = context.classification;
  found.type = type_field(body, "type");
  found.reason = text_field(body, "reason");
  context.refused = body.contains("refused");
  found.confidence = number_field(body, "confidence", 0.0);
  if (body.contains("critical_step")) {
    found.critical_step = number_field<std::size_t>(body, "critical_step", 0);
  }
  if (body.contains("retry_after_ns")) {
    found.retry_after = Duration(number_field<Duration::rep>(body, "retry_after_ns", 0));
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

}  // namespace triage::inline v0_1::detail
