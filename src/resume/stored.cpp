// SPDX-License-Identifier: MIT
// Takes over a stored run: acquires its lease, reads its journal, checks whether it may continue.
#include "resume/continuation.hpp"
#include "storage/half_import.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {

Result<void> check_fingerprint(const AgentCore& core, const Journal& journal) {
  const Json& start = journal.start();
  const Fingerprint& now = core.fingerprint;
  const std::string whole = text_field(start, "fingerprint");
  if (whole == now.whole || whole == now.older_whole) return outcome::success();
  const std::string agent = text_field(start, "agent");
  const std::string version = text_field(start, "version");
  std::string changes;
  const auto compare = [&changes](bool same, const std::string& what) {
    if (!same) changes += (changes.empty() ? "" : ", ") + what;
  };
  compare(agent == core.options.name,
          "the name (\"" + agent + "\" then, \"" + core.options.name + "\" now)");
  compare(version == core.options.version,
          "the version (\"" + version + "\" then, \"" + core.options.version + "\" now)");
  if (const auto parts = start.find("parts"); parts != start.end()) {
    const std::string contract = text_field(*parts, "contract");
    compare(text_field(*parts, "policy") == now.policy, "the policy's strategies");
    compare(contract == now.contract || contract == now.older_contract, "the contract");
    if (changes.empty()) return outcome::success();  // Only numbers of the policy.
  } else if (changes.empty()) {
    changes = "the policy or the contract";
  }
  return Error{Errc::conflict, "run \"" + journal.run() +
                                   "\" was recorded under another fingerprint; what differs: " +
                                   changes + ". Set accept_changed to go on"};
}

Result<void> check_task(const AgentCore& core, const Journal& journal) {
  const Json& start = journal.start();
  if (const auto task = start.find("task"); task != start.end()) {
    return core.task_fits(*task);
  }
  return Error{Errc::unsupported, "run \"" + journal.run() +
                                      "\" was recorded without its task, because the task's type "
                                      "had no conversion to JSON"};
}

// Whether a process that died was about to undo an effect that was intended before this position.
static bool will_claim_undone(const Journal& journal, Sequence seq) {
  using Status = EffectState::Status;
  const auto& undoing = journal.compensating_after();
  if (!undoing) return false;
  const auto& effects = journal.effects();
  return std::any_of(effects.begin(), effects.end(), [&](const auto& known) {
    const EffectState& effect = known.second;
    const bool in_place = effect.status == Status::intended || effect.status == Status::completed ||
                          effect.status == Status::compensating;
    return in_place && effect.compensation && effect.intended_at > *undoing &&
           effect.intended_at < seq;
  });
}

Result<void> check_claims(const Journal& journal, std::size_t position) {
  const Sequence seq = journal.positions()[position].seq;
  if (!journal.claims_undone(position) && !will_claim_undone(journal, seq)) {
    return outcome::success();
  }
  return Error{Errc::conflict,
               "checkpoint " + to_string(CheckpointId{journal.run(), seq}) +
                   " is behind an effect that has been undone since, so its state claims what is "
                   "not so any more; choose one before that effect"};
}

std::shared_ptr<CheckpointStore> store_of(const AgentCore& core, const RunOptions& options) {
  return options.store ? options.store : core.options.store;
}

Result<ContinuationPtr> take_over(const AgentCore& core, std::shared_ptr<CheckpointStore> store,
                                  const RunId& id, const RunOptions& options, bool accept_changed,
                                  std::optional<Lease> claimed) {
  ContinuationPtr run(new Continuation(core));
  RunData& data = *run->data;
  if (claimed) {
    data.writer.lease = *std::move(claimed);
  } else {
    store->queue().retry_releases();
    TRIAGE_TRY(lease, run_catching([&] { return store->acquire(id); }));
    data.writer.lease = std::move(lease);
  }
  data.store = std::move(store);
  data.started = true;
  TRIAGE_TRY(reading, run_catching([&] { return data.store->read_newest(id); }));
  TRIAGE_TRYV(run_catching([&] { return check_imported(*data.store, reading.info); }));
  TRIAGE_TRY(journal, Journal::fold(reading));
  if (!accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  const Terms terms = terms_of(reading);
  RunOptions own{.run_id = id, .limits = terms.limits, .store = data.store};
  if (terms.deadline) own.deadline = time_point(*core.clock, *terms.deadline);
  run->set_terms(std::move(own), options, terms.elapsed);
  data.journal = std::move(journal);
  run->task = data.journal.start().value("task", Json());
  run->reading = std::move(reading);
  run->attempts = data.journal.attempts();
  data.write_as(core.options);
  data.writer.queued = data.journal.last();
  data.writer.durable = data.journal.last();
  data.task = run->task;
  if (const auto broken = data.journal.broken_at()) {
    data.damaged_at = *broken;
    data.context().notes.push_back(
        "record " + std::to_string(*broken) +
        " is damaged or missing; going on from what is intact before it");
  }
  return outcome::success(std::move(run));
}

// 0: none can be read. An operator may have recorded something behind it; and the fold may not have
// reached it, because of damage before it.
static Sequence newest_suspended(const JournalReading& reading) {
  const auto newest =
      std::find_if(reading.records.rbegin(), reading.records.rend(),
                   [](const Record& record) { return record.kind() == RecordKind::suspended; });
  return newest == reading.records.rend() ? 0 : newest->seq();
}

Result<ContinuationPtr> take_suspended(const AgentCore& core,
                                       std::shared_ptr<CheckpointStore> store, const RunId& id,
                                       Sequence suspended_at, const DueOptions& options,
                                       bool* gone) {
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  // Skips the fingerprint check for now: a run that has moved on is reported as that.
  auto taken = take_over(core, std::move(store), id, options.run, true);
  if (!taken) {
    const Errc code = taken.error().code;
    if (gone != nullptr) *gone = code == Errc::busy || code == Errc::not_found;
    return std::move(taken).error();
  }
  const RunInfo& info = taken.value()->reading.info;
  const Journal& journal = taken.value()->journal();
  const bool stays =
      journal.last() == suspended_at || newest_suspended(taken.value()->reading) == suspended_at;
  if (!stays || info.status != RunStatus::suspended) {
    if (gone != nullptr) *gone = true;
    return Error{Errc::conflict, "run \"" + id + "\" went on without this decision and is " +
                                     std::string(to_string(info.status))};
  }
  if (!options.accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  TRIAGE_TRYV(check_task(core, journal));
  return taken;
}

Result<void> learn_state(CheckpointStore& store, Journal& journal, Sequence at) {
  const auto position = journal.find(at);
  if (!position || journal.knows_state(*position)) return outcome::success();
  TRIAGE_TRY(state, run_catching([&] { return store.load_state({journal.run(), at}); }));
  journal.learn_state(*position, std::move(state));
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
