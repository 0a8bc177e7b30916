// SPDX-License-Identifier: MIT
#pragma once
// The Redis store: its journals and leases.

#include "redis_connection.hpp"
#include "storage/own_process.hpp"
#include "storage/owner_mark.hpp"
#include "triage/compaction.hpp"
#include "triage/stores/redis.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

[[nodiscard]] Error odd_redis_answer();

// The scripts count in doubles.
inline constexpr Sequence largest_sequence = Sequence{1} << 53U;

class RedisJournals final : public RedisStore, public CompactsRuns {
 public:
  RedisJournals(RedisAddress address, Connect connect, RedisOptions options);
  ~RedisJournals() override;
  // Checks the server and what it stores. Errors: as RedisStore::open().
  [[nodiscard]] Result<void> look();

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
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;

 private:
  struct RunFacts {
    RunInfo info{};
    std::string birth{};
    std::string epoch{};
    std::string owner{};
    std::int64_t until_ms = 0;  // By the server's clock.
    std::int64_t lease_ms = 0;  // How long its owner's leases are; 0: an older version's.
    std::string exchanged{};    // Another one after records were replaced.
    bool has_lease = false;     // Birth and epoch are numbers, as what is not damaged has them.
  };
  struct Answer {
    std::string word{};
    std::string more{};
  };

  [[nodiscard]] Result<void> usable() const;
  [[nodiscard]] Result<void> writable() const;
  [[nodiscard]] std::string facts_key(const RunId& run) const;
  [[nodiscard]] std::string log_key(const RunId& run) const;
  [[nodiscard]] std::string list_key() const;
  [[nodiscard]] std::string starting_key(const RunId& run) const;
  [[nodiscard]] std::string space_key(std::string_view space) const;
  [[nodiscard]] Result<RedisReply> ask(const RedisWords& words);
  [[nodiscard]] Result<RedisConnection::Replies> ask_all(const std::vector<RedisWords>& questions);
  [[nodiscard]] std::string aside_key(const RunId& run) const;
  [[nodiscard]] Result<Answer> run_script(const char* script, const RedisWords& keys,
                                          RedisWords arguments);
  [[nodiscard]] Result<Answer> owner_script(const char* script, const Lease& lease, RedisWords more,
                                            const RedisWords& more_keys = {});
  [[nodiscard]] bool holds(const Lease& lease);
  void forget(const Lease& lease);
  [[nodiscard]] Result<Lease> take(const RunId& run);  // With acquiring_ held.
  // Erases the run if it is as it was seen, with its keys.
  [[nodiscard]] Result<void> erase_seen(const RunId& run, const RunFacts& seen);
  [[nodiscard]] Result<void> list_before_start(const RunId& run, const std::string& birth);
  [[nodiscard]] Result<void> unlist(const RunId& run, const std::string& birth);
  void forget_gone(const std::vector<RunId>& gone);
  [[nodiscard]] Result<RunFacts> facts_of(const RunId& run);
  [[nodiscard]] Result<RedisReply> read_entries(const RunId& run, SequenceRange range,
                                                std::size_t page, RunFacts& before,
                                                JournalReading& out);
  [[nodiscard]] Result<RunFacts> facts_in(const RunId& run, const redisReply& stored);
  [[nodiscard]] Result<bool> owned(const RunFacts& facts);
  [[nodiscard]] Result<void> add_records(const Lease& lease, std::span<const Record> records,
                                         RedisWords& words) const;
  [[nodiscard]] Result<Lease> started_before(const RunId& run, std::span<const Record> records);

  const RedisOptions options_;
  const OwnProcess process_{};
  Durability durability_ = Durability::none;
  std::mutex acquiring_;
  std::mutex mutex_;  // Guards the members below.
  RedisConnection connection_;
  OwnerMark mark_;
  struct Held {
    std::string epoch{};
    Sequence last = 0;  // The newest record that the server has answered for, as far as known here.
  };
  std::map<std::string, Held> held_{};  // By the births of runs whose lease is held here.
};

}  // namespace triage::inline v0_1::detail
