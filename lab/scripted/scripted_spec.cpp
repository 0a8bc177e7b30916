// SPDX-License-Identifier: MIT
#include "lab/scripted/scripted_spec.hpp"

#include "lab/base/json_fields.hpp"
#include "lab/faults/fault_json.hpp"

#include "triage/detail/joined.hpp"
#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"
#include "triage/lab/simulation.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/duration.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

constexpr std::uint64_t most_steps = 100'000;
constexpr std::uint64_t most_jobs = 1'000;
constexpr std::array<std::string_view, 5> store_kinds{"none", "deferred", "immediate", "sqlite",
                                                      "file"};

std::vector<std::string> trouble_names() {
  std::vector<std::string> names;
  for (const FailureType type : all_failure_types) names.emplace_back(to_string(type));
  return names;
}

void share_of(JsonFields& fields, std::string_view key, double& value) {
  fields.read(key, value);
  if (value >= 0.0 && value <= 1.0) return;
  fields.refuse(key, " is " + show(Json(value)) + "; allowed is 0 to 1");
}

// Of more dollars the sums would end in infinity.
void price_of(JsonFields& fields, std::string_view key, double& value) {
  constexpr double most = 1e12;
  fields.read(key, value);
  if (value >= 0.0 && value <= most) return;
  fields.refuse(key, " is " + show(Json(value)) + "; allowed is 0 to 1000000000000");
}

void length_of(JsonFields& fields, std::string_view key, Duration& value) {
  fields.read(key, value);
  if (value < Duration::zero()) fields.refuse(key, " is below zero; allowed is 0 or more");
}

// A world that lasts longer is a violation, so no time is planned beyond that.
void refuse_longer(JsonFields& fields, std::string_view key, Duration one, std::uint64_t times,
                   const std::string& what) {
  const Duration longest = SimulationOptions().longest;
  if (times == 0 || one <= longest / static_cast<Duration::rep>(times)) return;
  fields.refuse(key, " is " + format_duration(one) + " for each of " + std::to_string(times) + " " +
                         what + "; allowed are " + format_duration(longest) +
                         " together, the longest time that is simulated");
}

// Of a time after which nothing happens any more.
void refuse_beyond(JsonFields& fields, std::string_view key, Duration value) {
  const Duration longest = SimulationOptions().longest;
  if (value < longest) return;
  fields.refuse(key, " is " + format_duration(value) + "; allowed is less than " +
                         format_duration(longest) + ", the longest time that is simulated");
}

// A table, or a single number for all entries.
Result<HintOdds> odds_from_json(const Json& json, const std::string& path) {
  HintOdds odds;
  if (json.is_number()) {
    const double one = json.get<double>();
    if (one >= 0.0 && one <= 1.0) {
      return outcome::success(HintOdds{.right_hint = one, .wrong_hint = one, .no_hint = one});
    }
    return Error{Errc::invalid_argument, path + " is " + show(json) + "; allowed is 0 to 1"};
  }
  JsonFields fields(json, path);
  share_of(fields, "right_hint", odds.right_hint);
  share_of(fields, "wrong_hint", odds.wrong_hint);
  share_of(fields, "no_hint", odds.no_hint);
  TRIAGE_TRYV(fields.finish());
  return outcome::success(odds);
}

std::optional<HintOdds> read_odds(JsonFields& fields, const std::string& path) {
  const Json* recovers = fields.find("recovers");
  if (recovers == nullptr) return std::nullopt;
  const auto odds = odds_from_json(*recovers, path + ".recovers");
  if (odds) return odds.value();
  fields.add(odds.error());
  return std::nullopt;
}

// An outage fails every step and ends by itself.
void read_outage(JsonFields& fields, Trouble& trouble) {
  const bool lasts = fields.find("lasts") != nullptr;
  if (lasts) {
    length_of(fields, "lasts", trouble.lasts.emplace());
    if (trouble.lasts == Duration::zero()) fields.refuse("lasts", " is 0s; allowed is above 0");
  }
  length_of(fields, "from", trouble.from);
  refuse_beyond(fields, "from", trouble.from);
  if (!lasts && fields.find("from") != nullptr) {
    fields.refuse("from", " belongs to an outage, which needs `lasts`, too");
  }
  for (const char* key : {"step", "recovers"}) {
    if (!lasts || fields.find(key) == nullptr) continue;
    fields.refuse(key,
                  " changes nothing beside `lasts`: an outage fails every step and ends by "
                  "itself; allowed is one of the two");
  }
}

