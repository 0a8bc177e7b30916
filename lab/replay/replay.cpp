// SPDX-License-Identifier: MIT
#include "triage/lab/replay.hpp"

#include "contract/contract_return.hpp"
#include "journal/failure_json.hpp"
#include "journal/record_body.hpp"
#include "run/run_machine.hpp"
#include "triage/detail/saturate.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using triage::detail::Do;
using triage::detail::Input;
using triage::detail::RunMachine;
using triage::detail::text_field;

// Values for the machine's draw from [0, 1).
constexpr double least_random = 0.0;
constexpr double middle_random = 0.5;
const double most_random = std::nextafter(1.0, 0.0);

// A failure as the policy would see it, and the machine's other inputs.
struct Case {
  FailureContext context{};
  int attempts = 0;
  bool by_guard = false;
};

RecoveryAction ask(const FailurePolicy& policy, const FailureContext& context) {
  try {
    return policy.decide(context);
  } catch (const std::exception& e) {
    return RecoveryAction::escalate(std::string("the strategy threw: ") + e.what());
  } catch (...) {
    return RecoveryAction::escalate("the strategy threw something that is not a std::exception");
  }
}

// What the run's own state machine makes of the policy's answer.
RecoveryAction decide(Case& one, const FailurePolicy& policy, const Limits& limits, double random) {
  one.context.random = random;
  const triage::detail::Rules rules{.announces = true};
  triage::detail::Situation situation{.context = &one.context, .attempts = one.attempts};
  RunMachine machine(rules, limits, false, RunMachine::Begins::in_first_attempt);
  machine.meet(situation);
  static_cast<void>(machine.next(Input::failed));
  if (machine.next(Input::classified).what == Do::ask_policy) {
    situation.action = ask(policy, one.context);
    static_cast<void>(machine.next(Input::answered));
  }
  return std::move(situation.action);
}

bool goes_on(RecoveryAction::Kind kind) noexcept { return triage::detail::reruns(kind); }

// Whether the run ended because the decided action could not be carried out.
bool failed_to(const Json& taken, RecoveryAction::Kind kind) {
  return text_field(taken, "message")
      .starts_with(std::string(to_string(kind)) + " is not possible: ");
}

// Whether the run ended because of a deadline, which the journal does not record.
bool was_too_late(const Json& taken) {
  const std::string message = text_field(taken, "message");
  return message == "the deadline has passed" ||
         message.starts_with("the next attempt would begin in ");
}

Comparison compare(const ReplayedDecision& decision, const Json& taken) {
  if (!decision.was) return Comparison::unknown;
  if (*decision.was != decision.now.kind) {
    if (failed_to(taken, decision.now.kind)) return Comparison::same;
    if (was_too_late(taken)) return Comparison::not_asked;
    const bool went_on = goes_on(*decision.was);
    if (went_on == goes_on(decision.now.kind)) return Comparison::other_action;
    return went_on ? Comparison::stops : Comparison::goes_on;
  }
  if (decision.waited < decision.least_wait || decision.waited > decision.most_wait) {
    return Comparison::other_wait;
  }
  // The text has everything else: hint, message, subgoal and target.
  RecoveryAction now = decision.now;
  now.delay = decision.waited;
  return describe(now) == text_field(taken, "text") ? Comparison::same : Comparison::other_words;
}

void add_wait(Duration& sum, Duration wait) {
  sum = Duration(triage::detail::saturating_add(sum.count(), wait.count()));
}

// Goes through a journal failure by failure.
class Replayer {
 public:
  Replayer(const JournalReading& reading, const FailurePolicy& policy, const ReplayOptions& options)
      : reading_(reading), policy_(policy), options_(options), journal_(reading.info.id) {
    if (!options.contract.empty()) {
      contract_ = std::make_shared<const AgentContract>(options.contract);
    }
    ends_in_doubt_ = text_field(triage::detail::newest_body(reading, RecordKind::stopped),
                                "error") == to_string(Errc::in_doubt);
  }

  Result<PolicyReplay> run();

 private:
  void meet_failure(const Record& record, const Json& body);
  void meet_action(const Json& body);
  void sum_up();
  [[nodiscard]] Case case_of(const Record& record, const Json& body) const;

  const JournalReading& reading_;
  const FailurePolicy& policy_;
  const ReplayOptions& options_;
  Journal journal_;
  std::shared_ptr<const AgentContract> contract_{};
  bool ends_in_doubt_ = false;
  bool open_ = false;  // The newest failure has no action yet.
  PolicyReplay replay_{};
  std::vector<Usage> usage_{};  // The run's usage at each failure.
};

