// SPDX-License-Identifier: MIT
#include "lab/scripted/scripted_run.hpp"

#include "triage/detail/try.hpp"
#include "triage/lab/chaos.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

// Salts that make the draws independent of each other and of policies.
constexpr std::uint64_t draw_share = 11;
constexpr std::uint64_t draw_trouble_type = 12;
constexpr std::uint64_t draw_step = 13;
constexpr std::uint64_t draw_text = 14;
constexpr std::uint64_t draw_recovery = 15;

constexpr std::uint64_t bytes_a_token = 4;  // Of a hint's text; a rule of thumb.
constexpr double rounding = 1e-9;  // Costs are added, so the last digits of a sum may be off.

double odds_of(const HintOdds& odds, const Recovery& recovery, FailureType real) {
  if (recovery.hint.empty()) return odds.no_hint;
  return recovery.failure_type == real ? odds.right_hint : odds.wrong_hint;
}

}  // namespace

ScriptedJob::ScriptedJob(const ScriptedSetup& of, std::uint64_t by, std::uint64_t job)
    : setup(of), seed(mixed(by, job)), number(job) {
  for (std::size_t i = 0; i < setup.faults.troubles.size(); ++i) {
    const Trouble& trouble = setup.faults.troubles[i];
    if (unit_interval(mixed(seed, i, draw_share)) >= trouble.share) continue;
    MetTrouble met{.trouble = &trouble};
    met.type = trouble.types[mixed(seed, i, draw_trouble_type) % trouble.types.size()];
    met.step = trouble.step > 0 ? trouble.step : 1 + mixed(seed, i, draw_step) % setup.agent.steps;
    met.failure = drawn_failure(met.type, mixed(seed, i, draw_text));
    troubles.push_back(std::move(met));
  }
}

Result<std::uint64_t> ScriptedAttempt::go() {
  TimelineSpan span{.job = job_.number, .attempt = ++job_.attempts, .from = world_.elapsed()};
  // Also when the process is killed, which is an exception.
  struct Noted {
    ScriptedAttempt& self;
    TimelineSpan& span;
    ~Noted() {
      if (self.job_.spans == nullptr) return;
      span.to = self.world_.elapsed();
      span.end = self.end_;
      self.job_.spans->push_back(span);
    }
  } noted{*this, span};
  get_past_troubles();
  auto result = walk();
  if (result) end_ = "done";
  if (!result && end_ == "killed" && self_.alive()) {
    end_ = job_.broke ? "budget spent" : "injected";
  }
  return result;
}

void ScriptedAttempt::get_past_troubles() {
  const Recovery* recovery = attempt_.recovery();
  if (recovery == nullptr) return;
  for (std::size_t i = 0; i < job_.troubles.size(); ++i) {
    MetTrouble& met = job_.troubles[i];
    if (met.over || !met.noticed || met.trouble->lasts) continue;
    const HintOdds& odds = met.trouble->recovers.value_or(job_.setup.agent.recovers);
    const auto attempt = static_cast<std::uint64_t>(job_.attempts);
    const double draw = unit_interval(mixed(job_.seed, i, attempt, draw_recovery));
    met.over = draw < odds_of(odds, *recovery, met.type);
  }
}

Result<std::uint64_t> ScriptedAttempt::walk() {
  const State state = attempt_.state();
  const auto kept = [&](const char* key) { return state.value(key, std::uint64_t{0}); };
  done_ = kept("done");
  right_ = kept("right");
  spoilt_ = state.value("spoilt", std::vector<Spoilt>());
  while (done_ < job_.setup.agent.steps) {
    if (MetTrouble* met = noticed_now()) return fail_by(*met);
    const std::size_t spoilt_before = spoilt_.size();
    TRIAGE_TRY(value, make_step());
    right_ += value;
    ++done_;
    Json patch = Json::object();
    patch["done"] = done_;
    patch["right"] = right_;
    if (spoilt_.size() > spoilt_before) patch["spoilt"] = spoilt_;
    attempt_.update_state(std::move(patch));
  }
  return outcome::success(right_);
}

// The trouble whose fault is noticed before the next step, if any; of several, the first.
MetTrouble* ScriptedAttempt::noticed_now() {
  for (const auto& [step, index] : spoilt_) {
    MetTrouble& met = job_.troubles[index];
    if (done_ + 1 >= step + met.trouble->noticed_after) return &met;
  }
  return nullptr;
}

// The next step is wrong from now on. An outage at several steps is noticed by its first.
void ScriptedAttempt::spoil(const MetTrouble& met) {
  const auto index = static_cast<std::uint64_t>(&met - job_.troubles.data());
  const auto by_it = [index](const Spoilt& one) { return one.second == index; };
  if (std::none_of(spoilt_.begin(), spoilt_.end(), by_it)) spoilt_.emplace_back(done_ + 1, index);
}

// The trouble at the next step, if any.
MetTrouble* ScriptedAttempt::trouble_here() {
  for (MetTrouble& met : job_.troubles) {
    const Trouble& trouble = *met.trouble;
    if (trouble.lasts) {
      const Duration now = world_.elapsed();
      if (now >= trouble.from && now - trouble.from < *trouble.lasts) return &met;
    } else if (!met.over && met.step == done_ + 1) {
      return &met;
    }
  }
  return nullptr;
}