Result<Trouble> trouble_from_json(const Json& json, const std::string& path) {
  Trouble trouble;
  JsonFields fields(json, path);
  std::vector<std::string> names;
  if (const Json* one = fields.find("trouble"); one != nullptr && one->is_string()) {
    names = {one->get<std::string>()};
  } else {
    fields.read("trouble", names);
  }
  if (names.empty()) fields.refuse("trouble", " has no failure type; allowed is one or more");
  for (const std::string& name : names) {
    const auto type = parse_failure_type(name);
    if (type) {
      trouble.types.push_back(*type);
    } else {
      fields.refuse_name("trouble", name, trouble_names());
    }
  }
  share_of(fields, "share", trouble.share);
  if (trouble.share == 0.0) fields.refuse("share", " is 0; allowed is above 0, up to 1");
  fields.read("step", trouble.step, 0, most_steps);
  fields.read("noticed_after", trouble.noticed_after, 0, most_steps);
  fields.read("repeats", trouble.repeats, 0, most_steps);
  trouble.recovers = read_odds(fields, path);
  read_outage(fields, trouble);
  TRIAGE_TRYV(fields.finish());
  return outcome::success(std::move(trouble));
}

void read_tokens(JsonFields& fields, std::string_view key, ScriptedAgent& agent) {
  constexpr std::uint64_t most = 1'000'000'000;
  const bool input = key == "input_tokens";
  fields.read(key, input ? agent.input_tokens : agent.output_tokens, 0, most);
}

void read_effect(JsonFields& fields, ScriptedAgent& agent) {
  static const std::vector<std::pair<std::string, EffectStyle>> styles{
      {"none", EffectStyle::none},
      {"bare", EffectStyle::bare},
      {"wrapped", EffectStyle::wrapped},
      {"reconciled", EffectStyle::reconciled}};
  std::string name = "none";
  fields.read("effect", name);
  std::vector<std::string> names;
  for (const auto& [known, style] : styles) {
    if (known == name) agent.effect = style;
    names.push_back(known);
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    fields.refuse_name("effect", name, names);
  }
}

// A fault that never happens, or whose delay no world outlasts.
Result<void> refuse_vain(const FaultRule& rule, const std::string& path) {
  const Duration longest = SimulationOptions().longest;
  if (rule.rate == 0.0) {
    return Error{Errc::invalid_argument, path + ".rate is 0; allowed is above 0, up to 1"};
  }
  if ((rule.fault == Fault::latency || rule.fault == Fault::hang) && rule.length >= longest) {
    return Error{Errc::invalid_argument, path + ".length is " + format_duration(rule.length) +
                                             "; allowed is less than " + format_duration(longest) +
                                             ", the longest time that is simulated"};
  }
  return outcome::success();
}

// A rule of the faults: of chaos, or a trouble.
Result<void> add_fault(ScriptedFaults& faults, const Json& rule, const std::string& path) {
  if (!rule.is_object() || rule.contains("fault") == rule.contains("trouble")) {
    return Error{Errc::invalid_argument,
                 path + " is " + shown(rule) +
                     "; allowed is an object with either the key fault or the key trouble"};
  }
  if (rule.contains("trouble")) {
    TRIAGE_TRY(trouble, trouble_from_json(rule, path));
    faults.troubles.push_back(std::move(trouble));
    faults.trouble_paths.push_back(path);
  } else {
    TRIAGE_TRY(read, fault_rule_from_json(rule, path));
    TRIAGE_TRYV(refuse_vain(read, path));
    faults.chaos.rules.push_back(std::move(read));
    faults.rule_paths.push_back(path);
  }
  return outcome::success();
}

}  // namespace

