// SPDX-License-Identifier: MIT
#include "lab/scripted/scripted_trial.hpp"

#include "lab/scripted/scripted_run.hpp"

#include "triage/agent.hpp"
#include "triage/policies/duration.hpp"

#include <chrono>
#include <deque>
#include <stdexcept>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

constexpr int most_starts = 1'000;
constexpr int most_store_failures = 100;
constexpr std::size_t stack_for_drivers = 1024 * 1024;

// What the jobs of one world share.
struct Shared {
  const ScriptedSetup& setup;
  PolicyDocument document{};
  std::deque<ScriptedJob> jobs{};
};

AgentOptions options_of(const Shared& shared, Process& self) {
  const ScriptedSetup& setup = shared.setup;
  AgentOptions options{.name = "scripted", .limits = setup.limits};
  // Waiting is free here, so runs need not be suspended for it.
  options.limits.max_wait = Duration::zero();
  options.limits.max_tokens = 0;  // The agent enforces the budget itself.
  options.limits.max_cost_usd = 0;
  options.max_crashes = 0;
  options.gates = shared.document.gates;
  options.attempt_timeout = shared.document.attempt_timeout;
  if (const BudgetLimits& budget = shared.document.budget_limits;
      budget.max_tokens > 0 || budget.max_cost_usd > 0 || budget.max_calls > 0) {
    options.budget = shared.document.budget;
  }
  for (const std::string& tool : setup.agent.tools)
    options.contract.tools.push_back({.name = tool});
  if (setup.store != StoreKind::none) options.store = self.store();
  if (setup.store >= StoreKind::immediate) options.write_mode = WriteMode::immediate;
  return self.options(std::move(options));
}

// One life of a job's process.
void live(World& world, Process& self, Shared& shared, ScriptedJob& job) {
  if (self.start() == 1) job.began = world.elapsed();
  std::stop_source over;
  const std::stop_callback with_it(self.stop_token(), [&over] { over.request_stop(); });
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<std::uint64_t> {
                            return ScriptedAttempt(job, world, self, attempt, over).go();
                          },
                          shared.document.policy, options_of(shared, self)};
  const RunOptions run{.stop_token = over.get_token()};
  const RunId id = self.name();
  Result<std::uint64_t> result = outcome::success(std::uint64_t{0});
  for (int i = 0; i < most_store_failures; ++i) {
    result = shared.setup.store == StoreKind::none
                 ? agent.run(id, run)
                 : self.run_or_resume(agent, id, id, {.run = run});
    if (!self.alive()) throw ProcessKilled{};
    const bool again =
        !result && (result.error().code == Errc::io || result.error().code == Errc::busy);
    if (!again) break;
    self.work(shared.setup.agent.restart_after);
  }
  job.ended = world.elapsed();
  job.finished = result.has_value();
  job.degraded = is_degraded(result);
  job.correct = job.finished && !job.degraded && result.value() == shared.setup.agent.steps;
}

void tally(World& world, const Shared& shared) {
  double finished = 0;
  double correct = 0;
  double useful = 0;
  const auto add = [&](std::string_view name, auto amount) {
    world.count(name, static_cast<double>(amount));
  };
  for (const ScriptedJob& job : shared.jobs) {
    const Duration end = job.ended.value_or(world.elapsed());
    add("attempts", job.attempts);
    add("steps", job.steps);
    add("tokens", job.tokens);
    add("usd", job.usd);
    add("doubled", job.effects > 1 ? job.effects - 1 : 0);
    add("seconds", std::chrono::duration<double>(end - job.began).count());
    finished += job.finished ? 1 : 0;
    correct += job.correct ? 1 : 0;
    const bool produced = job.finished && !job.degraded;
    useful += static_cast<double>(produced ? shared.setup.agent.steps : 0);
    add("wasted", job.steps);
  }
  add("wasted", -useful);
  const auto jobs = static_cast<double>(shared.jobs.size());
  add("correct", correct / jobs);
  add("finished", finished / jobs);
}

// Gates and budgets have memory, so each world has its own.
PolicyDocument document_of(const ScriptedPolicy& policy) {
  if (policy.document.is_null()) return {.policy = policy.policy};
  return document_from_json(policy.document, built_in_strategies()).value();
}

std::string still_going_on(const SeedReport& report) {
  const SimulationOptions most;
  return "still goes on after " + format_duration(report.elapsed) + " and " +
         std::to_string(report.events) + " events of its simulation; allowed are " +
         format_duration(most.longest) + " and " + std::to_string(most.most_events) + " events";
}

}  // namespace

std::unique_ptr<Simulation> ScriptedTrial::simulation(std::vector<TimelineSpan>* spans) const {
  const auto set_up = [this, spans](World& world) {
    Shared& shared = world.make<Shared>(Shared{.setup = setup_});
    shared.document = document_of(setup_.policy);
    const ScriptedAgent& agent = setup_.agent;
    for (std::uint64_t i = 0; i < agent.jobs; ++i) {
      ScriptedJob& job = shared.jobs.emplace_back(setup_, world.seed(), i);
      job.spans = spans;
      world.start("job-" + std::to_string(i + 1),
                  [&world, &shared, &job](Process& self) { live(world, self, shared, job); },
                  {.after = agent.every * static_cast<std::int64_t>(i),
                   .restart_after = agent.restart_after,
                   .max_starts = most_starts});
    }
    world.finally("it is counted", [&world, &shared]() -> std::string {
      tally(world, shared);
      return {};
    });
  };
  SimulationOptions options{.faults = setup_.faults.chaos, .swarm = false, .audit = false};
  if (setup_.store == StoreKind::sqlite || setup_.store == StoreKind::file) {
    options.stack_bytes = stack_for_drivers;
    options.make_store = [this](std::string_view) {
      auto made = setup_.make_store(to_string(setup_.store));
      if (!made) throw std::runtime_error("a store was not made: " + made.error().detail);
      return std::move(made).value();
    };
  }
  return std::make_unique<Simulation>(set_up, std::move(options));
}

Sample ScriptedTrial::sample(std::uint64_t seed) {
  std::unique_ptr<Simulation> mine;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      mine = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!mine) mine = simulation(nullptr);
  const auto began = std::chrono::steady_clock::now();
  SeedReport report = mine->run(seed);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(mine));
  }
  if (report.violation && report.violation->invariant == "the world ends") {
    return {.endless = still_going_on(report)};
  }
  if (report.violation) {
    throw std::runtime_error(report.violation->invariant + ": " + report.violation->detail);
  }
  Sample sample{.figures = std::move(report.figures)};
  sample.success = sample.figures["finished"] >= 1.0;
  if (setup_.real_time) sample.figures["real_ms"] = took.count();
  if (setup_.agent.jobs == 1) {
    sample.figures.erase("finished");
    sample.facts["correct"] = sample.figures.extract("correct").mapped() >= 1.0;
  }
  return sample;
}

std::vector<TimelineSpan> ScriptedTrial::timeline(std::uint64_t seed) const {
  std::vector<TimelineSpan> spans;
  static_cast<void>(simulation(&spans)->run(seed));
  return spans;
}

}  // namespace triage::inline v0_1::lab::detail
