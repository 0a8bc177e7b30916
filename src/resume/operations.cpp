// SPDX-License-Identifier: MIT
// Operator actions on a stored run: acquire a lease, append one record, release the lease.
#include "triage/operations.hpp"

#include "base/digest.hpp"
#include "base/token.hpp"
#include "effects/effects.hpp"
#include "journal/action_json.hpp"
#include "journal/record_body.hpp"
#include "journal/suspension_fields.hpp"
#include "resume/continuation.hpp"
#include "resume/decision_checks.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

using namespace detail;
using Status = EffectState::Status;

const std::string_view tickets = own_space(OwnSpace::suspensions);

Clock& clock_of(const OperatorOptions& options) {
  return options.clock ? *options.clock : *real_clock();
}

// A run held under a lease, with what is recorded of it.
class HeldRun {
 public:
  static Result<HeldRun> take(CheckpointStore& store, const RunId& run,
                              const OperatorOptions& options) {
    TRIAGE_TRYV(check_run_id(run));
    TRIAGE_TRYV(check_who(options.who));
    HeldRun held(store);
    store.queue().retry_releases();
    TRIAGE_TRY(lease, run_catching([&] { return store.acquire(run); }));
    held.lease_ = std::move(lease);
    TRIAGE_TRY(reading, run_catching([&] { return store.read(run, {}); }));
    TRIAGE_TRY(journal, Journal::fold(reading));
    if (journal.broken_at()) {
      return Error{Errc::corrupt, "run \"" + run + "\" is damaged from record " +
                                      std::to_string(*journal.broken_at()) +
                                      " on: resume it, or branch off before that"};
    }
    held.status = reading.info.status;
    held.journal = std::move(journal);
    held.now_ = clock_of(options).wall_now();
    return outcome::success(std::move(held));
  }
  HeldRun(HeldRun&& other) noexcept
      : status(other.status),
        journal(std::move(other.journal)),
        store_(std::exchange(other.store_, nullptr)),
        lease_(std::move(other.lease_)),
        now_(other.now_) {}
  HeldRun& operator=(HeldRun&&) = delete;
  ~HeldRun() {
    if (store_ != nullptr && lease_) store_->queue().release(*std::move(lease_));
  }

  // Durable on return.
  Result<void> append(RecordKind kind, Json fields, RunStatus after) {
    note(kind, std::move(fields));
    return append(after);
  }
  // Stored together by the next append().
  void note(RecordKind kind, Json fields) {
    noted_.push_back(journal.add(kind, now_, std::move(fields)));
  }
  Result<void> append(RunStatus after) {
    const std::vector<Record> records = std::exchange(noted_, {});
    return run_catching([&] { return store_->append(*lease_, records, after); });
  }
  [[nodiscard]] CheckpointStore& store() const noexcept { return *store_; }

  RunStatus status = RunStatus::running;
  Journal journal{};

 private:
  explicit HeldRun(CheckpointStore& store) : store_(&store) {}

  CheckpointStore* store_;
  std::optional<Lease> lease_{};
  WallTime now_{};
  std::vector<Record> noted_{};
};

std::string by(const std::string& who) { return who.empty() ? "" : " by " + who; }

Error not_waiting(const HeldRun& run, const std::string& why) {
  return {Errc::conflict, "run \"" + run.journal.run() + "\" " + why};
}

// Only the program has the functions that undo effects.
bool may_owe_undoing(const Journal& journal) {
  const auto& effects = journal.effects();
  return journal.compensating_after() || journal.lost_intent() != 0 ||
         std::any_of(effects.begin(), effects.end(),
                     [](const auto& known) { return known.second.compensation.has_value(); });
}

// An effect that somebody settled without its result: it may still be given.
Result<bool> lacks_result(const HeldRun& held, const EffectState& known) {
  if (known.status != Status::completed || !known.result || !known.result->is_null()) {
    return outcome::success(false);
  }
  const Sequence at = known.known_at;
  TRIAGE_TRY(reading, run_catching([&] {
               return held.store().read(held.journal.run(), {at, at});
             }));
  const Json body = newest_body(reading, RecordKind::effect_completed);
  return outcome::success(field(body, "reconciled", false));
}

