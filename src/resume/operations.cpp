// SPDX-License-Identifier: MIT
// Operator actions on a stored run: acquire a lease, append one record, release the lease.
#include "triage/operations.hpp"

#include "base/digest.hpp"
#include "base/token.hpp"
#include "effects/effects.hpp"
#include "journal/record_body.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/try.hpp"

#include <array>
#include <span>
#include <utility>

namespace triage::inline v0_1 {
namespace {

using namespace detail;
using Status = EffectState::Status;

const std::string_view tickets = own_space(OwnSpace::suspensions);
constexpr std::size_t longest_who = 256;

// A run held under a lease, with what is recorded of it.
class HeldRun {
 public:
  static Result<HeldRun> take(CheckpointStore& store, const RunId& run,
                              const OperatorOptions& options) {
    TRIAGE_TRYV(check_run_id(run));
    if (options.who.size() > longest_who) {
      return Error{Errc::invalid_argument, "who has " + std::to_string(options.who.size()) +
                                               " bytes; allowed are 0 to 256"};
    }
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
    held.now_ = (options.clock ? *options.clock : *real_clock()).wall_now();
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
    const std::array<Record, 1> records{journal.add(kind, now_, std::move(fields))};
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
};

std::string by(const std::string& who) { return who.empty() ? "" : " by " + who; }

Error not_waiting(const HeldRun& run, const std::string& why) {
  return {Errc::conflict, "run \"" + run.journal.run() + "\" " + why};
}

}  // namespace

Result<void> cancel_run(CheckpointStore& store, const RunId& run, const OperatorOptions& options) {
  TRIAGE_TRY(held, HeldRun::take(store, run, options));
  if (held.status != RunStatus::running && held.status != RunStatus::suspended) {
    return not_waiting(held, "has ended already: it is " + std::string(to_string(held.status)));
  }
  const std::string ticket = text_field(held.journal.suspended(), "ticket");
  Json fields{{"status", to_string(RunStatus::cancelled)},
              {"detail", "cancelled from outside" + by(options.who)},
              {"type", to_string(FailureType::unknown)}};
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
  if (known.status != Status::intended && !undoing) {
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
  if (field(fields, "waiting", false)) {
    return not_waiting(held, "waits for a time or a signal, not for a decision");
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
