// SPDX-License-Identifier: MIT
// Erases runs from the SQLite store in slices, so that appending processes never wait long.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace triage::inline v0_1::detail {
namespace {

// The most records and runs that one transaction removes.
constexpr std::size_t rows_a_slice = 1'000;
// Between slices others get their turn: SQLite retries at intervals instead of queueing.
constexpr std::chrono::milliseconds longest_pause{50};

using std::chrono::steady_clock;

void let_others_in(steady_clock::time_point began) {
  const auto took = steady_clock::now() - began;
  std::this_thread::sleep_for(std::min<steady_clock::duration>(took, longest_pause));
}

}  // namespace

// Removes the run, and its records if this slice has room for them; otherwise marks them for later.
// `room`: how many rows this transaction may still remove.
std::optional<Error> SqliteJournals::take_away(const RunId& run, std::size_t& room) {
  const Result<std::optional<RunRow>> found = find_run(run);
  if (!found) return found.error();
  const std::optional<RunRow>& row = found.value();
  if (!row) return no_such_run(run);
  if (owned(*row)) {
    return database_->error(Errc::busy, "run \"" + run + "\" is under way, so it cannot be erased");
  }
  forget_keys(*row);
  statements_->erase_run.bind(1, row->run);
  database_->run(statements_->erase_run);
  const auto rows = static_cast<std::size_t>(std::min<Sequence>(row->info.last, rows_a_slice + 1));
  if (rows <= rows_a_slice) {
    statements_->erase_records.bind(1, row->run);
    database_->run(statements_->erase_records);
  } else {
    statements_->leave_over.bind(1, row->run);
    database_->run(statements_->leave_over);
  }
  room -= std::min(room, std::max<std::size_t>(rows, 1));
  held_.erase(row->run);
  return std::nullopt;
}

// Erases one slice of marked records, including those of processes that died. A damaged mark goes
// without any record, because its number may now be that of another run. True if there may be more.
Result<bool> SqliteJournals::erase_some_left_over() {
  return guarded_write("erasing records", [&]() -> Result<bool> {
    database_->begin_write();
    std::string key;
    std::optional<std::int64_t> run;  // Empty: the mark is damaged.
    {
      SQLite::Statement& mark = statements_->find_left_over;
      const StatementUse use(mark);
      if (!mark.executeStep()) return false;
      key = mark.getColumn(0).getString();
      if (mark.getColumn(2).getInt() != 0) run = mark.getColumn(1).getInt64();
    }
    bool last = true;
    if (run) {
      SQLite::Statement& erase = statements_->erase_some_records;
      erase.bind(1, *run);
      erase.bind(2, static_cast<std::int64_t>(rows_a_slice));
      database_->run(erase);
      last = database_->handle().getChanges() < static_cast<int>(rows_a_slice);
    }
    if (last) {
      bind_text(statements_->forget_left_over, 1, key);
      database_->run(statements_->forget_left_over);
    }
    // If the mark stays in spite of that, the next slice would be the same one for ever.
    const bool went_on = database_->handle().getChanges() > 0;
    database_->commit();
    database_->checkpoint_log_if_large();
    return went_on;
  });
}

// The runs are already gone and marked: after a failure, the next erasure continues.
void SqliteJournals::erase_left_over() {
  for (;;) {
    const auto began = steady_clock::now();
    const Result<bool> more = erase_some_left_over();
    if (!more || !more.value()) return;
    let_others_in(began);
  }
}

Result<void> SqliteJournals::erase(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRYV(guarded_write("erasing run \"" + run + "\"", [&]() -> Result<void> {
    database_->begin_write();
    std::size_t room = rows_a_slice;
    if (auto refused = take_away(run, room)) return *std::move(refused);
    database_->commit();
    database_->checkpoint_log_if_large();
    return outcome::success();
  }));
  erase_left_over();
  return outcome::success();
}

Result<std::size_t> SqliteJournals::erase_all(std::span<const RunId> runs) {
  std::size_t done = 0;
  std::size_t erased = 0;
  while (done < runs.size()) {
    const auto began = steady_clock::now();
    TRIAGE_TRYV(guarded_write("erasing runs", [&]() -> Result<void> {
      std::size_t next = done;
      std::size_t gone = 0;
      database_->begin_write();
      for (std::size_t room = rows_a_slice; room > 0 && next < runs.size(); ++next) {
        const auto refused = take_away(runs[next], room);
        if (!refused) ++gone;
        if (refused && refused->code != Errc::busy && refused->code != Errc::not_found) {
          return *refused;
        }
      }
      database_->commit();
      database_->checkpoint_log_if_large();
      done = next;
      erased += gone;
      return outcome::success();
    }));
    let_others_in(began);
  }
  erase_left_over();
  return outcome::success(erased);
}

}  // namespace triage::inline v0_1::detail