// What the program would record.
Result<void> abort_now(HeldRun& held, const RecoveryAction& action, const std::string& who) {
  HistoryEntry failed;
  if (!held.journal.history().empty()) failed = held.journal.history().back();
  const std::string type(to_string(failed.type));
  held.note(RecordKind::resumed, resumed_fields(decided({}, action, who)));
  Json taken{{"action", to_string(action.kind)},
             {"type", type},
             {"reason", failed.reason},
             {"text", describe(action)},
             {"message", action.message}};
  if (!who.empty()) taken["by"] = who;
  held.note(RecordKind::action_taken, std::move(taken));
  held.note(
      RecordKind::stopped,
      Json{{"status", to_string(RunStatus::aborted)},
           {"detail", action.message.empty() ? "aborted by a decision" + by(who) : action.message},
           {"error", to_string(Errc::aborted)},
           {"type", type}});
  return held.append(RunStatus::aborted);
}

// The run stays suspended, but is due: the program carries the decision out as it carries out any
// suspension's action.
Result<void> leave_to_program(HeldRun& held, const RecoveryAction& action, const std::string& who) {
  Json fields = held.journal.suspended();
  erase_waits(fields);
  fields.erase("ticket");
  fields.erase("waiting");
  fields["then"] = action_json(action);
  fields["decided_by"] = who;
  fields["until_ms"] = 0;  // Whatever the program's clock says.
  return held.append(RecordKind::suspended, std::move(fields), RunStatus::suspended);
}

}  // namespace

Result<RunId> record_decision(CheckpointStore& store, std::string_view token,
                              const RecoveryAction& action, const OperatorOptions& options) {
  TRIAGE_TRYV(check_decision(action, options.who));
  const std::string hash = digest(token);
  TRIAGE_TRY(named, read_ticket(store, hash));
  const RunId& run = named.ticket.run;
  TRIAGE_TRYV(check_allowed(action.kind, named.ticket.allowed_actions));
  TRIAGE_TRYV(check_token_time(store, hash, named, clock_of(options)));
  auto taken = HeldRun::take(store, run, options);
  TRIAGE_TRY(stored, read_ticket(store, hash));  // Somebody may have decided meanwhile.
  if (!taken) {
    const bool used = taken.error().code == Errc::busy && stored.ticket.state != "waiting";
    return used ? unknown_token() : std::move(taken).error();
  }
  HeldRun& held = taken.value();
  if (held.status != RunStatus::suspended || !held.journal.suspended().is_object()) {
    return not_waiting(
        held, "went on without this decision and is " + std::string(to_string(held.status)));
  }
  const std::string expected = text_field(held.journal.suspended(), "ticket");
  const bool fits =
      expected.empty() ? held.journal.last() == stored.ticket.suspended_at : expected == hash;
  if (!fits) return unknown_token();
  const Resumption decision = decided(awaited_child(held.journal.suspended()), action, options.who);
  TRIAGE_TRYV(check_fits(held.journal, *decision.action));
  Clock& clock = clock_of(options);
  TRIAGE_TRYV(check_in_time(*decision.action, time_field(held.journal.suspended(), "deadline_ms"),
                            clock.wall_now()));
  if (!decision.child.is_null()) {
    TRIAGE_TRYV(check_for_child(store, decision.child["run"], action, clock));
  }
  TRIAGE_TRYV(claim_ticket(store, hash, stored, options.who));
  const bool at_once = action.kind == RecoveryAction::Kind::abort && !may_owe_undoing(held.journal);
  TRIAGE_TRYV(at_once ? abort_now(held, action, options.who)
                      : leave_to_program(held, action, options.who));
  forget_ticket(store, hash);
  return outcome::success(run);
}

Result<void> cancel_run(CheckpointStore& store, const RunId& run, const OperatorOptions& options) {
  TRIAGE_TRY(held, HeldRun::take(store, run, options));
  if (held.status != RunStatus::running && held.status != RunStatus::suspended) {
    return not_waiting(held, "has ended already: it is " + std::string(to_string(held.status)));
  }
  const std::string ticket = text_field(held.journal.suspended(), "ticket");
  Json fields{{"status", to_string(RunStatus::cancelled)},
              {"detail", "cancelled from outside" + by(options.who)},
              {"operator", true},
              {"type", to_string(FailureType::unknown)}};
  if (const auto owed = held.journal.compensating_after()) fields["compensates_after"] = *owed;
  TRIAGE_TRYV(held.append(RecordKind::stopped, std::move(fields), RunStatus::cancelled));
  forget_ticket(store, ticket);
  return outcome::success();
}

