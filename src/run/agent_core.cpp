// SPDX-License-Identifier: MIT
#include "run/agent_core.hpp"

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/id_rule.hpp"
#include "contract/contract_return.hpp"
#include "run/run.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

Result<void> check_compensations(const AgentOptions& options) {
  const CompensationOptions& how = options.compensation;
  if (how.timeout <= Duration::zero()) {
    return Error{Errc::invalid_argument, "compensation.timeout is " +
                                             std::to_string(how.timeout.count()) +
                                             " ns; allowed is more than 0"};
  }
  if (how.max_attempts < 1 || how.max_attempts > 100) {
    return Error{Errc::invalid_argument, "compensation.max_attempts is " +
                                             std::to_string(how.max_attempts) +
                                             "; allowed is 1 to 100"};
  }
  if (how.delay < Duration::zero() || how.delay > std::chrono::hours(1)) {
    return Error{Errc::invalid_argument, "compensation.delay is " +
                                             std::to_string(how.delay.count()) +
                                             " ns; allowed is 0 to 1 hour"};
  }
  const auto check = [](const std::string& name, bool has_function, std::string_view list) {
    if (has_function && !name.empty() && name.size() <= 128)
      return Result<void>(outcome::success());
    return Result<void>(Error{Errc::invalid_argument,
                              std::string(list) + " has the entry \"" + printable(name) +
                                  "\"; a name has 1 to 128 bytes and stands for a function"});
  };
  for (const auto& [name, compensation] : options.compensations) {
    TRIAGE_TRYV(check(name, compensation.function() != nullptr, "compensations"));
  }
  for (const auto& [name, reconcile] : options.reconciliations) {
    TRIAGE_TRYV(check(name, reconcile.function() != nullptr, "reconciliations"));
  }
  return outcome::success();
}

}  // namespace

Result<void> check_options(const AgentOptions& options) {
  TRIAGE_TRYV(check_id("the agent's name", options.name));
  if (auto limits = check_limits(options.limits); !limits) return limits;
  if (options.queue_capacity < 1 || options.queue_capacity > 1'000'000) {
    return Error{Errc::invalid_argument, "queue_capacity is " +
                                             std::to_string(options.queue_capacity) +
                                             "; allowed is 1 to 1000000"};
  }
  if (std::find(options.gates.begin(), options.gates.end(), nullptr) != options.gates.end()) {
    return Error{Errc::invalid_argument, "one of the gates is null"};
  }
  if (options.max_crashes < 0 || options.max_crashes > 1'000'000) {
    return Error{Errc::invalid_argument, "max_crashes is " + std::to_string(options.max_crashes) +
                                             "; allowed is 0 (never) to 1000000"};
  }
  if (options.expected_duration < Duration::zero()) {
    return Error{Errc::invalid_argument, "expected_duration is " +
                                             std::to_string(options.expected_duration.count()) +
                                             " ns; allowed is 0 or more"};
  }
  if (options.attempt_timeout < Duration::zero()) {
    return Error{Errc::invalid_argument, "attempt_timeout is " +
                                             std::to_string(options.attempt_timeout.count()) +
                                             " ns; allowed is 0 (none) or more"};
  }
  if (auto contract = check_contract(options.contract); !contract) {
    return Error{contract.error().code, "contract." + contract.error().detail};
  }
  return check_compensations(options);
}

SuspendedRuns::SuspendedRuns() = default;
SuspendedRuns::~SuspendedRuns() = default;

void SuspendedRuns::add(std::string hash, SuspendedRun run, WallTime now) {
  const auto is_over = [now](const SuspendedRun& waiting) {
    const bool goes_on = waiting.until && !waiting.data->store;
    return waiting.expires && *waiting.expires <= now && !goes_on;
  };
  ByHash over;  // Destroyed without the lock: they have functions and objects of the user's.
  const std::scoped_lock lock(mutex_);
  if (by_hash_.size() >= crowded_) {
    for (auto one = by_hash_.begin(); one != by_hash_.end();) {
      const auto next = std::next(one);
      if (is_over(one->second)) over.insert(by_hash_.extract(one));
      one = next;
    }
    crowded_ = 2 * by_hash_.size();  // So that many runs are not looked through for each one more.
  }
  by_hash_.emplace(std::move(hash), std::move(run));
}

