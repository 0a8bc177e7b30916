// SPDX-License-Identifier: MIT
// Quarantine for runs whose process keeps dying.
#include "base/error_more.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {
namespace {

Error quarantined(const RunId& run, int crashes) {
  Error error{Errc::conflict, "run \"" + run + "\" is poisoned: its process died " +
                                  std::to_string(crashes) + " times while it was being resumed"};
  ErrorFacts::advise(error, "find out why, then resume it with ResumeOptions::revive");
  return error;
}

// Changes that a reading leaves out may be those by which a life differed from the one before.
Result<int> crashes_of(const Continuation& run) {
  if (run.reading.superseded.empty()) return outcome::success(run.journal().crashes());
  TRIAGE_TRY(whole, run_catching([&] { return run.data->store->read(run.reading.info.id, {}); }));
  TRIAGE_TRY(journal, Journal::fold(whole));
  return outcome::success(journal.crashes());
}

}  // namespace

Result<void> check_poison(Continuation& run, bool revive) {
  if (revive) return outcome::success();
  const RunInfo& info = run.reading.info;
  RunData& data = *run.data;
  const int allowed = run.core.options.max_crashes;
  if (info.status == RunStatus::poisoned) {
    return quarantined(info.id, field(run.journal().stopped(), "crashes", allowed));
  }
  if (info.status != RunStatus::running || allowed == 0 || run.journal().crashes() < allowed) {
    return outcome::success();
  }
  TRIAGE_TRY(crashes, crashes_of(run));
  if (crashes < allowed) return outcome::success();
  Error error = quarantined(info.id, crashes);
  const Record record = run.journal().add(RecordKind::stopped, run.core.clock->wall_now(),
                                          Json{{"status", to_string(RunStatus::poisoned)},
                                               {"type", to_string(FailureType::crashed)},
                                               {"crashes", crashes},
                                               {"detail", error.message()}});
  TRIAGE_TRYV(run_catching([&] {
    return data.store->append(data.writer.lease, {&record, 1}, RunStatus::poisoned);
  }));
  return error;
}

}  // namespace triage::inline v0_1::detail
