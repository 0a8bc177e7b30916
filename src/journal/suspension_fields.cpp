// SPDX-License-Identifier: MIT
#include "journal/suspension_fields.hpp"

#include "triage/detail/stored_field.hpp"

#include <cstdint>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

Json awaited_json(const RunId& run, const AwaitedRun& awaited) {
  Json json{
      {"run", run}, {"agent", awaited.agent}, {"task", awaited.task}, {"ticket", awaited.ticket}};
  if (!awaited.decision.is_null()) {
    json["decision"] = awaited.decision;
    json["by"] = awaited.by;
  }
  return json;
}

void add_child(const Json& json, AwaitedRuns& children) {
  RunId run = text_field(json, "run");
  if (run.empty()) return;
  children.emplace_back(std::move(run), AwaitedRun{.agent = text_field(json, "agent"),
                                                   .task = text_field(json, "task"),
                                                   .ticket = text_field(json, "ticket"),
                                                   .decision = json.value("decision", Json()),
                                                   .by = text_field(json, "by")});
}

void add_sleep(const Json& json, std::vector<Sleep>& sleeps) {
  std::string place = text_field(json, "place");
  if (place.empty()) return;
  sleeps.push_back({.place = std::move(place),
                    .until = time_field(json, "until_ms").value_or(WallTime()),
                    .length = WallTime::duration(field<std::int64_t>(json, "wait_ms", 0))});
}

}  // namespace

void put_signals(const std::vector<std::string>& signals, Json& fields) {
  if (!signals.empty()) fields["signal"] = signals.front();
  if (signals.size() > 1) fields["signals"] = signals;
}

std::vector<std::string> signals_of(const Json& suspended) {
  std::vector<std::string> signals = names_field(suspended, "signals");
  if (!signals.empty()) return signals;
  if (std::string only = text_field(suspended, "signal"); !only.empty()) {
    signals.push_back(std::move(only));
  }
  return signals;
}

// The oldest fields hold one sleep, which ends with the suspension.
void put_sleeps(const std::vector<Sleep>& sleeps, std::optional<WallTime> until, Json& fields) {
  Json others = Json::array();
  for (const Sleep& sleep : sleeps) {
    if (sleep.until == until && !fields.contains("place")) {
      fields["place"] = sleep.place;
      fields["wait_ms"] = sleep.length.count();
      continue;
    }
    others.push_back(Json{{"place", sleep.place},
                          {"until_ms", sleep.until.time_since_epoch().count()},
                          {"wait_ms", sleep.length.count()}});
  }
  if (!others.empty()) fields["sleeps"] = std::move(others);
}

std::vector<Sleep> sleeps_of(const Json& suspended) {
  std::vector<Sleep> sleeps;
  add_sleep(suspended, sleeps);
  for (const Json& one : field(suspended, "sleeps", std::vector<Json>())) add_sleep(one, sleeps);
  return sleeps;
}

void erase_waits(Json& fields) {
  for (const char* name : {"signal", "signals", "place", "wait_ms", "sleeps"}) fields.erase(name);
}

void put_children(const AwaitedRuns& children, bool asks, Json& fields) {
  Json waiting = Json::array();
  for (const auto& [run, awaited] : children) waiting.push_back(awaited_json(run, awaited));
  if (asks) {
    fields["child"] = std::move(waiting.back());
    waiting.erase(waiting.size() - 1);
  }
  if (!waiting.empty()) fields["children"] = std::move(waiting);
}

AwaitedRuns children_of(const Json& suspended) {
  AwaitedRuns children;
  for (const Json& one : field(suspended, "children", std::vector<Json>())) {
    add_child(one, children);
  }
  const auto asked = suspended.find("child");
  if (asked != suspended.end()) add_child(*asked, children);
  return children;
}

RunId awaited_child(const Json& suspended) {
  const auto asked = suspended.find("child");
  return asked == suspended.end() ? RunId() : text_field(*asked, "run");
}

Json step_json(const ProposedStep& step) {
  Json json{{"action", step.action}, {"input", step.input}, {"risk", step.risk}};
  if (!step.tool.empty()) json["tool"] = step.tool;
  if (!step.reason.empty()) json["reason"] = step.reason;
  return json;
}

}  // namespace triage::inline v0_1::detail
