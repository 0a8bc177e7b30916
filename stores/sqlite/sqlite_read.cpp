// SPDX-License-Identifier: MIT
// Reads journals and runs from the SQLite store.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
// Scans use SQLite directly: SQLiteCpp creates a reference-counted object per column of every row,
// which doubles their time.
using RawStatement = std::unique_ptr<sqlite3_stmt, Finalize>;

RawStatement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(database, code);
  return RawStatement(raw);
}

std::int64_t to_column(Sequence seq) {
  return static_cast<std::int64_t>(
      std::min<Sequence>(seq, std::numeric_limits<std::int64_t>::max()));
}

RunRow row_of(SQLite::Statement& row) {
  RunRow found;
  found.run = row.getColumn(0).getInt64();
  found.epoch = static_cast<std::uint64_t>(row.getColumn(1).getInt64());
  found.owner = row.getColumn(2).getString();
  found.unseen_ms = row.getColumn(3).getInt64();
  found.info.id = row.getColumn(4).getString();
  found.info.agent = row.getColumn(5).getString();
  found.info.label = row.getColumn(6).getString();
  found.info.parent = row.getColumn(7).getString();
  const int status = row.getColumn(8).getInt();
  const bool known = status >= 1 && status <= static_cast<int>(RunStatus::poisoned);
  found.info.status = known ? static_cast<RunStatus>(status) : RunStatus::failed;
  found.info.started = WallTime(std::chrono::milliseconds(row.getColumn(9).getInt64()));
  found.info.updated = WallTime(std::chrono::milliseconds(row.getColumn(10).getInt64()));
  found.info.last = static_cast<Sequence>(row.getColumn(11).getInt64());
  found.info.damaged = row.getColumn(12).getInt() == 0;
  return found;
}

Error damaged(const std::string& run, Sequence seq, const std::string& why) {
  return {Errc::corrupt, "record " + std::to_string(seq) + " of run \"" + run + "\" " + why};
}

// Whether a record before JournalReading::state_from can be dropped or shortened.
bool leave_out(Sequence seq, RecordKind kind, WallTime time, std::string_view body,
               JournalReading& out) {
  if (kind == RecordKind::state_changed) {
    auto& done = out.superseded;
    if (!done.empty() && done.back().last + 1 == seq) {
      done.back().last = seq;
      done.back().time = time;
    } else {
      done.push_back({seq, seq, time});
    }
    return true;
  }
  if (kind != RecordKind::state_snapshot) return false;
  // Of a snapshot without steps, only its existence counts. Keys are sorted, so a map of the two
  // begins like this: {"replaced": true or false, "state": …
  constexpr std::string_view replaced = "\xa2\x68replaced";
  constexpr std::string_view state = "\x65state";
  const std::size_t head = replaced.size() + 1 + state.size();
  if (!body.starts_with(replaced) || body.substr(0, head).substr(replaced.size() + 1) != state) {
    return false;
  }
  constexpr char empty_map = static_cast<char>(0xa0);
  out.records.emplace_back(
      seq, kind, time,
      std::make_shared<const std::string>(std::string(body.substr(0, head)) + empty_map));
  return true;
}

// Columns: seq, epoch, kind, time, crc, body; the body is null if it is too large.
void take_record(sqlite3_stmt* row, const std::string& run, JournalReading& out) {
  const auto seq = static_cast<Sequence>(sqlite3_column_int64(row, 0));
  const std::int64_t number = sqlite3_column_int64(row, 2);
  const auto kind = static_cast<RecordKind>(number);
  if (sqlite3_column_type(row, 5) != SQLITE_BLOB) {
    out.damaged.push_back({seq, damaged(run, seq, "has no body, or one that is too large"), {}});
    return;
  }
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, 5));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, 5));
  const std::string_view body(bytes == nullptr ? "" : bytes, bytes == nullptr ? 0 : size);
  const auto epoch = static_cast<std::uint64_t>(sqlite3_column_int64(row, 1));
  const WallTime time(std::chrono::milliseconds(sqlite3_column_int64(row, 3)));
  const std::int64_t crc = sqlite3_column_int64(row, 4);
  if (number < 0 || number > 0xff || !is_known(kind)) {
    out.damaged.push_back(
        {seq, damaged(run, seq, "has the unknown kind " + std::to_string(number)), {}});
  } else if (crc != static_cast<std::int64_t>(record_checksum(run, epoch, seq, kind, time, body))) {
    out.damaged.push_back(
        {seq, damaged(run, seq, "does not match its checksum"),
         credible_kind(run, epoch, seq, kind, time, body, static_cast<std::uint32_t>(crc))});
  } else if (seq >= out.state_from || !leave_out(seq, kind, time, body, out)) {
    out.records.emplace_back(seq, kind, time, std::make_shared<const std::string>(body));
  }
}

