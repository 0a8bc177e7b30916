// SPDX-License-Identifier: MIT
#include "triage/policies/document.hpp"

#include "documents/sections.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"
#include "triage/policies/bulkhead.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/policies/retry_budget.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace triage::inline v0_1 {
namespace {

using Shared = std::shared_ptr<KeySpace>;

// Each line is "bulkhead: poll is 0s; allowed is 1ms or more".
void take_over(Arguments& arguments, const Error& error) {
  detail::for_each_line(error.detail, [&](std::string_view line) {
    const std::size_t begin = line.find(": ");
    if (begin == std::string_view::npos) return;
    const std::string_view told = line.substr(begin + 2);
    const std::size_t end = std::min(told.find(' '), told.size());
    arguments.refuse(told.substr(0, end), std::string(told.substr(end)));
  });
}

// A gate maker's result, or the mistakes in all its arguments.
template <class Made>
Result<std::shared_ptr<Gate>> as_gate(Arguments& arguments, Made made) {
  if (!made) take_over(arguments, made.error());
  TRIAGE_TRYV(arguments.check());
  if (!made) return std::move(made).error();
  return outcome::success(std::shared_ptr<Gate>(std::move(made).value()));
}

void read_types(Arguments& arguments, std::vector<FailureType>& types) {
  std::vector<std::string> names;
  for (const FailureType type : types) names.emplace_back(to_string(type));
  arguments.read("types", names);
  types.clear();
  for (const std::string& name : names) {
    const auto type = parse_failure_type(name);
    if (!type) {
      std::vector<std::string> known;
      for (const FailureType one : all_failure_types) known.emplace_back(to_string(one));
      return arguments.refuse("types", " has \"" + printable(name) + "\"" +
                                           detail::allowed_names(printable(name), known));
    }
    types.push_back(*type);
  }
}

Result<std::shared_ptr<Gate>> make_breaker(const Json& object, const Shared& shared) {
  Arguments arguments(object, "circuit_breaker");
  BreakerOptions options;
  options.shared = shared;
  read_types(arguments, options.types);
  arguments.read("window", options.window);
  arguments.read("minimum_calls", options.minimum_calls);
  arguments.read("failure_rate", options.failure_rate);
  arguments.read("slow_call", options.slow_call);
  arguments.read("slow_rate", options.slow_rate);
  arguments.read("break_duration", options.break_duration);
  arguments.read("probes", options.probes);
  arguments.read("probe_lease", options.probe_lease);
  arguments.read("retry_only", options.retry_only);
  return as_gate(arguments, CircuitBreaker::create(std::move(options)));
}

Result<std::shared_ptr<Gate>> make_limiter(const Json& object, const Shared& shared) {
  Arguments arguments(object, "rate_limiter");
  RateLimiterOptions options;
  options.shared = shared;
  arguments.read("permits", options.permits);
  arguments.read("period", options.period);
  arguments.read("burst", options.burst);
  arguments.read("max_wait", options.max_wait);
  return as_gate(arguments, RateLimiter::create(std::move(options)));
}

Result<std::shared_ptr<Gate>> make_bulkhead(const Json& object, const Shared& /*shared*/) {
  Arguments arguments(object, "bulkhead");
  BulkheadOptions options;
  arguments.read("max_concurrent", options.max_concurrent);
  arguments.read("max_wait", options.max_wait);
  arguments.read("poll", options.poll);
  return as_gate(arguments, Bulkhead::create(options));
}

Result<std::shared_ptr<Gate>> make_retry_budget(const Json& object, const Shared& shared) {
  Arguments arguments(object, "retry_budget");
  std::string preset = "aws";
  arguments.read("preset", preset);
  if (preset != "aws" && preset != "grpc") {
    arguments.refuse("preset", " is \"" + printable(preset) + "\"" +
                                   detail::allowed_names(printable(preset), {"aws", "grpc"}));
  }
  RetryBudgetOptions options = preset == "grpc" ? grpc_retry_throttle() : aws_retry_quota();
  options.shared = shared;
  arguments.read("max_tokens", options.max_tokens);
  arguments.read("reserve", options.reserve);
  arguments.read("retry_cost", options.retry_cost);
  arguments.read("throttled_cost", options.throttled_cost);
  arguments.read("per_failure", options.per_failure);
  arguments.read("per_success", options.per_success);
  arguments.read("refund", options.refund);
  return as_gate(arguments, RetryBudget::create(std::move(options)));
}

struct GateMaker {
  const char* name;
  Result<std::shared_ptr<Gate>> (*make)(const Json& object, const Shared& shared);
};
// In the order in which they are asked: gates that refuse at once come before gates that wait.
constexpr GateMaker makers[] = {{"circuit_breaker", &make_breaker},
                                {"retry_budget", &make_retry_budget},
                                {"bulkhead", &make_bulkhead},
                                {"rate_limiter", &make_limiter}};

Error refused(const std::string& path, const std::string& text) {
  return {Errc::invalid_argument, path + text};
}

std::vector<std::string> gate_names() {
  std::vector<std::string> names;
  for (const GateMaker& maker : makers) names.emplace_back(maker.name);
  return names;
}

Result<std::vector<std::shared_ptr<Gate>>> make_gates(const Json& section, const Shared& shared) {
  if (!section.is_object()) {
    return refused("gates", " is " + detail::shown(section) +
                                "; allowed is an object from gates' names to "
                                "their arguments");
  }
  const std::vector<std::string> names = gate_names();
  std::string problems;
  for (const auto& [name, arguments] : section.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      detail::add_problems(problems, "gates." + printable(name) + " is not a gate" +
                                         detail::allowed_names(printable(name), names));
    }
  }
  std::vector<std::shared_ptr<Gate>> gates;
  for (const GateMaker& maker : makers) {
    const auto found = section.find(maker.name);
    if (found == section.end()) continue;
    const std::string path = std::string("gates.") + maker.name;
    Json arguments = *found;
    const bool has_presets = maker.make == &make_retry_budget;
    if (has_presets && arguments.is_string()) arguments = Json{{"preset", arguments}};
    if (!arguments.is_object()) {
      detail::add_problems(problems, path + " is " + detail::shown(*found) +
                                         "; allowed is an object of arguments" +
                                         (has_presets ? ", or a preset: aws, grpc" : ""));
      continue;
    }
    auto gate = maker.make(arguments, shared);
    if (gate) {
      gates.push_back(std::move(gate).value());
    } else {
      detail::add_problems(problems, detail::behind(path, gate.error().detail));
    }
  }
  if (!problems.empty()) return Error{Errc::invalid_argument, problems};
  return outcome::success(std::move(gates));
}

