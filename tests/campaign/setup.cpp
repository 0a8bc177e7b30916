// SPDX-License-Identifier: MIT
// The agents, processes and stores of a program.
#include "play.hpp"

#include "triage/policies/fallback.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/resume.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/sequence.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace triage::campaign {
namespace {

constexpr std::array types{FailureType::external_fault, FailureType::timeout,
                           FailureType::schema_mismatch, FailureType::unknown};

// Reads type and critical step from the failure's text.
class Reader final : public Classifier {
 public:
  Classification classify(const ClassifierInput& input) override {
    const std::string& text = input.failure.text;
    Classification found{.type = FailureType::unknown, .reason = "read", .confidence = 0.9};
    const std::size_t type = text.find("type ");
    if (type != std::string::npos) {
      found.type = types[static_cast<std::size_t>(text[type + 5] - '0')];
    }
    const std::size_t critical = text.find("critical ");
    if (critical != std::string::npos && text[critical + 9] != '-') {
      found.critical_step = static_cast<std::size_t>(std::stoi(text.substr(critical + 9)));
    }
    return found;
  }
};

Strategy strategy_of(const Rule& rule) {
  switch (rule.kind) {
    case Rule::Kind::retry:
      return retry({.max_attempts = rule.most, .delay = std::chrono::seconds(rule.delay)});
    case Rule::Kind::replan: return replan({.max_replans = rule.most});
    case Rule::Kind::rollback: {
      RollbackOptions options{.or_start = rule.or_start};
      if (rule.target == Rule::Target::latest) options.latest = true;
      if (rule.target == Rule::Target::label) options.label = "L" + std::to_string(rule.n);
      if (rule.target == Rule::Target::back) options.back = rule.n;
      return rollback(options);
    }
    case Rule::Kind::resume: return resume_from_subgoal({.subgoal = "the rest"});
    case Rule::Kind::escalate: return escalate();
    case Rule::Kind::suspend: {
      SuspendOptions options;
      if (rule.until > 0) {
        options.until = testing::SimulatedClock::wall_start + std::chrono::seconds(rule.until);
      }
      return suspend(options);
    }
    case Rule::Kind::abort: return abort_run();
    case Rule::Kind::fallback: return fallback(fallback_value);
    case Rule::Kind::sequence: {
      std::vector<Strategy> members;
      for (const Rule& member : rule.members) members.push_back(strategy_of(member));
      return sequence(std::move(members));
    }
  }
  return escalate();
}

Limits limits_of(const Program& program, bool given) {
  Limits limits{.max_wait = std::chrono::seconds(program.max_wait)};
  if (!given) return limits;
  limits.max_attempts = program.max_attempts;
  limits.max_attempts_per_type = program.max_per_type;
  return limits;
}

}  // namespace

Play::Play(const Program& program) : program_(program), visits_(program.plan.size() + 1, 0) {
  for (std::size_t e = 0; e < program_.effects.size(); ++e) {
    ledger_.may_repeat[e] = program_.effects[e].semantics == EffectPlan::Semantics::at_least_once;
  }
  if (program_.sqlite) {
    folder_ = (std::filesystem::temp_directory_path() / "triage-campaign-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr) folder_ = ".";
  } else {
    shared_ = MemoryStore::create();
  }
  runs_.emplace_back(program_, findings_, "r0");
  run_numbers_["r0"] = 0;
  tokens_.emplace_back();
  token_is_current_.push_back(false);
  for (Process& process : processes_) make(process);
}

Play::~Play() {
  for (Process& process : processes_) process = {};
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void Play::make(Process& process) {
  process.agent.reset();
  process.inner = program_.sqlite ? SqliteStore::open(folder_ + "/runs.db").value() : shared_;
  process.mortal = std::make_shared<MortalStore>(process.inner);
  process.store = testing::FlakyStore::around(process.mortal);
  process.dead = false;
  process.store_fails = false;
  process.faults_before = 0;
  FailurePolicy policy;
  for (std::size_t i = 0; i < types.size(); ++i) {
    policy.on(types[i], strategy_of(program_.rules[i]));
  }
  process.agent.emplace(Puppet{this, &process}, std::move(policy), options(process));
}

AgentOptions Play::options(Process& process) {
  static const auto reader = std::make_shared<Reader>();
  AgentOptions options{
      .name = "puppet",
      .store = process.store,
      .limits = limits_of(program_, !program_.per_run_limits),
      .auto_checkpoint = program_.auto_checkpoint,
      .write_mode = program_.immediate ? WriteMode::immediate : WriteMode::deferred,
      .on_store_error = program_.fails_with_store ? OnStoreError::fail : OnStoreError::degrade,
      .clock = clock_,
      .random = seeded_random(program_.seed),
      .classifier = reader,
      .max_crashes = 0};
  options.compensation.delay = Duration(0);
  for (int e = 0; e < effect_count; ++e) {
    const std::string number = std::to_string(e);
    const auto asked = [this, &process, e](const EffectCall& call) {
      return answer(process, e, call);
    };
    const auto undoes = [this, &process, e](const EffectCall& call) { undo(process, e, call); };
    const auto settles = [this, &process, e](const EffectCall& call) {
      return settle(process, e, call);
    };
    options.reconciliations["find" + number] = Reconcile(asked);
    options.compensations["undo" + number] = program_.effects[static_cast<std::size_t>(e)].settled
                                                 ? Compensation(undoes, settles)
                                                 : Compensation(undoes);
  }
  return options;
}

RunOptions Play::run_options(Process& process) const {
  RunOptions options;
  options.stop_token = process.stop.get_token();
  if (program_.per_run_limits) options.limits = limits_of(program_, true);
  if (program_.deadline > 0) {
    options.deadline = testing::SimulatedClock::start + std::chrono::seconds(program_.deadline);
  }
  return options;
}

}  // namespace triage::campaign