constexpr const char* scan_query =
    "SELECT seq, epoch, kind, time, crc, CASE WHEN length(body) <= 268435456 THEN body END "
    "FROM records WHERE run = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq";
static_assert(largest_record_body == 268435456);

void bind_range(sqlite3_stmt* query, std::int64_t run, SequenceRange range) {
  sqlite3_bind_int64(query, 1, run);
  sqlite3_bind_int64(query, 2, to_column(range.first));
  sqlite3_bind_int64(query, 3, to_column(range.last));
}

bool is_damage(int code) {
  const int primary = code & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_IOERR;
}

}  // namespace

std::optional<RunRow> SqliteJournals::row_at(std::int64_t number) {
  SQLite::Statement& find = statements_->find_run;
  const StatementUse use(find);
  find.bind(1, number);
  if (!find.executeStep()) return std::nullopt;
  return row_of(find);
}

Error SqliteJournals::damaged_run(const RunId& run, const std::string& why) const {
  return database_->error(Errc::corrupt,
                          "run \"" + run + "\": " + why +
                              "; the file is damaged, and `triage checkpoint verify` tells more");
}

std::optional<Error> SqliteJournals::find_hidden(const RunId& run) {
  SQLite::Statement& find = statements_->find_hidden;
  const StatementUse use(find);
  find.bindNoCopy(1, run);
  while (find.executeStep()) {
    const std::optional<RunRow> row = row_at(find.getColumn(0).getInt64());
    if (!row) return damaged_run(run, "an index lists a run that the table does not have");
    if (row->info.id == run)
      return damaged_run(run, "it is stored, but its index does not list it");
    if (row->info.damaged) return damaged_run(run, "a run that may be it is damaged");
  }
  return std::nullopt;
}

Result<std::optional<RunRow>> SqliteJournals::find_run(const RunId& run) {
  std::optional<std::int64_t> number;
  {
    SQLite::Statement& find = statements_->find_number;
    const StatementUse use(find);
    find.bindNoCopy(1, run);
    if (find.executeStep()) number = find.getColumn(0).getInt64();
  }
  if (!number) {
    if (auto hidden = find_hidden(run)) return *std::move(hidden);
    return outcome::success(std::optional<RunRow>());
  }
  std::optional<RunRow> row = row_at(*number);
  if (!row) return damaged_run(run, "its index lists it, but the table does not have it");
  if (row->info.id != run) {
    return damaged_run(run, "its index leads to \"" + printable(row->info.id) + "\"");
  }
  return outcome::success(std::move(row));
}

// For callers that change the run or rely on its status.
Result<RunRow> SqliteJournals::intact_run(const RunId& run) {
  TRIAGE_TRY(row, find_run(run));
  if (!row) return no_such_run(run);
  if (row->info.damaged) return damaged_run(run, "its row does not match its checksum");
  return outcome::success(*std::move(row));
}

Result<JournalReading> SqliteJournals::read(const RunId& run, SequenceRange range) {
  TRIAGE_TRYV(check_run_id(run));
  return guarded("reading run \"" + run + "\"", [&]() -> Result<JournalReading> {
    database_->begin_read();
    TRIAGE_TRY(row, find_run(run));
    if (!row) return no_such_run(run);
    JournalReading reading{.info = row->info};
    reading.info.owned = owned(*row);
    if (!scan(*row, range, reading)) salvage(*row, range, reading);
    find_unlisted(*row, range, reading);
    database_->commit();
    return outcome::success(std::move(reading));
  });
}

// False if damage ends the scan; `out` is then incomplete.
bool SqliteJournals::scan(const RunRow& row, SequenceRange range, JournalReading& out) {
  sqlite3* database = database_->handle().getHandle();
  const RawStatement query = prepare(database, scan_query);
  bind_range(query.get(), row.run, range);
  if (out.state_from == 0 && range.last >= row.info.last && range.first <= row.info.last) {
    // Bounded, because the number comes from the file.
    out.records.reserve(std::min<Sequence>(row.info.last - range.first + 1, 1U << 16U));
  }
  for (;;) {
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return true;
    if (code != SQLITE_ROW) {
      if (is_damage(code)) return false;
      throw SQLite::Exception(database, code);
    }
    take_record(query.get(), row.info.id, out);
  }
}