Case Replayer::case_of(const Record& record, const Json& body) const {
  Case one;
  FailureContext& context = one.context;
  triage::detail::read_failure(body, context);
  context.attempt_number = std::max(journal_.attempts(), 1);
  context.history = journal_.history();
  context.trajectory = journal_.trajectory();
  context.usage = journal_.usage();
  context.run_id = journal_.run();
  if (!reading_.records.empty()) context.elapsed = record.time() - reading_.records.front().time();
  if (const auto task = journal_.start().find("task"); task != journal_.start().end()) {
    context.task = task->is_string() ? task->get<std::string>() : show(*task);
  }
  if (contract_) {
    context.contract = contract_;
    for (const ToolContract& tool : contract_->tools) context.tools.push_back(tool.name);
    auto open = triage::detail::open_subgoals(*contract_, context.trajectory);
    if (!open.empty()) context.incomplete_subgoal = std::move(open.front());
  }
  one.attempts = journal_.attempts() - journal_.suspended_attempts();
  one.by_guard = context.classification.reason == "needs_approval";
  return one;
}

void Replayer::meet_failure(const Record& record, const Json& body) {
  Case one = case_of(record, body);
  const FailureContext& context = one.context;
  ReplayedDecision decision{.failed_at = record.seq(),
                            .attempt = context.attempt_number,
                            .type = context.type(),
                            .reason = context.classification.reason};
  std::vector<Duration> waits;
  for (const double random : {least_random, most_random, middle_random}) {
    decision.now = decide(one, policy_, options_.limits, random);
    waits.push_back(decision.now.delay);
  }
  const auto [least, most] = std::minmax_element(waits.begin(), waits.end());
  decision.least_wait = *least;
  decision.most_wait = *most;
  if (one.by_guard) decision.comparison = Comparison::not_asked;
  replay_.decisions.push_back(std::move(decision));
  usage_.push_back(journal_.usage());
  open_ = true;
}

void Replayer::meet_action(const Json& body) {
  if (!std::exchange(open_, false)) return;  // Decided later, by a person.
  ReplayedDecision& decision = replay_.decisions.back();
  decision.was = parse_recovery_kind(text_field(body, "action"));
  decision.was_text = text_field(body, "text");
  decision.waited = Duration(triage::detail::field<Duration::rep>(body, "delay_ns", 0));
  if (decision.comparison == Comparison::not_asked) return;
  decision.comparison = compare(decision, body);
}

// Summarises the decisions: the first difference, and what would have been saved.
void Replayer::sum_up() {
  std::vector<ReplayedDecision>& all = replay_.decisions;
  // If an effect is in doubt, no policy is asked and the run ends.
  if (ends_in_doubt_ && !all.empty()) all.back().comparison = Comparison::not_asked;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ReplayedDecision& one = all[i];
    const bool compared =
        one.comparison != Comparison::not_asked && one.comparison != Comparison::unknown;
    if (compared && one.comparison != Comparison::same && !replay_.first_difference) {
      replay_.first_difference = i;
    }
    if (one.comparison == Comparison::stops && !replay_.stops_at) {
      replay_.stops_at = i;
      replay_.attempts_spared = journal_.attempts() - one.attempt;
      const Usage& end = journal_.usage();
      replay_.spared = {.input_tokens = end.input_tokens - usage_[i].input_tokens,
                        .output_tokens = end.output_tokens - usage_[i].output_tokens,
                        .cost_usd = end.cost_usd - usage_[i].cost_usd,
                        .calls = end.calls - usage_[i].calls};
      replay_.result_lost = !journal_.finished().is_null();
    }
    if (replay_.stops_at) {
      add_wait(replay_.wait_spared, one.waited);
    } else if (one.was && goes_on(*one.was) && goes_on(one.now.kind)) {
      add_wait(replay_.waited, one.waited);
      add_wait(replay_.least_wait, one.least_wait);
      add_wait(replay_.most_wait, one.most_wait);
    }
  }
}

Result<PolicyReplay> Replayer::run() {
  replay_.run = reading_.info.id;
  for (const Record& record : reading_.records) {
    const bool failed = record.kind() == RecordKind::failure_classified;
    if (failed || record.kind() == RecordKind::action_taken) {
      const auto body = record.body();
      if (body && body.value().is_object()) {
        if (failed) {
          meet_failure(record, body.value());
        } else {
          meet_action(body.value());
        }
      }
    }
    journal_.apply(record);
  }
  if (!journal_.started()) {
    return Error{Errc::corrupt, "the first record of run \"" + reading_.info.id +
                                    "\" is damaged or missing, so it cannot be replayed"};
  }
  sum_up();
  return outcome::success(std::move(replay_));
}

}  // namespace

const std::array<std::string_view, 5>& replay_assumptions() noexcept {
  static constexpr std::array<std::string_view, 5> all{
      "Every failure comes as it came, with the history that it really had: behind the first "
      "difference nobody knows what the agent would have done.",
      "The run's random numbers are not stored: waits are given for the smallest and the largest.",
      "Limits and the contract are those given here; deadlines, hooks and gates are left out.",
      "Whether a rollback of the other policy would have found its target is not looked up.",
      "The time that the run had taken is the calendar time between its records."};
  return all;
}

Result<PolicyReplay> replay_policy(const JournalReading& reading, const FailurePolicy& policy,
                                   const ReplayOptions& options) {
  TRIAGE_TRYV(check_policy(policy));
  TRIAGE_TRYV(check_limits(options.limits));
  TRIAGE_TRYV(check_contract(options.contract));
  return Replayer(reading, policy, options).run();
}

}  // namespace triage::inline v0_1::lab
