// SPDX-License-Identifier: MIT
// Replaces many records by few, in one transaction.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {

Result<void> SqliteJournals::replace(const Lease& lease, std::span<const SequenceRange> ranges,
                                     std::span<const Record> instead) {
  TRIAGE_TRYV(check_replacement(ranges, instead));
  return guarded_write("compacting run \"" + lease.run + "\"", [&]() -> Result<void> {
    database_->begin_write();
    forget_rows();
    RunStatus stored{};
    if (auto stale = check_lease(lease, stored)) return *std::move(stale);
    SQLite::Statement erase(database_->handle(),
                            "DELETE FROM records WHERE run = ?1 AND seq BETWEEN ?2 AND ?3");
    for (const SequenceRange& range : ranges) {
      erase.bind(1, lease.handle);
      erase.bind(2, static_cast<std::int64_t>(range.first));
      erase.bind(3, static_cast<std::int64_t>(range.last));
      database_->run(erase);
    }
    if (auto refused = insert(lease, instead)) return *std::move(refused);
    if (auto refused = insert_rows()) return *std::move(refused);
    database_->commit();
    database_->checkpoint_log_if_large();
    return outcome::success();
  });
}

}  // namespace triage::inline v0_1::detail
