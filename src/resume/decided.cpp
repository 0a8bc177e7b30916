// SPDX-License-Identifier: MIT
// Going on with a suspended run as it was, with the action that was decided on.
#include "journal/suspension_json.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// The failure that the run was suspended for, as its record tells it.
void restore_failure(const JournalReading& reading, FailureContext& context) {
  const Json body = newest_body(reading, RecordKind::failure_classified);
  if (body.is_null()) return;
  Classification& found = context.classification;
  found.type = parse_failure_type(text_field(body, "type")).value_or(FailureType::unknown);
  found.reason = text_field(body, "reason");
  found.confidence = number_field(body, "confidence", 0.0);
  if (body.contains("critical_step")) {
    found.critical_step = number_field<std::size_t>(body, "critical_step", 0);
  }
  if (body.contains("retry_after_ns")) {
    found.retry_after = Duration(number_field<Duration::rep>(body, "retry_after_ns", 0));
  }
  const auto evidence = body.find("evidence");
  if (evidence != body.end() && evidence->is_array()) {
    for (const Json& one : *evidence) {
      if (!one.is_object()) continue;
      Evidence entry{
          .source = text_field(one, "source"),
          .suggests =
              parse_failure_type(text_field(one, "suggests")).value_or(FailureType::unknown),
          .detail = text_field(one, "detail"),
          .confidence = number_field(one, "confidence", 0.0)};
      if (one.contains("step")) entry.step = number_field<std::size_t>(one, "step", 0);
      if (const auto facts = one.find("facts"); facts != one.end() && facts->is_array()) {
        for (const Json& fact : *facts) {
          const bool pair =
              fact.is_array() && fact.size() == 2 && fact[0].is_string() && fact[1].is_string();
          if (pair) entry.facts.emplace_back(fact[0], fact[1]);
        }
      }
      found.evidence.push_back(std::move(entry));
    }
  }
  context.text = text_field(body, "text");
  context.exception_type = text_field(body, "exception_type");
  for (std::string& note : names_field(body, "notes")) context.notes.push_back(std::move(note));
}

// The run as it was when it was put aside. Its terms it has already.
void restore(TakenOver& taken) {
  const Json suspended = newest_body(taken.reading, RecordKind::suspended);
  Continuation& opened = *taken.opened;
  RunBody& b = *opened.body;
  restore_context(opened.core, taken.reading, taken.journal, opened.task, b.context());
  opened.attempts = taken.journal.attempts();
  b.classified_attempt = taken.journal.attempts();
  b.restored_steps = number_field<std::size_t>(suspended, "restored_steps", 0);
}

}  // namespace

void restore_context(const AgentCore& core, const JournalReading& reading, const Journal& journal,
                     const Json& task, FailureContext& context) {
  restore_failure(reading, context);
  context.attempt_number = std::max(journal.attempts(), 1);
  context.history = journal.history();
  const bool undecided =
      !context.history.empty() && context.history.back().action == RecoveryAction::Kind::suspend;
  if (undecided) context.history.pop_back();
  context.trajectory = journal.trajectory();
  context.usage = journal.usage();
  context.elapsed = terms_of(reading).elapsed;
  context.task = task.is_string() ? task.get<std::string>() : show(task);
  context.run_id = journal.run();
  context.contract = core.contract;
  for (const ToolContract& tool : core.options.contract.tools) context.tools.push_back(tool.name);
}

Json resumed_fields(const OutsideDecision& decision) {
  Json fields{{"to", 0},
              {"reason", decision.reason},
              {"action", to_string(decision.action.kind)},
              {"decision", action_json(decision.action)}};
  if (!decision.who.empty()) fields["by"] = decision.who;
  if (!decision.child.is_null()) fields["child_decision"] = decision.child;
  return fields;
}

OutsideDecision outside_decision(const RunId& child, RecoveryAction action, std::string who) {
  const bool for_child =
      !child.empty() && (reruns(action.kind) || action.kind == RecoveryAction::Kind::fallback);
  if (!for_child) return {.action = std::move(action), .who = std::move(who)};
  Json told{{"run", child}, {"action", action_json(action)}};
  return {.action = RecoveryAction::resume(), .who = std::move(who), .child = std::move(told)};
}

Result<ContinuationPtr> carry_out(TakenOver taken, OutsideDecision decision) {
  const AgentCore& core = taken.opened->core;
  RunBody& b = *taken.opened->body;
  restore(taken);
  Journal& journal = taken.journal;
  const std::string ticket = text_field(journal.suspended(), "ticket");
  Json fields = resumed_fields(decision);
  put_terms(taken.terms(), fields);
  const Record record = journal.add(RecordKind::resumed, core.clock->wall_now(), std::move(fields));
  TRIAGE_TRYV(shielded([&] {
    return b.store->append(b.writer.lease, {&record, 1}, RunStatus::running);
  }));
  forget_ticket(*b.store, ticket);
  b.writer.queued = journal.last();
  b.writer.durable = journal.last();
  b.writer.status = RunStatus::running;
  b.decided = std::make_unique<RecoveryAction>(std::move(decision.action));
  b.extras().decided_by = std::move(decision.who);
  b.journal = std::move(journal);
  taken.opened->first = Input::decided;
  return std::move(taken.opened);
}

std::optional<std::string> unsafe_now(const TakenOver& taken, const RecoveryAction& action) {
  const Json suspended = newest_body(taken.reading, RecordKind::suspended);
  return unsafe_to_rerun(taken.opened->core, taken.journal.trajectory(),
                         number_field<std::size_t>(suspended, "restored_steps", 0), action.kind);
}

OutsideDecision pending_decision(const Journal& journal, std::string reason) {
  const Json& body = journal.decision();
  return {.action = action_from(body.at("decision")),
          .who = text_field(body, "by"),
          .reason = std::move(reason)};
}

Result<TakenOver> take_suspended(const AgentCore& core, std::shared_ptr<CheckpointStore> store,
                                 const RunId& id, Sequence suspended_at, const DueOptions& options,
                                 bool* gone) {
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  // Whether it is still there comes first: only then is it worth saying that it cannot be taken.
  auto taken = take_over(core, std::move(store), id, options.run, true);
  if (!taken) {
    const Errc code = taken.error().code;
    if (gone != nullptr) *gone = code == Errc::busy || code == Errc::not_found;
    return std::move(taken).error();
  }
  const RunInfo& info = taken.value().reading.info;
  const Journal& journal = taken.value().journal;
  if (journal.last() != suspended_at || info.status != RunStatus::suspended) {
    if (gone != nullptr) *gone = true;
    return Error{Errc::conflict, "run \"" + id + "\" went on without this decision and is " +
                                     std::string(to_string(info.status))};
  }
  if (!options.accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  TRIAGE_TRYV(check_task(journal));
  return taken;
}

}  // namespace triage::inline v0_1::detail
