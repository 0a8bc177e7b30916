// SPDX-License-Identifier: MIT
// Starting runs in the PostgreSQL store, and appending to them.
#include "postgres_sql.hpp"
#include "postgres_store.hpp"
#include "storage/busy_run.hpp"
#include "triage/clock.hpp"
#include "triage/detail/same_record.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

constexpr Sequence largest_sequence = std::numeric_limits<std::int64_t>::max();

std::string encoded(const Record& record) {
  std::string body;
  record.encode_body(body);
  return body;
}

}  // namespace

// Records of one or more batches, one vector per column.
struct PostgresJournals::RecordRows {
  std::vector<std::int64_t> batch{}, seq{}, kind{}, time{}, crc{};
  std::vector<std::string> body{};

  // Adds all of them or none.
  [[nodiscard]] Result<void> add(const Lease& lease, std::span<const Record> records,
                                 std::int64_t number_of_batch) {
    const std::size_t before = seq.size();
    Result<void> added = outcome::success();
    for (const Record& record : records) {
      if (added) added = add_one(lease, record, number_of_batch);
    }
    if (added) return added;
    for (auto* column : {&batch, &seq, &kind, &time, &crc}) column->resize(before);
    body.resize(before);
    return added;
  }

 private:
  [[nodiscard]] Result<void> add_one(const Lease& lease, const Record& record,
                                     std::int64_t number_of_batch) {
    if (record.seq() == 0 || record.seq() > largest_sequence) {
      return Error{Errc::invalid_argument,
                   "sequence " + std::to_string(record.seq()) + ": allowed are 1 to 2^63-1"};
    }
    std::string bytes = encoded(record);
    if (!fits_in_memory(bytes)) {
      return Error{Errc::invalid_argument, "record " + std::to_string(record.seq()) + " of run \"" +
                                               lease.run +
                                               "\" is deeper or larger than what can be read "
                                               "back"};
    }
    batch.push_back(number_of_batch);
    seq.push_back(static_cast<std::int64_t>(record.seq()));
    kind.push_back(static_cast<std::int64_t>(record.kind()));
    time.push_back(to_ms(record.time()));
    crc.push_back(
        record_checksum(lease.run, lease.epoch, record.seq(), record.kind(), record.time(), bytes));
    body.push_back(std::move(bytes));
    return outcome::success();
  }
};

Result<Lease> PostgresJournals::start(const RunInfo& run, std::span<const Record> records) {
  TRIAGE_TRYV(check_run_id(run.id));
  const std::int64_t birth = random_pg_number();
  const Lease lease = pg_lease(run.id, birth, 1);
  RecordRows rows;
  TRIAGE_TRYV(rows.add(lease, records, 1));
  {
    // Before the server knows it, so that it never looks given up.
    const std::scoped_lock here(mutex_);
    held_[birth] = {.epoch = 1, .last = records.empty() ? 0 : records.back().seq()};
  }
  auto there =
      write_once(postgres_sql::start,
                 PgParameters()
                     .text(run.id)
                     .number(birth)
                     .text(mark_.text())
                     .number(options_.lease_timeout.count())
                     .bytes(run.agent)
                     .bytes(run.label)
                     .text(run.parent)
                     .text(std::string(to_string(run.status)))
                     .number(to_ms(run.started))
                     .number(to_ms(records.empty() ? run.updated : records.back().time()))
                     .number(records.empty() ? 0 : static_cast<std::int64_t>(records.back().seq()))
                     .numbers(rows.seq)
                     .numbers(rows.kind)
                     .numbers(rows.time)
                     .numbers(rows.crc)
                     .byte_strings(rows.body),
                 [](const PgRows& found) { return !found.empty(); });
  if (!there) {
    // The outcome is unknown: free for all others, and known here, so that a retry finds it.
    const std::scoped_lock here(mutex_);
    mark_.give_up({birth, 1});
    return there.error();
  }
  if (!there.value().empty()) return outcome::success(lease);
  forget(lease);
  return started_before(run.id, records);
}

// The lease of a run that was already started with the same records: the reply was lost.
Result<Lease> PostgresJournals::started_before(const RunId& run, std::span<const Record> records) {
  const Error conflict{Errc::conflict, "run \"" + run + "\" exists already"};
  const auto facts = facts_of(run);
  if (!facts || facts.value().owner != mark_.text() || facts.value().epoch != 1 ||
      records.empty() || facts.value().info.last != records.back().seq()) {
    return conflict;
  }
  Lease lease = pg_lease(run, facts.value().birth, 1);
  if (!check_held(lease)) return conflict;
  TRIAGE_TRY(reading, read(run, {}));
  if (!same_records(reading.records, records)) return conflict;
  const std::scoped_lock here(mutex_);
  mark_.forget({lease.handle, lease.epoch});
  return outcome::success(std::move(lease));
}

