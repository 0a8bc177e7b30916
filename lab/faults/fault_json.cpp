// SPDX-License-Identifier: MIT
// Fault mixes and schedules as JSON.
#include "lab/faults/fault_json.hpp"

#include "lab/base/json_fields.hpp"

#include "triage/detail/try.hpp"
#include "triage/lab/schedule.hpp"
#include "triage/policies/duration.hpp"

#include <utility>

namespace triage::inline v0_1::lab {
namespace {

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < fault_count; ++i)
      all.emplace_back(to_string(static_cast<Fault>(i)));
    return all;
  }();
  return names;
}

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FailureType type : all_failure_types) all.emplace_back(to_string(type));
    return all;
  }();
  return names;
}

void read_fault(detail::JsonFields& fields, Fault& fault) {
  std::string name;
  fields.read("fault", name);
  if (const auto parsed = parse_fault(name)) {
    fault = *parsed;
  } else {
    fields.refuse_name("fault", name, fault_names());
  }
}

std::optional<FailureType> read_type(detail::JsonFields& fields, std::string_view key,
                                     const std::string& name) {
  const auto type = parse_failure_type(name);
  if (!type) fields.refuse_name(key, name, type_names());
  return type;
}

// Without the list it would mean: always, or the usual type.
void refuse_empty(detail::JsonFields& fields, std::string_view key) {
  const Json* list = fields.find(key);
  if (list == nullptr || !list->is_array() || !list->empty()) return;
  fields.refuse(key, " is []; allowed is a list of one or more");
}

}  // namespace

Result<FaultRule> detail::fault_rule_from_json(const Json& json, const std::string& path) {
  JsonFields fields(json, path);
  FaultRule rule;
  read_fault(fields, rule.fault);
  fields.read("site", rule.site);
  fields.read("tool", rule.tool);
  fields.read("step", rule.step);
  fields.read("from", rule.from, 1);
  fields.read("to", rule.to, 1);
  fields.read("at", rule.at);
  refuse_empty(fields, "at");
  fields.read("rate", rule.rate);
  std::vector<std::string> types;
  fields.read("types", types);
  refuse_empty(fields, "types");
  for (const std::string& name : types) {
    if (const auto type = read_type(fields, "types", name)) rule.types.push_back(*type);
  }
  fields.read("length", rule.length);
  if (const Json* value = fields.find("value")) rule.value = *value;
  TRIAGE_TRYV(fields.finish());
  TRIAGE_TRYV(check_fault_rule(rule, path));
  return outcome::success(std::move(rule));
}

namespace {

Result<Injection> injection_from_json(const Json& json, const std::string& path) {
  detail::JsonFields fields(json, path);
  Injection injection;
  fields.read("place", injection.place);
  fields.read("visit", injection.visit, 1);
  read_fault(fields, injection.fault);
  std::string type(to_string(injection.type));
  fields.read("type", type);
  if (const auto known = read_type(fields, "type", type)) injection.type = *known;
  fields.read("draw", injection.draw);
  fields.read("length", injection.length);
  if (const Json* value = fields.find("value")) injection.value = *value;
  if (injection.visit == 0) fields.refuse("visit", " is missing; allowed is 1 or more");
  if (auto done = fields.finish(); !done) return std::move(done).error();
  return outcome::success(std::move(injection));
}

bool has_type(Fault fault) { return fault == Fault::throws || fault == Fault::fails; }

}  // namespace

Result<FaultMix> fault_mix_from_json(const Json& json) {
  detail::JsonFields fields(json, "");
  FaultMix mix;
  fields.read("name", mix.name);
  const Json* faults = fields.find("faults");
  if (faults != nullptr && !faults->is_array()) fields.refuse("faults", " must be a list");
  if (auto done = fields.finish(); !done) return std::move(done).error();
  std::string problems;
  for (std::size_t i = 0; faults != nullptr && i < faults->size(); ++i) {
    auto rule = detail::fault_rule_from_json((*faults)[i], ".faults[" + std::to_string(i) + "]");
    if (rule) {
      mix.rules.push_back(std::move(rule).value());
    } else {
      problems += (problems.empty() ? "" : "\n") + rule.error().detail;
    }
  }
  if (!problems.empty()) return Error{Errc::invalid_argument, problems};
  return outcome::success(std::move(mix));
}

Json to_json(const FaultMix& mix) {
  Json faults = Json::array();
  const FaultRule plain;
  for (const FaultRule& rule : mix.rules) {
    Json one{{"fault", to_string(rule.fault)}};
    if (!rule.site.empty()) one["site"] = rule.site;
    if (!rule.tool.empty()) one["tool"] = rule.tool;
    if (!rule.step.empty()) one["step"] = rule.step;
    if (rule.from != plain.from) one["from"] = rule.from;
    if (rule.to != plain.to) one["to"] = rule.to;
    if (!rule.at.empty()) one["at"] = rule.at;
    if (rule.rate != plain.rate) one["rate"] = rule.rate;
    for (const FailureType type : rule.types) one["types"].push_back(to_string(type));
    if (rule.length != plain.length) one["length"] = format_duration(rule.length);
    if (rule.value) one["value"] = *rule.value;
    faults.push_back(std::move(one));
  }
  Json json{{"faults", std::move(faults)}};
  if (!mix.name.empty()) json["name"] = mix.name;
  return json;
}

std::string describe(const Injection& injection) {
  std::string text = printable(injection.place) + ", visit " + std::to_string(injection.visit) +
                     ": " + std::string(to_string(injection.fault));
  if (has_type(injection.fault)) text += " (" + std::string(to_string(injection.type)) + ")";
  if (injection.length != Duration::zero()) text += " of " + format_duration(injection.length);
  if (injection.value) text += " " + show(*injection.value);
  return text;
}

std::string describe(const Schedule& schedule) {
  std::string text;
  for (const Injection& injection : schedule) text += "  " + describe(injection) + "\n";
  return text;
}

Json to_json(const Schedule& schedule) {
  Json json = Json::array();
  for (const Injection& injection : schedule) {
    Json one{{"place", injection.place},
             {"visit", injection.visit},
             {"fault", to_string(injection.fault)},
             {"draw", injection.draw}};
    if (has_type(injection.fault)) one["type"] = to_string(injection.type);
    if (injection.length != Duration::zero()) one["length"] = format_duration(injection.length);
    if (injection.value) one["value"] = *injection.value;
    json.push_back(std::move(one));
  }
  return json;
}

Result<Schedule> schedule_from_json(const Json& json) {
  if (!json.is_array()) return Error{Errc::invalid_argument, "a schedule must be a list"};
  Schedule schedule;
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto one = injection_from_json(json[i], "[" + std::to_string(i) + "]");
    if (!one) return std::move(one).error();
    schedule.push_back(std::move(one).value());
  }
  return outcome::success(std::move(schedule));
}

}  // namespace triage::inline v0_1::lab