Result<void> settle_effect(CheckpointStore& store, const RunId& run, std::string_view key,
                           const Settlement& found, const OperatorOptions& options) {
  if (!found.happened && !found.result.is_null()) {
    return Error{Errc::invalid_argument, "what did not happen has no result"};
  }
  TRIAGE_TRYV(check_json(found.result, "the result of " + effect_name(key)));
  TRIAGE_TRY(held, HeldRun::take(store, run, options));
  const EffectState known = held.journal.effect(key);
  if (known.status == Status::absent) {
    return Error{Errc::not_found, "run \"" + run + "\" has no " + effect_name(key)};
  }
  const bool undoing = known.status == Status::compensating;
  TRIAGE_TRY(unfinished, lacks_result(held, known));
  const bool adds = unfinished && found.happened && !found.result.is_null();
  if (known.status != Status::intended && !undoing && !adds) {
    return not_waiting(held, "knows what became of " + effect_name(key));
  }
  if (known.lost && found.happened) {
    return Error{Errc::unsupported, "the record of " + effect_name(key) +
                                        " was lost, and with it what it was called with"};
  }
  if (undoing && !found.result.is_null()) {
    return Error{Errc::invalid_argument, "the undoing of an effect has no result"};
  }
  RecordKind kind = RecordKind::effect_withdrawn;
  Json fields = Json::object();
  if (undoing) {
    kind = found.happened ? RecordKind::compensation_completed : RecordKind::compensation_withdrawn;
  } else if (found.happened) {
    kind = RecordKind::effect_completed;
    fields = described(known);
    fields["result"] = found.result;
  }
  if (!found.happened) fields["cause"] = "settled" + by(options.who) + ": it did not happen";
  fields["key"] = std::string(key);
  fields["generation"] = known.generation;
  fields["reconciled"] = true;
  fields["operator"] = true;
  if (!options.who.empty()) fields["by"] = options.who;
  return held.append(kind, std::move(fields), held.status);
}

Result<RunId> run_of_token(CheckpointStore& store, std::string_view token) {
  TRIAGE_TRY(kept, run_catching([&] { return store.get(tickets, digest(token)); }));
  if (!kept) return unknown_token();
  TRIAGE_TRY(ticket, decode_ticket(kept->bytes));
  return outcome::success(std::move(ticket.run));
}

// The record with the new token's hash is written first: if storing the key then fails, the run is
// one whose token was lost, as before.
Result<std::string> reissue_token(CheckpointStore& store, const RunId& run,
                                  const OperatorOptions& options) {
  TRIAGE_TRY(held, HeldRun::take(store, run, options));
  Json fields = held.journal.suspended();
  if (held.status != RunStatus::suspended || !fields.is_object()) {
    return not_waiting(held, "waits for no decision: it is " + std::string(to_string(held.status)));
  }
  if (const RunId child = awaited_child(fields); !child.empty()) {
    return not_waiting(held, "waits for nested run \"" + child + "\", whose token decides");
  }
  if (field(fields, "waiting", false)) {
    return not_waiting(held, "waits for a time or a signal, not for a decision");
  }
  if (fields.contains("decided_by")) {
    return not_waiting(held, "is decided; its program carries the decision out");
  }
  const std::string before = text_field(fields, "ticket");
  Ticket ticket{.run = run,
                .agent = text_field(held.journal.start(), "agent"),
                .allowed_actions = names_field(fields, "allowed_actions"),
                .until = time_field(fields, "until_ms")};
  if (!before.empty()) {
    TRIAGE_TRY(kept, run_catching([&] { return store.get(tickets, before); }));
    if (kept) {
      TRIAGE_TRY(old, decode_ticket(kept->bytes));
      ticket.expires = old.expires;
    }
  }
  const std::string token = make_token();
  const std::string hash = digest(token);
  fields["ticket"] = hash;
  if (!options.who.empty()) fields["reissued_by"] = options.who;
  TRIAGE_TRYV(held.append(RecordKind::suspended, std::move(fields), RunStatus::suspended));
  ticket.suspended_at = held.journal.last();
  TRIAGE_TRY(stored, run_catching([&] { return store.put_if(tickets, hash, 0, encode(ticket)); }));
  static_cast<void>(stored);
  forget_ticket(store, before);
  return outcome::success(token);
}

}  // namespace triage::inline v0_1