Result<Sequence> PostgresJournals::check_held(const Lease& lease) {
  TRIAGE_TRYV(check_run_id(lease.run));
  const std::scoped_lock here(mutex_);
  const auto held = held_.find(lease.handle);
  if (held != held_.end() && held->second.epoch == lease.epoch) return held->second.last;
  return pg_fenced(lease, "it was released, or belongs to another store");
}

void PostgresJournals::acknowledge(const Lease& lease, std::int64_t last) {
  const std::scoped_lock here(mutex_);
  const auto held = held_.find(lease.handle);
  if (held == held_.end() || held->second.epoch != lease.epoch) return;
  held->second.last = std::max(held->second.last, static_cast<Sequence>(last));
}

void PostgresJournals::forget(const Lease& lease) {
  const std::scoped_lock here(mutex_);
  const auto held = held_.find(lease.handle);
  if (held != held_.end() && held->second.epoch == lease.epoch) held_.erase(held);
}

Result<void> PostgresJournals::append(const Lease& lease, std::span<const Record> records,
                                      RunStatus status) {
  AppendBatch batch{.lease = lease, .records = records, .status = status};
  append_group({&batch, 1});
  return batch.outcome;
}

void PostgresJournals::append_group(std::span<AppendBatch> batches) {
  std::vector<std::size_t> which(batches.size());
  std::iota(which.begin(), which.end(), std::size_t{0});
  // Batches of the same run go into separate statements, so that each sees the earlier ones.
  for (bool last_try = false; !which.empty();) {
    std::vector<std::size_t> now;
    std::vector<std::size_t> later;
    std::set<std::string_view> runs;
    for (const std::size_t i : which) {
      const bool first = runs.insert(batches[i].lease.run).second;
      (first ? now : later).push_back(i);
    }
    auto doubtful = append_some(batches, now, last_try);
    if (!doubtful) {
      for (const std::size_t i : which) batches[i].outcome = doubtful.error();
      return;
    }
    last_try = !doubtful.value().empty();
    which = std::move(doubtful).value();
    which.insert(which.end(), later.begin(), later.end());
  }
}

// In one statement. Returns the batches that conflict with what the statement saw but may succeed
// when retried: it does not see the records of a statement it waited for, such as its own earlier
// execution over a broken connection. On the last try these are conflicts.
Result<std::vector<std::size_t>> PostgresJournals::append_some(
    std::span<AppendBatch> batches, const std::vector<std::size_t>& which, bool last_try) {
  std::vector<std::string> runs, statuses;
  std::vector<std::int64_t> births, epochs, times, lasts, known;
  std::vector<std::size_t> sent;
  RecordRows rows;
  for (const std::size_t i : which) {
    AppendBatch& batch = batches[i];
    const auto held = check_held(batch.lease);
    if (!held) {
      batch.outcome = held.error();
      continue;
    }
    batch.outcome =
        rows.add(batch.lease, batch.records, static_cast<std::int64_t>(sent.size() + 1));
    if (!batch.outcome) continue;
    sent.push_back(i);
    known.push_back(static_cast<std::int64_t>(held.value()));
    runs.push_back(batch.lease.run);
    births.push_back(batch.lease.handle);
    epochs.push_back(static_cast<std::int64_t>(batch.lease.epoch));
    statuses.emplace_back(to_string(batch.status));
    times.push_back(batch.records.empty() ? 0 : to_ms(batch.records.back().time()));
    lasts.push_back(batch.records.empty() ? 0
                                          : static_cast<std::int64_t>(batch.records.back().seq()));
  }
  std::vector<std::size_t> doubtful;
  if (sent.empty()) return outcome::success(std::move(doubtful));
  TRIAGE_TRY(answers, write(postgres_sql::append, PgParameters()
                                                      .text(mark_.text())
                                                      .number(options_.lease_timeout.count())
                                                      .texts(runs)
                                                      .numbers(births)
                                                      .numbers(epochs)
                                                      .texts(statuses)
                                                      .numbers(times)
                                                      .numbers(lasts)
                                                      .numbers(rows.batch)
                                                      .numbers(rows.seq)
                                                      .numbers(rows.kind)
                                                      .numbers(rows.time)
                                                      .numbers(rows.crc)
                                                      .byte_strings(rows.body)
                                                      .numbers(known)));
  for (std::size_t row = 0; row < sent.size(); ++row) {
    AppendBatch& batch = batches[sent[row]];
    const int at = static_cast<int>(row);
    if (at >= answers.size() || answers.number(at, 0) == 0) {
      forget(batch.lease);
      batch.outcome = pg_fenced(batch.lease, "another owner has taken the run, or it was erased");
    } else if (!answers.is_null(at, 3)) {
      batch.outcome =
          Error{Errc::corrupt,
                "the PostgreSQL server has lost what it acknowledged of run \"" + batch.lease.run +
                    "\": the records behind " + std::to_string(answers.number(at, 3)) + " up to " +
                    std::to_string(known[row]) +
                    "; it was restarted without them, as fsync or synchronous_commit off allow, or "
                    "another server took its place"};
    } else if (!answers.is_null(at, 1) && !last_try) {
      doubtful.push_back(sent[row]);
    } else if (!answers.is_null(at, 1)) {
      batch.outcome =
          Error{Errc::conflict, "record " + std::to_string(answers.number(at, 1)) + " of run \"" +
                                    batch.lease.run + "\" is stored already, with other content"};
    } else {
      acknowledge(batch.lease, lasts[row]);
    }
  }
  return outcome::success(std::move(doubtful));
}

