// SPDX-License-Identifier: MIT
#include "triage/checkpoint_store.hpp"

#include "storage/commit_queue.hpp"
#include "storage/erase_unchanged.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"
#include "triage/retention.hpp"

#include <utility>

namespace triage::inline v0_1 {
namespace {

Result<Checkpoint> restore(const Journal& journal, const CheckpointId& id) {
  if (const auto position = journal.find(id.sequence)) return journal.restore(*position);
  if (const Checkpoint latest = journal.latest(); latest.info.id == id) return latest;
  if (journal.broken_at() && id.sequence >= *journal.broken_at()) {
    return Error{Errc::corrupt, "checkpoint " + to_string(id) + " needs record " +
                                    std::to_string(*journal.broken_at()) +
                                    ", which is damaged or missing"};
  }
  return Error{Errc::not_found, "checkpoint " + to_string(id) + " does not exist"};
}

}  // namespace

std::string_view to_string(Durability level) noexcept {
  switch (level) {
    case Durability::none: return "none";
    case Durability::process: return "process";
    case Durability::power: return "power";
  }
  return "unknown";
}

std::string_view to_string(RunStatus status) noexcept {
  switch (status) {
    case RunStatus::running: return "running";
    case RunStatus::finished: return "finished";
    case RunStatus::escalated: return "escalated";
    case RunStatus::aborted: return "aborted";
    case RunStatus::cancelled: return "cancelled";
    case RunStatus::suspended: return "suspended";
    case RunStatus::failed: return "failed";
    case RunStatus::poisoned: return "poisoned";
  }
  return "unknown";
}

std::optional<RunStatus> parse_run_status(std::string_view name) noexcept {
  for (int i = 1; i <= static_cast<int>(RunStatus::poisoned); ++i) {
    const auto status = static_cast<RunStatus>(i);
    if (to_string(status) == name) return status;
  }
  return std::nullopt;
}

CheckpointStore::CheckpointStore() = default;
CheckpointStore::~CheckpointStore() {
  // A child made by fork() cannot destroy a condition that its parent's thread waits on.
  if (queue_ && queue_->is_foreign()) static_cast<void>(queue_.release());
}

detail::CommitQueue& CheckpointStore::queue() {
  std::call_once(queue_made_, [this] { queue_ = std::make_unique<detail::CommitQueue>(*this); });
  return *queue_;
}

void CheckpointStore::stop_queue() noexcept {
  if (queue_) queue_->stop();
}

void CheckpointStore::append_group(std::span<AppendBatch> batches) {
  for (AppendBatch& batch : batches) {
    batch.outcome = append(batch.lease, batch.records, batch.status);
  }
}

Result<JournalReading> CheckpointStore::read_newest(const RunId& run) { return read(run, {}); }

Result<Checkpoint> CheckpointStore::load(const CheckpointId& id) {
  TRIAGE_TRY(reading, read(id.run, {}));
  TRIAGE_TRY(journal, Journal::fold(reading));
  return restore(journal, id);
}

Result<State> CheckpointStore::load_state(const CheckpointId& id) {
  TRIAGE_TRY(checkpoint, load(id));
  return outcome::success(std::move(checkpoint.state));
}

Result<std::vector<CheckpointInfo>> CheckpointStore::checkpoints(const RunId& run) {
  TRIAGE_TRY(reading, read(run, {}));
  TRIAGE_TRY(journal, Journal::fold(reading));
  journal.end_checkpoint();  // Includes what an attempt was doing when its process died.
  std::vector<CheckpointInfo> all;
  all.reserve(journal.positions().size());
  for (std::size_t i = 0; i < journal.positions().size(); ++i) all.push_back(journal.info(i));
  return outcome::success(std::move(all));
}

Result<Checkpoint> CheckpointStore::latest(const RunId& run) {
  TRIAGE_TRY(reading, read(run, {}));
  TRIAGE_TRY(journal, Journal::fold(reading));
  return journal.latest();
}

Result<std::size_t> CheckpointStore::prune(const Retention& retention) {
  TRIAGE_TRY(going, prunable(*this, {.keep_since = retention.keep_since,
                                     .keep_newest = retention.keep_newest,
                                     .keep_labelled = false,
                                     .only_ended = retention.only_ended}));
  return detail::erase_unchanged(*this, going);
}

Result<std::size_t> CheckpointStore::erase_all(std::span<const RunId> runs) {
  std::size_t erased = 0;
  for (const RunId& run : runs) {
    const Result<void> gone = erase(run);
    if (gone) {
      ++erased;
    } else if (gone.error().code != Errc::busy && gone.error().code != Errc::not_found) {
      return gone.error();
    }
  }
  return outcome::success(erased);
}

Result<std::vector<std::string>> CheckpointStore::check() {
  return outcome::success(std::vector<std::string>());
}

}  // namespace triage::inline v0_1