void SuspendedRuns::add_store(std::string hash, const std::shared_ptr<CheckpointStore>& store) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(stores_, [](const auto& entry) { return entry.second.expired(); });
  stores_.emplace(std::move(hash), store);
}

std::shared_ptr<CheckpointStore> SuspendedRuns::store_of(std::string_view hash) const {
  const std::scoped_lock lock(mutex_);
  const auto found = stores_.find(hash);
  return found == stores_.end() ? nullptr : found->second.lock();
}

void SuspendedRuns::forget_store(std::string_view hash) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = stores_.find(hash); found != stores_.end()) stores_.erase(found);
}

bool SuspendedRuns::contains(std::string_view hash) const {
  const std::scoped_lock lock(mutex_);
  return by_hash_.contains(hash);
}

static DueRun waiting_run(const SuspendedRun& run) {
  return {.run = run.options.run_id,
          .until = run.until.value_or(WallTime::max()),
          .message = run.message};
}

std::vector<DueRun> SuspendedRuns::due(WallTime until) const {
  const std::scoped_lock lock(mutex_);
  std::vector<DueRun> all;
  for (const auto& [hash, run] : by_hash_) {
    if (!run.data->store && run.until && *run.until <= until) all.push_back(waiting_run(run));
  }
  return all;
}

std::optional<SuspendedRuns::Waiting> SuspendedRuns::find(const RunId& run) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [hash, waiting] : by_hash_) {
    if (!waiting.data->store && waiting.options.run_id == run) {
      return Waiting{hash, waiting_run(waiting)};
    }
  }
  return std::nullopt;
}

Result<SuspendedRun> SuspendedRuns::take(std::string_view hash,
                                         const std::function<Result<void>(SuspendedRun&)>& check) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return unknown_token();
  if (auto allowed = check(found->second); !allowed) return std::move(allowed).error();
  SuspendedRun taken = std::move(found->second);
  by_hash_.erase(found);
  return outcome::success(std::move(taken));
}

void SuspendedRuns::put_back(std::string hash, SuspendedRun run) {
  const std::scoped_lock lock(mutex_);
  by_hash_.emplace(std::move(hash), std::move(run));
}

namespace {

// A policy's description without numbers and durations: "retry(max_attempts=#, delay=#)". Digits
// after a letter belong to a name: "mine(v2)".
std::string without_numbers(std::string_view text) {
  constexpr std::string_view in_durations = ".dhmsun";
  std::string bare;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool in_name =
        i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 || text[i - 1] == '_');
    if (!is_digit(text[i]) || in_name) {
      bare += text[i];
      continue;
    }
    while (i + 1 < text.size() &&
           (is_digit(text[i + 1]) || in_durations.find(text[i + 1]) != std::string_view::npos)) {
      ++i;
    }
    bare += '#';
  }
  return bare;
}

std::string short_digest(const std::string& text) { return digest(text).substr(0, 16); }

// How many of its names are of which kind: the names alone do not tell a constraint from a subgoal.
std::string kinds_of(const AgentContract& contract) {
  if (contract.tools.empty() && contract.constraints.empty() && contract.subgoals.empty())
    return {};
  std::string kinds = "kinds";
  for (const ToolContract& tool : contract.tools) {
    kinds += '\0' + std::to_string(tool.aliases.size());
  }
  return kinds + '\0' + "constraints" + std::to_string(contract.constraints.size()) + '\0';
}