Error ScriptedAttempt::fail_by(MetTrouble& met) {
  met.noticed = true;
  end_ = to_string(met.type);
  return attempt_.fail(met.failure);
}

Result<std::uint64_t> ScriptedAttempt::make_step() {
  const ScriptedAgent& agent = job_.setup.agent;
  const std::string tool = agent.tools.empty() ? "work" : agent.tools[done_ % agent.tools.size()];
  MetTrouble* met = trouble_here();
  const std::uint64_t times = 1 + (met != nullptr ? met->trouble->repeats : 0);
  for (std::uint64_t i = 1; i < times; ++i) {
    TRIAGE_TRYV(pay(1));
    TRIAGE_TRYV(act(tool));
    record(tool, nullptr);
  }
  TRIAGE_TRYV(pay(1));
  TRIAGE_TRY(value, act(tool));
  record(tool, met);
  if (met == nullptr) {
    if (done_ + 1 == agent.effect_step) {
      TRIAGE_TRYV(settle_effect());
    }
    return outcome::success(value);
  }
  if (met->trouble->noticed_after == 0) return fail_by(*met);
  spoil(*met);
  return outcome::success(std::uint64_t{0});
}

// Reserves the tokens of steps in advance, so that none beyond the budget begins.
Result<void> ScriptedAttempt::pay(std::uint64_t times) {
  const ScriptedAgent& agent = job_.setup.agent;
  const Recovery* recovery = attempt_.recovery();
  const std::uint64_t hint = recovery == nullptr ? 0 : recovery->hint.size() / bytes_a_token;
  Usage usage{.input_tokens = times * (agent.input_tokens + hint),
              .output_tokens = times * agent.output_tokens};
  usage.cost_usd = (static_cast<double>(usage.input_tokens) * agent.input_price +
                    static_cast<double>(usage.output_tokens) * agent.output_price) /
                   1e6;
  const Limits& limits = job_.setup.limits;
  job_.broke =
      (limits.max_tokens > 0 && job_.tokens + usage.tokens() > limits.max_tokens) ||
      (limits.max_cost_usd > 0 && job_.usd + usage.cost_usd > limits.max_cost_usd * (1 + rounding));
  if (job_.broke) {
    over_.request_stop();
    return attempt_.fail({.text = "the budget of this job is spent"});
  }
  auto reserved = attempt_.reserve(usage);  // From the policy document's budget, if any.
  if (!reserved) return std::move(reserved).error();
  reserved.value().settle(usage);
  job_.tokens += usage.tokens();
  job_.usd += usage.cost_usd;
  attempt_.record_usage(usage);
  return outcome::success();
}

Result<std::uint64_t> ScriptedAttempt::act(const std::string& tool) {
  ++job_.steps;
  self_.work(job_.setup.agent.step_time);
  return self_.chaos().call({.name = "step", .tool = tool}, attempt_,
                            [] { return std::uint64_t{1}; });
}

void ScriptedAttempt::record(const std::string& tool, const MetTrouble* met) {
  Step step{.action = "step " + std::to_string(done_ + 1), .tool_called = tool};
  step.tool_input = Json{{"step", done_ + 1}};
  if (met != nullptr && met->trouble->noticed_after > 0) {
    step.tool_output = met->failure.text;  // Visible to whoever checks.
  } else if (met != nullptr) {
    const Failure& failure = met->failure;
    step.error = failure.text;
    step.http_status = failure.http_status;
    step.json_rpc_code = failure.json_rpc_code;
    step.grpc_status = failure.grpc_status;
    if (!failure.exception_type.empty()) step.exception_type = failure.exception_type;
  } else {
    step.tool_output = Json{{"ok", true}};
  }
  attempt_.record_step(std::move(step));
}

Result<void> ScriptedAttempt::settle_effect() {
  const EffectStyle style = job_.setup.agent.effect;
  if (style == EffectStyle::none) return outcome::success();
  const auto perform = [this]() -> std::uint64_t {
    auto asked = self_.chaos().call("effect", attempt_, [] { return 1; });
    if (!asked) throw EffectNotDone(asked.error().detail);
    if (!self_.alive()) throw ProcessKilled{};
    ++job_.effects;
    // The effect has happened; a process that dies here does not know it.
    static_cast<void>(self_.chaos().call("receipt", attempt_, [] { return 1; }));
    if (!self_.alive()) throw ProcessKilled{};
    return job_.effects;
  };
  if (style == EffectStyle::bare) {
    try {
      perform();
    } catch (const EffectNotDone& refused) {
      return attempt_.fail({.text = refused.what()});
    }
    return outcome::success();
  }
  EffectOptions options;
  if (style == EffectStyle::reconciled) {
    options.reconcile = [this] {
      return job_.effects > 0 ? Reconciled::done(job_.effects) : Reconciled::not_done();
    };
  }
  auto done = attempt_.try_effect("pay", perform, options);
  if (!done) return std::move(done).error();
  return outcome::success();
}

}  // namespace triage::inline v0_1::lab::detail