Result<ScriptedAgent> agent_from_json(const Json& json, const std::string& path) {
  ScriptedAgent agent;
  JsonFields fields(json, path);
  fields.read("steps", agent.steps, 1, most_steps);
  length_of(fields, "step_time", agent.step_time);
  read_tokens(fields, "input_tokens", agent);
  read_tokens(fields, "output_tokens", agent);
  price_of(fields, "input_price", agent.input_price);
  price_of(fields, "output_price", agent.output_price);
  fields.read("tools", agent.tools);
  fields.read("jobs", agent.jobs, 1, most_jobs);
  length_of(fields, "every", agent.every);
  read_effect(fields, agent);
  fields.read("effect_step", agent.effect_step, 1, most_steps);
  length_of(fields, "restart_after", agent.restart_after);
  refuse_longer(fields, "step_time", agent.step_time, agent.steps, "steps");
  refuse_longer(fields, "every", agent.every, agent.jobs, "jobs");
  refuse_beyond(fields, "restart_after", agent.restart_after);
  agent.recovers = read_odds(fields, path).value_or(HintOdds());
  if (agent.effect != EffectStyle::none && agent.effect_step > agent.steps) {
    fields.refuse("effect_step", " is " + std::to_string(agent.effect_step) +
                                     "; allowed is 1 to `steps`, " + std::to_string(agent.steps));
  }
  TRIAGE_TRYV(fields.finish());
  return outcome::success(std::move(agent));
}

Result<ScriptedFaults> faults_from_json(const Json& json, const std::string& path) {
  if (!json.is_array()) {
    return Error{Errc::invalid_argument, path + " is " + shown(json) + "; allowed is a list"};
  }
  ScriptedFaults faults;
  std::string problems;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string place = path + "[" + std::to_string(i) + "]";
    if (auto read = add_fault(faults, json[i], place); !read) {
      triage::detail::add_problems(problems, read.error().detail);
    }
  }
  if (!problems.empty()) return Error{Errc::invalid_argument, problems};
  return outcome::success(std::move(faults));
}

Result<Limits> budget_from_json(const Json& json, const std::string& path) {
  Limits limits;
  JsonFields fields(json, path);
  constexpr std::uint64_t most = 1'000'000;
  std::uint64_t attempts = static_cast<std::uint64_t>(limits.max_attempts);
  fields.read("max_attempts", attempts, 1, most);
  std::uint64_t per_type = static_cast<std::uint64_t>(limits.max_attempts_per_type);
  if (json.is_object() && json.contains("max_attempts")) per_type = attempts;
  fields.read("max_attempts_per_type", per_type, 1, most);
  fields.read("max_tokens", limits.max_tokens);
  price_of(fields, "max_cost_usd", limits.max_cost_usd);
  length_of(fields, "max_elapsed", limits.max_elapsed);
  TRIAGE_TRYV(fields.finish());
  limits.max_attempts = static_cast<int>(attempts);
  limits.max_attempts_per_type = static_cast<int>(per_type);
  return outcome::success(limits);
}

Result<StoreKind> store_from_json(const Json& json, const std::string& path) {
  for (std::size_t i = 0; i < store_kinds.size(); ++i) {
    if (json == store_kinds[i]) return static_cast<StoreKind>(i);
  }
  return Error{Errc::invalid_argument, path + " is " + shown(json) + "; allowed are " +
                                           triage::detail::joined(store_kinds)};
}

std::string_view to_string(StoreKind kind) noexcept {
  return store_kinds[static_cast<std::size_t>(kind)];
}

const std::vector<std::string>& baseline_names() {
  static const std::vector<std::string> names{"none", "blind_retry", "backoff_only"};
  return names;
}

std::optional<FailurePolicy> baseline(std::string_view name) {
  constexpr int as_often_as_limits_allow = std::numeric_limits<int>::max();
  FailurePolicy policy;
  if (name == "none") return policy.otherwise(escalate());
  if (name == "blind_retry") {
    return policy.otherwise(retry({.max_attempts = as_often_as_limits_allow}));
  }
  if (name == "backoff_only") {
    return policy.otherwise(retry_with_backoff({.max_attempts = as_often_as_limits_allow}));
  }
  return std::nullopt;
}

}  // namespace triage::inline v0_1::lab::detail