// The part of a contract that must not change between the processes of a run.
std::string text_of(const AgentContract& contract) {
  std::string text;
  for (const ToolContract& tool : contract.tools) {
    text += tool.name + '\0';
    for (const std::string& alias : tool.aliases) text += alias + '\0';
  }
  for (const std::string& constraint : contract.constraints) text += constraint + '\0';
  for (const std::string& subgoal : contract.subgoals) text += subgoal + '\0';
  text += std::to_string(contract.context_limit);
  // Only what is present, so that agents without schemas keep their old fingerprints.
  const auto add = [&text](std::string_view what, const std::string& value) {
    text += std::string(what) + '\0' + value + '\0';
  };
  for (const ToolContract& tool : contract.tools) {
    if (!tool.input_schema.empty()) add(tool.name + ".input", show(tool.input_schema.json()));
    if (!tool.output_schema.empty()) add(tool.name + ".output", show(tool.output_schema.json()));
  }
  for (const ForbiddenPattern& pattern : contract.forbidden_patterns) {
    add("pattern", pattern.text());
  }
  const JsonSchema& result = contract.output_schema;
  if (!result.empty()) add("result", show(result.json()));
  return text;
}

}  // namespace

Fingerprint fingerprint(const FailurePolicy& policy, const AgentOptions& options) {
  const std::string described = policy.describe();
  const std::string older = text_of(options.contract);
  const std::string contract = kinds_of(options.contract) + older;
  const std::string others = options.name + '\0' + options.version + '\0' + described + '\0';
  return {.whole = short_digest(others + contract),
          .policy = short_digest(without_numbers(described)),
          .contract = short_digest(contract),
          .older_whole = short_digest(others + older),
          .older_contract = short_digest(older)};
}

Json identity_of(const AgentCore& core) {
  return Json{
      {"agent", core.options.name},
      {"version", core.options.version},
      {"fingerprint", core.fingerprint.whole},
      {"parts", {{"policy", core.fingerprint.policy}, {"contract", core.fingerprint.contract}}}};
}

static Rules rules_of(const AgentOptions& options, bool has_gates) {
  return {.has_gates = has_gates,
          .tells_failure = options.hooks.on_failure != nullptr,
          .announces = options.hooks.on_recovery != nullptr || options.observer != nullptr,
          .asks_escalation = options.hooks.on_escalate != nullptr,
          .undoes_on_rollback = options.compensation.on_rollback,
          .undoes_on_abort = options.compensation.on_abort,
          .undoes_on_escalate = options.compensation.on_escalate};
}

std::shared_ptr<const AgentCore> make_core(FailurePolicy policy, AgentOptions options,
                                           bool callable_is_null, TaskCheck task_fits) {
  auto core = std::make_shared<AgentCore>();
  if (task_fits != nullptr) core->task_fits = task_fits;
  if (auto checked = check_options(options); !checked) core->problem = std::move(checked).error();
  if (auto checked = check_policy(policy); !checked) core->problem = std::move(checked).error();
  if (callable_is_null) {
    core->problem =
        Error{Errc::invalid_argument, "the callable is null; give a function that can be called"};
  }
  core->clock = options.clock ? options.clock : real_clock();
  core->random = options.random ? options.random : real_random();
  core->gates = GateKeeper(options.gates, core->clock);
  core->classifier = options.classifier ? options.classifier : default_classifier();
  core->warnings = unreachable_settings(policy, options.limits);
  core->fingerprint = fingerprint(policy, options);
  if (!options.contract.empty()) {
    core->contract = std::make_shared<const AgentContract>(options.contract);
    core->judges_return = judges_return(options.contract);
  }
  core->rules = rules_of(options, !core->gates.empty());
  core->policy = std::move(policy);
  core->options = std::move(options);
  core->plain = !core->problem && !core->judges_return && !core->options.store &&
                !core->options.observer && core->gates.empty() &&
                core->options.limits.max_elapsed == Duration::zero() &&
                core->options.attempt_timeout == Duration::zero();
  return core;
}

}  // namespace triage::inline v0_1::detail
