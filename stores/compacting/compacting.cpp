// SPDX-License-Identifier: MIT
#include "triage/stores/compacting.hpp"

#include "triage/detail/record_rules.hpp"
#include "triage/detail/store_extension.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace triage::inline v0_1 {
namespace {

class Compacting final : public CompactingStore {
 public:
  Compacting(std::shared_ptr<CheckpointStore> inner, const CompactingOptions& options)
      : CompactingStore(std::move(inner)), options_(options) {}
  ~Compacting() override { stop_queue(); }

  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    auto done = inner().append(lease, records, status);
    if (done) note(lease, records);
    return done;
  }
  void append_group(std::span<AppendBatch> batches) override {
    inner().append_group(batches);
    for (const AppendBatch& batch : batches) {
      if (batch.outcome) note(batch.lease, batch.records);
    }
  }
  Result<void> release(const Lease& lease) override {
    {
      const std::scoped_lock lock(mutex_);
      counts_.erase(lease.run);
    }
    return inner().release(lease);
  }
  std::string take_warning() override {
    {
      const std::scoped_lock lock(mutex_);
      if (!warning_.empty()) return std::exchange(warning_, {});
    }
    return inner().take_warning();
  }

 private:
  struct Count {
    std::size_t changes = 0;  // Recorded since the last compaction.
    std::size_t next = 0;     // The next one is due at this many.
  };

  void note(const Lease& lease, std::span<const Record> records) {
    const auto changes = std::count_if(records.begin(), records.end(), [](const Record& record) {
      const detail::OnState does = detail::rule_of(record.kind()).state;
      return does == detail::OnState::changes || does == detail::OnState::replaces;
    });
    if (changes == 0) return;
    {
      const std::scoped_lock lock(mutex_);
      Count& count = counts_[lease.run];
      count.next = std::max(count.next, options_.every);
      count.changes += static_cast<std::size_t>(changes);
      if (count.changes < count.next) return;
      count.changes = 0;
    }
    const auto done = compact_held_run(inner(), lease, options_.rule);
    const std::scoped_lock lock(mutex_);
    Count& count = counts_[lease.run];
    count.next = done ? done.value().records : 2 * count.next;
    if (!done) warning_ = "run " + lease.run + " was not compacted: " + done.error().detail;
  }

  const CompactingOptions options_;
  std::mutex mutex_{};
  std::map<RunId, Count> counts_{};  // Of runs being written.
  std::string warning_{};
};

}  // namespace

Result<std::shared_ptr<CompactingStore>> CompactingStore::around(
    std::shared_ptr<CheckpointStore> inner, const CompactingOptions& options) {
  constexpr std::size_t least = 16;
  if (inner == nullptr) return Error{Errc::invalid_argument, "there is no store to compact"};
  if (options.every < least || options.rule.max_checkpoints == 0) {
    return Error{Errc::invalid_argument, "every is " + std::to_string(options.every) +
                                             " and max_checkpoints " +
                                             std::to_string(options.rule.max_checkpoints) +
                                             "; allowed are 16 and above, and 1 and above"};
  }
  if (detail::extension_of<CompactsRuns>(*inner) == nullptr) {
    return Error{Errc::unsupported, "this store cannot put other records in the place of a run's"};
  }
  return outcome::success(
      std::shared_ptr<CompactingStore>(std::make_shared<Compacting>(std::move(inner), options)));
}

}  // namespace triage::inline v0_1
