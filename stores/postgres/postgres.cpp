// SPDX-License-Identifier: MIT
// Opening and reading the PostgreSQL store.
#include "triage/stores/postgres.hpp"

#include "postgres_sql.hpp"
#include "postgres_store.hpp"
#include "triage/clock.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <limits>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr const char* format = "1";
constexpr std::string_view no_table = "42P01";
constexpr std::string_view no_schema = "3F000";

WallTime to_time(std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); }

std::int64_t largest(Sequence seq) {
  return static_cast<std::int64_t>(
      std::min<Sequence>(seq, std::numeric_limits<std::int64_t>::max()));
}

// One row of the journal: sequence, epoch, kind, time, checksum, body.
void take_record(const RunId& run, const PgRows& rows, JournalReading& out) {
  constexpr int row = 0;
  const auto seq = static_cast<Sequence>(rows.number(row, 0));
  const auto epoch = static_cast<std::uint64_t>(rows.number(row, 1));
  const auto kind = static_cast<RecordKind>(rows.number(row, 2));
  const WallTime time = to_time(rows.number(row, 3));
  const auto crc = static_cast<std::uint32_t>(rows.number(row, 4));
  const std::string_view body = rows.text(row, 5);
  if (crc == record_checksum(run, epoch, seq, kind, time, body) && is_known(kind)) {
    out.records.emplace_back(seq, kind, time, std::make_shared<const std::string>(body));
    return;
  }
  out.damaged.push_back({seq,
                         {Errc::corrupt, "record " + std::to_string(seq) + " of run \"" + run +
                                             "\" does not match its checksum"},
                         credible_kind(run, epoch, seq, kind, time, body, crc)});
}

}  // namespace

PostgresJournals::PostgresJournals(Connect connect, PostgresOptions options)
    : options_(std::move(options)),
      pool_(connect, options_.timeout, options_.connections),
      listener_(std::move(connect), "work of \"" + options_.schema + "\""),
      mark_(real_random()->next(), !options_.read_only) {}

PostgresJournals::~PostgresJournals() {
  stop_queue();
  if (process_.is_here()) return;
  pool_.abandon();
  listener_.abandon();
}

Result<void> PostgresJournals::usable() const { return process_.check("PostgreSQL"); }

std::string PostgresJournals::in_schema(std::string_view statement) const {
  std::string out;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    if (statement[i] != '@') {
      out.push_back(statement[i]);
      continue;
    }
    out += "\"" + options_.schema + "\"";
    if (i + 1 < statement.size() && statement[i + 1] >= 'a') out.push_back('.');
  }
  return out;
}

Result<PgRows> PostgresJournals::ask(const char* statement, const PgParameters& parameters,
                                     std::string* state) {
  TRIAGE_TRYV(usable());
  return pool_.ask(in_schema(statement), parameters, state);
}

Result<PgRows> PostgresJournals::write(const char* statement, const PgParameters& parameters) {
  if (!options_.read_only) return ask(statement, parameters);
  return Error{Errc::unsupported, "this PostgreSQL store is opened for reading only"};
}

// A statement that has waited for an earlier try of itself does not see what that one has
// committed; the next statement does.
Result<PgRows> PostgresJournals::write_once(const char* statement, const PgParameters& parameters,
                                            bool (*wrote)(const PgRows& rows)) {
  auto rows = write(statement, parameters);
  const bool doubtful = rows && rows.value().repeated && !wrote(rows.value());
  return doubtful ? write(statement, parameters) : std::move(rows);
}

// Also notes the durability. Errors: Errc::not_found if there is no store.
Result<std::string> PostgresJournals::find_format() {
  std::string state;
  const auto rows = ask(postgres_sql::look, {}, &state);
  const bool missing = state == no_table || state == no_schema;
  if (!rows && missing) {
    return Error{Errc::not_found,
                 "no store lies in the schema \"" + options_.schema + "\" of this database"};
  }
  if (!rows) return rows.error();
  const bool kept = rows.value().text(0, 0) == "on" && rows.value().text(0, 1) != "off";
  durability_ = kept ? Durability::power : Durability::process;
  return std::string(rows.value().text(0, 2));
}

Result<void> PostgresJournals::make_tables() {
  TRIAGE_TRY(there, ask(postgres_sql::has_schema, PgParameters().text(options_.schema)));
  std::string script = there.empty() ? in_schema(postgres_sql::make_schema) : std::string();
  script += in_schema(postgres_sql::make);
  // Several processes may do this at once: one creates it, the others find it there.
  constexpr int tries = 10;
  for (int i = 1;; ++i) {
    std::string state;
    const Result<void> made = pool_.ask_script(script, &state);
    const bool raced =
        state == "23505" || state.starts_with("42P0") || state == "42710" || state == "XX000";
    if (made || !raced || i == tries) return made;
  }
}

