// SPDX-License-Identifier: MIT
#include "triage/policies/registry.hpp"

#include "seams/action_names.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/manifest.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/resume.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/sequence.hpp"
#include "triage/policies/stop.hpp"

namespace triage::inline v0_1 {
namespace {

using Registry = StrategyRegistry;

Result<Strategy> make_retry(const Json& json, const Registry&) {
  Arguments arguments(json, "retry");
  RetryOptions options;
  arguments.read("max_attempts", options.max_attempts);
  arguments.read("delay", options.delay);
  arguments.read("hint", options.hint);
  return arguments.finish([&] { return retry(options); });
}

BackoffOptions read_backoff(Arguments& arguments) {
  BackoffOptions options;
  arguments.read("max_attempts", options.max_attempts);
  arguments.read("base_delay", options.base_delay);
  arguments.read("max_delay", options.max_delay);
  arguments.read("multiplier", options.multiplier);
  std::string jitter(to_string(options.jitter));
  arguments.read("jitter", jitter);
  if (jitter == to_string(Jitter::none)) {
    options.jitter = Jitter::none;
  } else if (jitter != to_string(Jitter::full)) {
    arguments.refuse("jitter", " is \"" + printable(jitter) + "\"" +
                                   detail::allowed_names(printable(jitter), {"full", "none"}));
  }
  return options;
}

Result<Strategy> make_backoff(const Json& json, const Registry&) {
  Arguments arguments(json, "retry_with_backoff");
  BackoffOptions options = read_backoff(arguments);
  arguments.read("hint", options.hint);
  return arguments.finish([&] { return retry_with_backoff(options); });
}

Result<Strategy> make_manifest(const Json& json, const Registry&) {
  Arguments arguments(json, "retry_with_tool_manifest");
  ManifestOptions options;
  arguments.read("max_attempts", options.max_attempts);
  return arguments.finish([&] { return retry_with_tool_manifest(options); });
}

Result<Strategy> make_replan(const Json& json, const Registry&) {
  Arguments arguments(json, "replan");
  ReplanOptions options;
  arguments.read("hint", options.hint);
  arguments.read("max_replans", options.max_replans);
  return arguments.finish([&] { return replan(options); });
}

Result<Strategy> make_rollback(const Json& json, const Registry&) {
  Arguments arguments(json, "rollback");
  RollbackOptions options;
  arguments.read("label", options.label);
  arguments.read("checkpoint", options.checkpoint);
  for (const char* key : {"label", "checkpoint"}) {
    const Json* name = arguments.find(key);
    // It would mean the last good checkpoint.
    if (name != nullptr && *name == "") arguments.refuse(key, " is \"\"; allowed is a name");
  }
  arguments.read("latest", options.latest);
  arguments.read("back", options.back);
  arguments.read("or_start", options.or_start);
  arguments.read("hint", options.hint);
  if (const Json* backoff = arguments.find("backoff")) {
    if (!backoff->is_object()) {
      arguments.refuse("backoff",
                       " is " + detail::shown(*backoff) +
                           "; allowed is an object with the arguments of retry_with_backoff");
    } else {
      Arguments inner(*backoff, "rollback.backoff");
      options.backoff = read_backoff(inner);
      const auto checked = inner.finish([&] { return retry_with_backoff(*options.backoff); });
      if (!checked) arguments.refuse("backoff", checked.error().detail);
    }
  }
  return arguments.finish([&] { return rollback(options); });
}

Result<Strategy> make_resume(const Json& json, const Registry&) {
  Arguments arguments(json, "resume_from_subgoal");
  ResumeFromSubgoalOptions options;
  arguments.read("subgoal", options.subgoal);
  arguments.read("hint", options.hint);
  return arguments.finish([&] { return resume_from_subgoal(options); });
}

Result<Strategy> make_escalate(const Json& json, const Registry&) {
  Arguments arguments(json, "escalate");
  std::string message;
  arguments.read("message", message);
  return arguments.finish([&] { return escalate(message); });
}

Result<Strategy> make_suspend(const Json& json, const Registry&) {
  Arguments arguments(json, "suspend");
  SuspendOptions options;
  arguments.read("message", options.message);
  arguments.read("until", options.until);
  arguments.read("allowed_actions", options.allowed_actions);
  if (json.contains("allowed_actions") && options.allowed_actions.empty()) {
    arguments.refuse("allowed_actions", " is empty; allowed is at least one kind of action");
  }
  Duration expires_after{0};
  arguments.read("expires_after", expires_after);
  if (json.contains("expires_after")) options.expires_after = expires_after;
  return arguments.finish([&] { return suspend(options); });
}

Result<Strategy> make_abort(const Json& json, const Registry&) {
  Arguments arguments(json, "abort_run");
  std::string reason;
  arguments.read("reason", reason);
  return arguments.finish([&] { return abort_run(reason); });
}

Result<Strategy> make_fallback(const Json& json, const Registry&) {
  Arguments arguments(json, "fallback");
  const Json* value = arguments.require("value");
  return arguments.finish([&] { return fallback(*value); });
}

// A nested strategy; its problems are added to `problems`.
Strategy inner(const Json& value, const Registry& registry, const std::string& path,
               std::string& problems) {
  auto strategy = strategy_from_json(value, registry, path);
  if (strategy) return std::move(strategy).value();
  detail::add_problems(problems, strategy.error().detail);
  return {};
}

// Like Arguments::finish, including the problems of nested strategies.
Result<Strategy> finish(Arguments& arguments, std::string problems,
                        const std::function<Strategy()>& make) {
  if (problems.empty()) return arguments.finish(make);
  if (const auto own = arguments.check(); !own) detail::add_problems(problems, own.error().detail);
  return Error{Errc::invalid_argument, std::move(problems)};
}

Result<Strategy> make_sequence(const Json& json, const Registry& registry) {
  Arguments arguments(json, "sequence");
  std::vector<Strategy> strategies;
  const Json* list = arguments.require("strategies");
  if (list != nullptr && !list->is_array()) {
    arguments.refuse("strategies", " is " + detail::shown(*list) +
                                       "; allowed is a list of at least one strategy");
    list = nullptr;
  }
  std::string problems;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string path = ".strategies[" + std::to_string(i) + "]";
    strategies.push_back(inner((*list)[i], registry, path, problems));
  }
  return finish(arguments, problems, [&] { return sequence(strategies); });
}

Result<Strategy> make_chain(const Json& json, const Registry& registry) {
  Arguments arguments(json, "chain");
  const Json* first = arguments.require("primary");
  const Json* second = arguments.require("fallback");
  std::vector<std::string> names{"escalate"};
  arguments.read("kinds", names);
  std::vector<RecoveryAction::Kind> kinds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto kind = parse_recovery_kind(names[i]);
    if (kind) kinds.push_back(*kind);
    if (!kind) {
      const std::string name = printable(names[i]);
      arguments.refuse(
          "kinds[" + std::to_string(i) + "]",
          " is \"" + name + "\"" + detail::allowed_names(name, detail::action_names()));
    }
  }
  Strategy primary;
  Strategy alternative;
  std::string problems;
  if (first != nullptr) primary = inner(*first, registry, ".primary", problems);
  if (second != nullptr) alternative = inner(*second, registry, ".fallback", problems);
  return finish(arguments, problems, [&] { return chain(primary, alternative, kinds); });
}

}  // namespace

StrategyRegistry built_in_strategies() {
  StrategyRegistry registry;
  registry.add("retry", make_retry)
      .add("retry_with_backoff", make_backoff)
      .add("retry_with_tool_manifest", make_manifest)
      .add("replan", make_replan)
      .add("rollback", make_rollback)
      .add("resume_from_subgoal", make_resume)
      .add("escalate", make_escalate)
      .add("suspend", make_suspend)
      .add("abort_run", make_abort)
      .add("fallback", make_fallback)
      .add("sequence", make_sequence)
      .add("chain", make_chain);
  return registry;
}

}  // namespace triage::inline v0_1
