// SPDX-License-Identifier: MIT
#pragma once
// The PostgreSQL store: its journals and leases.

#include "postgres_connection.hpp"
#include "postgres_listener.hpp"
#include "storage/own_process.hpp"
#include "storage/owner_mark.hpp"
#include "triage/compaction.hpp"
#include "triage/orphans.hpp"
#include "triage/stores/postgres.hpp"
#include "triage/wakes_workers.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Milliseconds since 1970, the tables' time format.
inline std::int64_t to_ms(WallTime time) { return time.time_since_epoch().count(); }

[[nodiscard]] std::int64_t random_pg_number();
[[nodiscard]] Lease pg_lease(const RunId& run, std::int64_t birth, std::uint64_t epoch);
[[nodiscard]] Error pg_fenced(const Lease& lease, std::string_view why);

class PostgresJournals final : public PostgresStore,
                               public ClaimsOrphans,
                               public CompactsRuns,
                               public WakesWorkers {
 public:
  PostgresJournals(Connect connect, PostgresOptions options);
  ~PostgresJournals() override;
  // Checks the server and what it stores. Errors: as PostgresStore::open().
  [[nodiscard]] Result<void> look();

  [[nodiscard]] StoreCapabilities capabilities() const noexcept override;
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<std::vector<Lease>> claim_orphans(std::string_view agent, std::size_t most) override;
  bool wait_for_work(std::chrono::milliseconds longest, const std::stop_token& stop) override;
  Result<void> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override;
  void append_group(std::span<AppendBatch> batches) override;
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override;
  Result<JournalReading> read(const RunId& run, SequenceRange range) override;
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override;
  Result<RunInfo> run(const RunId& id) override;
  Result<void> erase(const RunId& run) override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;

 private:
  struct RunFacts {
    RunInfo info{};
    std::int64_t birth = 0;
    std::int64_t epoch = 0;
    std::string owner{};
    std::int64_t until_ms = 0;  // By the server's clock, like `now_ms`.
    std::int64_t now_ms = 0;
    std::int64_t longest_ms = 0;  // The longest lease of this store; 0: unknown.
  };
  struct RecordRows;

  [[nodiscard]] Result<void> usable() const;
  [[nodiscard]] Result<PgRows> ask(const char* statement, const PgParameters& parameters,
                                   std::string* state = nullptr);
  [[nodiscard]] Result<PgRows> write(const char* statement, const PgParameters& parameters);
  // For a statement that tells whether it, or an earlier try of it, has written: `wrote`.
  [[nodiscard]] Result<PgRows> write_once(const char* statement, const PgParameters& parameters,
                                          bool (*wrote)(const PgRows& rows));
  [[nodiscard]] std::string in_schema(std::string_view statement) const;
  [[nodiscard]] Result<std::string> find_format();
  [[nodiscard]] Result<void> make_tables();
  [[nodiscard]] Result<void> note_lease();
  [[nodiscard]] Result<PgRows> listed(const RunQuery& query);
  [[nodiscard]] Result<RunFacts> facts_of(const RunId& run);
  [[nodiscard]] RunFacts facts_in(const PgRows& rows, int row);
  [[nodiscard]] bool owned(const RunFacts& facts);
  [[nodiscard]] Result<void> read_records(const RunId& run, std::int64_t birth, SequenceRange range,
                                          std::optional<RecordKind> kind, JournalReading& out);
  [[nodiscard]] Result<std::optional<std::uint64_t>> take(const RunFacts& seen);
  // The newest record that was acknowledged under it.
  [[nodiscard]] Result<Sequence> check_held(const Lease& lease);
  [[nodiscard]] Result<std::vector<std::size_t>> append_some(std::span<AppendBatch> batches,
                                                             const std::vector<std::size_t>& which,
                                                             bool last_try);
  void acknowledge(const Lease& lease, std::int64_t last);
  void forget(const Lease& lease);
  [[nodiscard]] Result<Lease> started_before(const RunId& run, std::span<const Record> records);

  const PostgresOptions options_;
  const OwnProcess process_{};
  Durability durability_ = Durability::none;
  PgPool pool_;
  PgListener listener_;
  std::mutex acquiring_;
  std::mutex mutex_;  // Guards the members below.
  OwnerMark mark_;
  struct Held {
    std::uint64_t epoch = 0;
    Sequence last = 0;  // The newest record that the server has answered for, as far as known here.
  };
  std::map<std::int64_t, Held> held_{};  // By the births of runs whose lease is held here.
};

}  // namespace triage::inline v0_1::detail