Result<void> PostgresJournals::note_lease() {
  const std::int64_t ours = options_.lease_timeout.count();
  TRIAGE_TRY(noted, ask(postgres_sql::longest_lease, {}));
  if (!noted.empty() && noted.number(0, 0) >= ours) return outcome::success();
  TRIAGE_TRYV(write(postgres_sql::note_lease, PgParameters().number(ours)));
  return outcome::success();
}

Result<void> PostgresJournals::look() {
  auto stored = find_format();
  const bool missing = !stored && stored.error().code == Errc::not_found;
  if (missing && !options_.read_only) {
    TRIAGE_TRYV(make_tables());
    stored = find_format();
  }
  if (!stored) return stored.error();
  if (stored.value() != format) {
    return Error{Errc::unsupported, "the schema \"" + options_.schema + "\" has format \"" +
                                        printable(stored.value()) +
                                        "\"; this version reads format " + format};
  }
  if (!options_.read_only) {
    TRIAGE_TRYV(note_lease());
  }
  if (options_.durability && *options_.durability > durability_) {
    return Error{Errc::unsupported, "the PostgreSQL server gives durability " +
                                        std::string(to_string(durability_)) + ", and " +
                                        std::string(to_string(*options_.durability)) +
                                        " is asked for; set fsync and synchronous_commit to on"};
  }
  return outcome::success();
}

StoreCapabilities PostgresJournals::capabilities() const noexcept {
  return {.durability = durability_,
          .shared_by_processes = true,
          .renew_every = options_.lease_timeout / 3};
}

bool PostgresJournals::owned(const RunFacts& facts) {
  if (facts.owner.empty()) return false;
  const auto epoch = static_cast<std::uint64_t>(facts.epoch);
  if (facts.owner == mark_.text()) {
    const std::scoped_lock here(mutex_);
    const auto held = held_.find(facts.birth);
    return held != held_.end() && held->second.epoch == epoch &&
           !mark_.gave_up({facts.birth, epoch});
  }
  switch (check_owner(facts.owner, mark_.text(), {facts.birth, epoch})) {
    case OwnerLife::alive:
    case OwnerLife::stopped: return true;
    case OwnerLife::gone: return false;
    case OwnerLife::elsewhere: break;
  }
  return is_lease_held(facts.now_ms, facts.until_ms, facts.longest_ms);
}

PostgresJournals::RunFacts PostgresJournals::facts_in(const PgRows& rows, int row) {
  RunFacts facts{.birth = rows.number(row, 1),
                 .epoch = rows.number(row, 2),
                 .owner = std::string(rows.text(row, 3)),
                 .until_ms = rows.number(row, 4),
                 .now_ms = rows.number(row, 12),
                 .longest_ms = rows.number(row, 13)};
  const auto status = parse_run_status(rows.text(row, 8));
  facts.info = {.id = RunId(rows.text(row, 0)),
                .agent = std::string(rows.text(row, 5)),
                .label = std::string(rows.text(row, 6)),
                .parent = RunId(rows.text(row, 7)),
                .status = status.value_or(RunStatus::failed),
                .started = to_time(rows.number(row, 9)),
                .updated = to_time(rows.number(row, 10)),
                .last = static_cast<Sequence>(rows.number(row, 11)),
                .damaged = !status};
  facts.info.owned = owned(facts);
  return facts;
}

Result<PostgresJournals::RunFacts> PostgresJournals::facts_of(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRY(rows, ask(postgres_sql::facts, PgParameters().text(run)));
  if (rows.empty()) {
    return Error{Errc::not_found, "no run \"" + run + "\" in this PostgreSQL store"};
  }
  return outcome::success(facts_in(rows, 0));
}

Result<RunInfo> PostgresJournals::run(const RunId& id) {
  TRIAGE_TRY(facts, facts_of(id));
  return outcome::success(std::move(facts.info));
}

