// SPDX-License-Identifier: MIT
// Owning runs in the PostgreSQL store.
#include "postgres_sql.hpp"
#include "postgres_store.hpp"
#include "storage/busy_run.hpp"
#include "triage/clock.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

std::int64_t random_pg_number() { return static_cast<std::int64_t>(real_random()->next() >> 1U); }

Lease pg_lease(const RunId& run, std::int64_t birth, std::uint64_t epoch) {
  return {.run = run, .epoch = epoch, .handle = birth};
}

Error pg_fenced(const Lease& lease, std::string_view why) {
  return {Errc::fenced, "the lease of run \"" + printable(lease.run) + "\" (epoch " +
                            std::to_string(lease.epoch) + ") is lost: " + std::string(why)};
}

Result<Lease> PostgresJournals::acquire(const RunId& run) {
  // One at a time: between the server's answer and the note of it, the run looks given up.
  const std::scoped_lock acquiring(acquiring_);
  TRIAGE_TRY(facts, facts_of(run));
  const Error busy = detail::busy_run(run, facts.owner, mark_.text());
  if (facts.info.owned) return busy;
  TRIAGE_TRY(epoch, take(facts));
  if (!epoch) {  // Another process was faster, or erased it.
    TRIAGE_TRYV(facts_of(run));
    return busy;
  }
  const std::scoped_lock here(mutex_);
  held_[facts.birth] = {.epoch = *epoch, .last = facts.info.last};
  return outcome::success(pg_lease(run, facts.birth, *epoch));
}

// The new epoch; empty if the run is not as it was seen.
Result<std::optional<std::uint64_t>> PostgresJournals::take(const RunFacts& seen) {
  const LeaseKey next{seen.birth, static_cast<std::uint64_t>(seen.epoch) + 1};
  const auto rows = write_once(postgres_sql::acquire,
                               PgParameters()
                                   .text(seen.info.id)
                                   .number(seen.birth)
                                   .number(seen.epoch)
                                   .text(seen.owner)
                                   .text(mark_.text())
                                   .number(random_pg_number())
                                   .number(options_.lease_timeout.count()),
                               [](const PgRows& taken) { return !taken.empty(); });
  const std::scoped_lock here(mutex_);
  if (!rows) {  // Nobody knows whether it was granted.
    mark_.give_up(next);
    return rows.error();
  }
  if (rows.value().empty()) return outcome::success(std::nullopt);
  mark_.forget(next);
  return outcome::success(static_cast<std::uint64_t>(rows.value().number(0, 0)));
}

Result<std::vector<Lease>> PostgresJournals::claim_orphans(std::string_view agent,
                                                           std::size_t most) {
  const std::scoped_lock acquiring(acquiring_);
  std::vector<Lease> claimed;
  if (most == 0) return outcome::success(std::move(claimed));
  TRIAGE_TRY(running,
             listed({.agent = std::string(agent), .status = RunStatus::running, .limit = 0}));
  std::vector<std::string> runs, owners;
  std::vector<std::int64_t> births, epochs;
  std::vector<LeaseKey> asked_for;
  std::map<std::int64_t, Sequence> lasts;
  for (int row = 0; row < running.size(); ++row) {
    RunFacts facts = facts_in(running, row);
    if (facts.info.owned) continue;
    runs.push_back(std::move(facts.info.id));
    births.push_back(facts.birth);
    asked_for.emplace_back(facts.birth, static_cast<std::uint64_t>(facts.epoch) + 1);
    lasts[facts.birth] = facts.info.last;
    epochs.push_back(facts.epoch);
    owners.push_back(std::move(facts.owner));
  }
  if (runs.empty()) return outcome::success(std::move(claimed));
  const std::size_t all = std::min(most, runs.size());
  const auto taken = write(postgres_sql::claim, PgParameters()
                                                    .texts(runs)
                                                    .numbers(births)
                                                    .numbers(epochs)
                                                    .texts(owners)
                                                    .number(static_cast<std::int64_t>(all))
                                                    .text(mark_.text())
                                                    .number(random_pg_number())
                                                    .number(options_.lease_timeout.count()));
  const std::scoped_lock here(mutex_);
  if (!taken) {  // Nobody knows which were granted.
    mark_.give_up(asked_for);
    return taken.error();
  }
  const PgRows& rows = taken.value();
  // What an earlier try may take after this one has skipped it.
  if (rows.repeated) mark_.give_up(asked_for);
  for (int row = 0; row < rows.size(); ++row) {
    const auto epoch = static_cast<std::uint64_t>(rows.number(row, 2));
    claimed.push_back(pg_lease(RunId(rows.text(row, 0)), rows.number(row, 1), epoch));
    mark_.forget({rows.number(row, 1), epoch});
    held_[rows.number(row, 1)] = {.epoch = epoch, .last = lasts[rows.number(row, 1)]};
  }
  return outcome::success(std::move(claimed));
}

Result<void> PostgresJournals::renew(const Lease& lease) {
  TRIAGE_TRYV(check_held(lease));
  TRIAGE_TRY(rows, write(postgres_sql::renew, PgParameters()
                                                  .text(lease.run)
                                                  .number(lease.handle)
                                                  .number(static_cast<std::int64_t>(lease.epoch))
                                                  .text(mark_.text())
                                                  .number(options_.lease_timeout.count())));
  if (!rows.empty()) return outcome::success();
  forget(lease);
  return pg_fenced(lease, "another owner has taken the run, or it was erased");
}

Result<void> PostgresJournals::release(const Lease& lease) {
  const auto ours = check_held(lease);
  if (!ours && ours.error().code == Errc::fenced) return outcome::success();
  TRIAGE_TRYV(ours);
  const auto rows = write(postgres_sql::release, PgParameters()
                                                     .text(lease.run)
                                                     .number(lease.handle)
                                                     .number(static_cast<std::int64_t>(lease.epoch))
                                                     .text(mark_.text()));
  // Given up from now on, even where that cannot be written.
  forget(lease);
  if (rows) return outcome::success();
  const std::scoped_lock here(mutex_);
  mark_.give_up({lease.handle, lease.epoch});
  return rows.error();
}

}  // namespace triage::inline v0_1::detail