Result<BudgetLimits> read_budget(const Json& section) {
  if (!section.is_object()) {
    return refused("budget",
                   " is " + detail::shown(section) + "; allowed is an object of arguments");
  }
  Arguments arguments(section, "budget");
  BudgetLimits limits;
  double tokens = 0;
  double calls = 0;
  constexpr double most = 9'007'199'254'740'992.0;  // Beyond this, doubles skip integers.
  arguments.read("max_tokens", tokens);
  arguments.read("max_calls", calls);
  arguments.read("max_cost_usd", limits.max_cost_usd);
  for (const auto& [name, value] :
       {std::pair<const char*, double>("max_tokens", tokens), {"max_calls", calls}}) {
    // 0 is no limit, so nothing may be rounded to it.
    if (!(value >= 0 && value <= most && std::floor(value) == value)) {
      arguments.refuse(name, " is " + show(Json(value)) + "; allowed is a whole number, 0 to 2^53");
    }
  }
  if (const auto made = Budget::create(limits); !made) take_over(arguments, made.error());
  const auto checked = arguments.check();
  if (!checked) return refused("", detail::behind("budget", checked.error().detail));
  limits.max_tokens = static_cast<std::uint64_t>(tokens);
  limits.max_calls = static_cast<std::uint64_t>(calls);
  return outcome::success(limits);
}

Result<Duration> read_timeout(const Json& document) {
  const Json section{{"attempt_timeout", document["attempt_timeout"]}};
  Arguments arguments(section, "the document");
  Duration timeout{0};
  arguments.read("attempt_timeout", timeout);
  if (timeout <= Duration::zero()) {
    arguments.refuse("attempt_timeout", " is " + detail::shown(section["attempt_timeout"]) +
                                            "; allowed is a duration of more than 0 s");
  }
  const auto checked = arguments.check();
  if (!checked) return refused("", checked.error().detail.substr(1));  // Without the leading point.
  return timeout;
}

}  // namespace

Result<PolicyDocument> document_from_json(const nlohmann::json& document,
                                          const StrategyRegistry& registry,
                                          std::shared_ptr<KeySpace> shared) {
  TRIAGE_TRYV(check_json(document, "the policy document"));
  PolicyDocument made;
  std::string problems;
  const auto take = [&](auto part, auto& place) {
    if (part) {
      place = std::move(part).value();
    } else {
      detail::add_problems(problems, part.error().detail);
    }
  };
  Json policy = document;
  if (document.is_object()) {
    if (const auto gates = document.find("gates"); gates != document.end()) {
      take(make_gates(*gates, shared), made.gates);
      policy.erase("gates");
    }
    if (const auto budget = document.find("budget"); budget != document.end()) {
      take(read_budget(*budget), made.budget_limits);
      made.budget = Budget::create(made.budget_limits).value();
      policy.erase("budget");
    }
    if (document.contains("attempt_timeout")) {
      take(read_timeout(document), made.attempt_timeout);
      policy.erase("attempt_timeout");
    }
  }
  take(detail::policy_in(policy, registry, true), made.policy);
  if (!problems.empty()) return Error{Errc::invalid_argument, problems};
  return outcome::success(std::move(made));
}

Result<PolicyDocument> document_from_text(std::string_view text, const StrategyRegistry& registry,
                                          std::shared_ptr<KeySpace> shared) {
  TRIAGE_TRY(document, json_from_text(text));
  return document_from_json(document, registry, std::move(shared));
}

}  // namespace triage::inline v0_1