Result<void> PostgresJournals::read_records(const RunId& run, std::int64_t birth,
                                            SequenceRange range, std::optional<RecordKind> kind,
                                            JournalReading& out) {
  TRIAGE_TRYV(usable());
  PgParameters parameters;
  parameters.number(birth).number(largest(range.first)).number(largest(range.last));
  if (kind) {
    parameters.number(static_cast<std::int64_t>(*kind));
  } else {
    parameters.null();
  }
  return pool_.stream(in_schema(postgres_sql::read), parameters,
                      {.begin =
                           [&] {
                             out.records.clear();
                             out.damaged.clear();
                           },
                       .take = [&](const PgRows& row) { take_record(run, row, out); }});
}

Result<JournalReading> PostgresJournals::read(const RunId& run, SequenceRange range) {
  TRIAGE_TRY(facts, facts_of(run));
  JournalReading reading{.info = std::move(facts.info)};
  TRIAGE_TRYV(read_records(run, facts.birth, range, {}, reading));
  if (!reading.records.empty()) {  // Its owner may have gone on, or compacted it, meanwhile.
    reading.info.last = std::max(reading.info.last, reading.records.back().seq());
    return outcome::success(std::move(reading));
  }
  // Verify that it was not erased meanwhile.
  TRIAGE_TRY(again, facts_of(run));
  if (again.birth != facts.birth) {
    return Error{Errc::busy, "run \"" + run + "\" was erased and made anew while it was read"};
  }
  return outcome::success(std::move(reading));
}

Result<PgRows> PostgresJournals::listed(const RunQuery& query) {
  PgParameters parameters;
  const auto text = [&](const std::string& value) {
    if (value.empty()) {
      parameters.null();
    } else {
      parameters.text(value);
    }
  };
  const auto time = [&](const std::optional<WallTime>& value) {
    if (value) {
      parameters.number(to_ms(*value));
    } else {
      parameters.null();
    }
  };
  text(query.agent);
  text(query.label);
  text(query.parent);
  text(query.status ? std::string(to_string(*query.status)) : std::string());
  time(query.started_since);
  time(query.started_until);
  if (query.limit == 0) {
    parameters.null();
  } else {
    parameters.number(largest(query.limit));
  }
  return ask(postgres_sql::list, parameters);
}

Result<std::vector<RunInfo>> PostgresJournals::runs(const RunQuery& query) {
  TRIAGE_TRY(rows, listed(query));
  std::vector<RunInfo> found;
  for (int row = 0; row < rows.size(); ++row) found.push_back(facts_in(rows, row).info);
  return outcome::success(std::move(found));
}

bool PostgresJournals::wait_for_work(std::chrono::milliseconds longest,
                                     const std::stop_token& stop) {
  return usable() && listener_.wait(longest, stop);
}

}  // namespace detail

Result<std::shared_ptr<PostgresStore>> PostgresStore::on(Connect connect,
                                                         const PostgresOptions& options) {
  using std::chrono::milliseconds;
  const auto within = [](milliseconds value, milliseconds least, milliseconds most) {
    return value >= least && value <= most;
  };
  if (!within(options.timeout, milliseconds(10), std::chrono::minutes(10)) ||
      !within(options.lease_timeout, std::chrono::seconds(1), std::chrono::hours(24)) ||
      options.connections == 0 || options.connections > 100) {
    return Error{Errc::invalid_argument,
                 "allowed are timeout 10 ms to 10 min, lease_timeout 1 s to 1 day, connections 1 "
                 "to 100"};
  }
  const std::string& schema = options.schema;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
  };
  if (schema.empty() || schema.size() > 41 || !std::all_of(schema.begin(), schema.end(), allowed) ||
      (schema.front() >= '0' && schema.front() <= '9')) {
    return Error{Errc::invalid_argument,
                 "the schema \"" + printable(schema) +
                     "\": allowed are a lower-case letter or _, then up to 40 of these and digits"};
  }
  if (!connect) {
    return Error{Errc::invalid_argument, "there is no function that opens a connection"};
  }
  const auto safely = [given = std::move(connect)]() -> pg_conn* {
    try {
      return given();
    } catch (...) {
      return nullptr;
    }
  };
  auto store = std::make_shared<detail::PostgresJournals>(safely, options);
  TRIAGE_TRYV(store->look());
  return outcome::success(std::shared_ptr<PostgresStore>(std::move(store)));
}

Result<std::shared_ptr<PostgresStore>> PostgresStore::open(const std::string& url,
                                                           const PostgresOptions& options) {
  TRIAGE_TRY(address, detail::parse_postgres_url(url, options.timeout));
  PostgresOptions own = options;
  if (!address.schema.empty()) own.schema = address.schema;
  return on(std::move(address.connect), own);
}

}  // namespace triage::inline v0_1