// Reads one record at a time, so that a damaged page costs only its own records. What the index
// lists and the table lacks is damaged.
void SqliteJournals::salvage(const RunRow& row, SequenceRange range, JournalReading& out) {
  out.records.clear();
  out.damaged.clear();
  std::vector<std::int64_t> sequences;
  {
    SQLite::Statement& list = statements_->list_sequences;
    const StatementUse use(list);
    list.bind(1, row.run);
    list.bind(2, to_column(range.first));
    list.bind(3, to_column(range.last));
    while (list.executeStep()) sequences.push_back(list.getColumn(0).getInt64());
  }
  sqlite3* database = database_->handle().getHandle();
  const RawStatement query = prepare(database, scan_query);
  for (const std::int64_t number : sequences) {
    const auto seq = static_cast<Sequence>(number);
    bind_range(query.get(), row.run, {seq, seq});
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_ROW) {
      take_record(query.get(), row.info.id, out);
    } else {
      const std::string reason = sqlite3_errmsg(database);
      out.damaged.push_back({seq, damaged(row.info.id, seq, "cannot be read: " + reason), {}});
    }
    sqlite3_reset(query.get());
  }
}

// A damaged index can silently hide records, even the newest ones, and with them the intent of an
// effect. All records but steps are in a second index; one that the first does not list is damaged.
void SqliteJournals::find_unlisted(const RunRow& row, SequenceRange range, JournalReading& out) {
  SQLite::Statement& list = statements_->list_facts;
  const StatementUse use(list);
  list.bind(1, row.run);
  list.bind(2, to_column(range.first));
  list.bind(3, to_column(range.last));
  auto record = out.records.begin();
  auto left_out = out.superseded.begin();
  auto damaged_one = out.damaged.begin();  // All three ascend.
  std::vector<DamagedRecord> unlisted;
  while (list.executeStep()) {
    const auto seq = static_cast<Sequence>(list.getColumn(0).getInt64());
    while (left_out != out.superseded.end() && left_out->last < seq) ++left_out;
    if (left_out != out.superseded.end() && left_out->first <= seq) continue;
    while (record != out.records.end() && record->seq() < seq) ++record;
    if (record != out.records.end() && record->seq() == seq) continue;
    while (damaged_one != out.damaged.end() && damaged_one->seq < seq) ++damaged_one;
    if (damaged_one != out.damaged.end() && damaged_one->seq == seq) continue;
    unlisted.push_back(
        {seq, damaged(row.info.id, seq, "is missing from the index of records"), {}});
  }
  if (unlisted.empty()) return;
  out.info.last = std::max(out.info.last, unlisted.back().seq);
  out.damaged.insert(out.damaged.end(), std::make_move_iterator(unlisted.begin()),
                     std::make_move_iterator(unlisted.end()));
  std::sort(out.damaged.begin(), out.damaged.end(),
            [](const DamagedRecord& a, const DamagedRecord& b) { return a.seq < b.seq; });
}

Result<std::vector<RunInfo>> SqliteJournals::runs(const RunQuery& query) {
  return guarded("listing runs", [&]() -> Result<std::vector<RunInfo>> {
    SQLite::Statement& list = statements_->list_runs;
    const StatementUse use(list);
    const auto bind_time = [&](int index, const std::optional<WallTime>& time) {
      if (time) {
        list.bind(index, std::int64_t{time->time_since_epoch().count()});
      } else {
        list.bind(index);
      }
    };
    list.bindNoCopy(1, query.agent);
    list.bindNoCopy(2, query.label);
    list.bindNoCopy(3, query.parent);
    if (query.status) {
      list.bind(4, static_cast<int>(*query.status));
    } else {
      list.bind(4);
    }
    bind_time(5, query.started_since);
    bind_time(6, query.started_until);
    list.bind(7, query.limit == 0 ? std::int64_t{-1} : to_column(query.limit));
    std::vector<RunInfo> found;
    while (list.executeStep()) {
      RunRow row = row_of(list);
      row.info.owned = owned(row);
      found.push_back(std::move(row.info));
    }
    return outcome::success(std::move(found));
  });
}

Result<RunInfo> SqliteJournals::run(const RunId& id) {
  TRIAGE_TRYV(check_run_id(id));
  return guarded("looking up run \"" + id + "\"", [&]() -> Result<RunInfo> {
    TRIAGE_TRY(row, intact_run(id));
    row.info.owned = owned(row);
    return outcome::success(std::move(row.info));
  });
}

}  // namespace triage::inline v0_1::detail
