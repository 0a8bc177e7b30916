// SPDX-License-Identifier: MIT
#pragma once
// The JSON-file store: the journal says who may append, and its size shows whether others have.

#include "key_log.hpp"
#include "run_file.hpp"
#include "storage/own_process.hpp"
#include "storage/owner_mark.hpp"
#include "triage/compaction.hpp"
#include "triage/repair.hpp"
#include "triage/stores/json_file.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

class JsonFileJournals final : public JsonFileStore, public CompactsRuns, public RepairsItself {
 public:
  JsonFileJournals(std::string folder, const JsonFileOptions& options);
  ~JsonFileJournals() override { stop_queue(); }

  [[nodiscard]] StoreCapabilities capabilities() const noexcept override;
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<void> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override;
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override;
  [[nodiscard]] bool writes_whole_runs() const noexcept override { return true; }
  Result<JournalReading> read(const RunId& run, SequenceRange range) override;
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override;
  Result<RunInfo> run(const RunId& id) override;
  Result<void> erase(const RunId& run) override;
  Result<std::vector<std::string>> check() override;
  Result<std::vector<std::string>> repair() override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;
  std::string take_warning() override;

 private:
  // A run whose lease this object holds, and its newest file as it was left.
  struct Held {
    RunHead head{};
    RunStand stand{};
    FileMark file{};
    std::uint64_t end = 0;
    Sequence acknowledged = 0;           // The newest record.
    bool folder_synced = false;          // Since a file of the run last took another's place.
    std::weak_ptr<const void> holder{};  // Expired once the lease is free.
  };

  [[nodiscard]] std::string runs_folder() const { return folder_ + "/runs"; }
  [[nodiscard]] bool synced() const noexcept { return options_.durability == Durability::power; }
  [[nodiscard]] Result<void> usable() const;    // Errc::unsupported after fork().
  [[nodiscard]] Result<void> writable() const;  // Also fails if it is read_only.
  [[nodiscard]] Result<FileLock> lock(const RunId& run, bool shared = false) const;
  [[nodiscard]] static Lease lend(Held& held);
  [[nodiscard]] bool owned(const RunStand& stand, std::uint64_t birth,
                           std::int64_t unseen_ms) const;
  [[nodiscard]] RunInfo info_of(const RunGlance& seen);
  [[nodiscard]] static Error fenced(const Lease& lease, const std::string& why);
  // With the run's lock: checks the held lease against the disk. Errors: Errc::fenced.
  [[nodiscard]] Result<Held*> check_held(const Lease& lease);
  // Errors: Errc::corrupt if acknowledged records are gone.
  [[nodiscard]] static Result<void> check_whole(const Held& held);
  [[nodiscard]] Result<std::string> lines_of(const RunId& run, std::span<const Record* const> fresh,
                                             const RunStand& stand) const;
  // At level power: what the folder says of the run's files is on the disk.
  [[nodiscard]] Result<void> sync_names(Held& held) const;
  // Appends; starts a new segment if the newest one is large.
  [[nodiscard]] Result<void> write(Held& held, const std::string& text);
  // Notes the newest file as it is now.
  [[nodiscard]] Result<void> mark(Held& held) const;
  // All of the run's files but the first one.
  [[nodiscard]] Result<void> remove_further_files(const RunId& run) const;
  // The same where any may be missing. Reads the names of all runs.
  [[nodiscard]] Result<void> remove_remains(const RunId& run) const;
  [[nodiscard]] Result<void> write_stand(Held& held, RunStand stand);
  [[nodiscard]] Result<Lease> started_before(const RunId& run, std::span<const Record> records);
  [[nodiscard]] Result<std::vector<const Record*>> not_stored(const Held& held,
                                                              std::span<const Record> records);

  const std::string folder_;
  const JsonFileOptions options_;
  const OwnProcess process_{};
  mutable std::mutex mutex_;  // Guards the members below; held while writing.
  OwnerMark mark_;
  std::map<RunId, Held, std::less<>> held_{};
  std::string warning_{};
  KeyLog keys_;
};

}  // namespace triage::inline v0_1::detail