Result<void> PostgresJournals::replace(const Lease& lease, std::span<const SequenceRange> ranges,
                                       std::span<const Record> instead) {
  TRIAGE_TRYV(check_held(lease));
  TRIAGE_TRYV(check_replacement(ranges, instead));
  std::vector<std::int64_t> firsts, lasts;
  for (const SequenceRange& range : ranges) {
    firsts.push_back(static_cast<std::int64_t>(std::min(range.first, largest_sequence)));
    lasts.push_back(static_cast<std::int64_t>(std::min(range.last, largest_sequence)));
  }
  RecordRows rows;
  TRIAGE_TRYV(rows.add(lease, instead, 1));
  TRIAGE_TRY(held, write(postgres_sql::replace, PgParameters()
                                                    .text(lease.run)
                                                    .number(lease.handle)
                                                    .number(static_cast<std::int64_t>(lease.epoch))
                                                    .text(mark_.text())
                                                    .number(options_.lease_timeout.count())
                                                    .numbers(firsts)
                                                    .numbers(lasts)
                                                    .numbers(rows.seq)
                                                    .numbers(rows.kind)
                                                    .numbers(rows.time)
                                                    .numbers(rows.crc)
                                                    .byte_strings(rows.body)));
  if (!held.empty()) return outcome::success();
  forget(lease);
  return pg_fenced(lease, "another owner has taken the run, or it was erased");
}

// The keys first, under a lease: a run that stays can be erased again, while keys that stayed would
// be found by the next run of this name.
Result<void> PostgresJournals::erase(const RunId& run) {
  const std::scoped_lock acquiring(acquiring_);  // Until it is gone, it looks given up to us.
  const auto seen = facts_of(run);
  if (!seen && seen.error().code == Errc::not_found) {
    TRIAGE_TRYV(erase_keys({.info = {.id = run}}));  // What an interrupted erasure left.
  }
  TRIAGE_TRY(facts, seen);
  const Error busy{Errc::busy, "run \"" + run + "\" is under way"};
  if (facts.info.owned) return busy;
  // Its suspensions name its keys.
  JournalReading reading{.info = facts.info};
  TRIAGE_TRYV(read_records(run, facts.birth, {}, RecordKind::suspended, reading));
  // Taken over first: of concurrent erasures only one succeeds, whichever replies get lost.
  TRIAGE_TRY(taken, take(facts));
  if (!taken) {
    TRIAGE_TRYV(facts_of(run));
    return busy;
  }
  Result<void> erased = erase_keys(reading);
  if (erased) {
    const auto gone = write(postgres_sql::erase, PgParameters().text(run).number(facts.birth));
    if (!gone) erased = gone.error();
  }
  if (erased) return erased;
  {
    const std::scoped_lock here(mutex_);
    held_[facts.birth] = {.epoch = *taken, .last = facts.info.last};
  }
  static_cast<void>(release(pg_lease(run, facts.birth, *taken)));
  return erased;
}

}  // namespace triage::inline v0_1::detail
