// SPDX-License-Identifier: MIT
// The cost of the stores compared with what they are built on: a file, Redis and PostgreSQL servers
// of its own, raw rows; and of encryption and compaction. Prints one line per row: name, ratio,
// both medians. Needs the servers of `scripts/setup --test`.
#include "postgres/postgres_connection.hpp"
#include "postgres/postgres_sql.hpp"
#include "support/raw_servers.hpp"
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/compaction.hpp"
#include "triage/stores/compacting.hpp"
#include "triage/stores/encrypted.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/postgres.hpp"
#include "triage/stores/redis.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

constexpr int rounds = 5;
constexpr std::size_t groups = 40;
constexpr std::size_t together = 64;  // Records of 1 KB per group.

using Group = std::vector<Record>;

std::vector<Group> groups_of(std::size_t size, std::size_t bytes, Sequence first = 2) {
  std::vector<Group> all(groups);
  for (Group& group : all) {
    for (std::size_t i = 0; i < size; ++i) {
      Step step = make_step(Shape::flat, static_cast<std::size_t>(first));
      if (bytes > 2'000) step.llm_output = std::string(bytes, 'a');
      std::string encoded;
      detail::encode_step(step, encoded);
      group.emplace_back(first++, RecordKind::step, WallTime(std::chrono::milliseconds(first)),
                         std::make_shared<const std::string>(std::move(encoded)));
    }
  }
  return all;
}

RunId fresh_run() {
  static int number = 0;
  return "run-" + std::to_string(++number);
}

// Seconds to append all groups to a new run, and those of them in which this thread's processor
// worked.
struct Spent {
  double seconds = 0;
  double working = 0;
  double elsewhere = 0;  // As `server` says.
};
Spent time_appends(
    CheckpointStore& store, const std::vector<Group>& all,
    const std::function<double()>& server = [] { return 0.0; }) {
  const RunId run = fresh_run();
  const Group first{{1, RecordKind::run_started, WallTime{},
                     std::make_shared<const Json>(Json{{"agent", "bench"}})}};
  const Lease lease = store.start({.id = run, .agent = "bench"}, first).value();
  const double server_before = server();
  const auto begin = Clock::now();
  const double worked = thread_seconds();
  for (const Group& group : all) store.append(lease, group, RunStatus::running).value();
  Spent spent{.seconds = seconds_since(begin), .working = thread_seconds() - worked};
  spent.elsewhere = server() - server_before;
  store.release(lease).value();
  store.erase(run).value();
  return spent;
}
double append_all(CheckpointStore& store, const std::vector<Group>& all) {
  return time_appends(store, all).seconds;
}

void row(const char* name, double ours, double raw) {
  std::printf("| %s | %.2f | %.2f ms | %.2f ms |\n", name, raw / ours, ours * 1e3, raw * 1e3);
  std::fflush(stdout);
}
void cost(const char* name, double with, double without) {
  std::printf("| %s | × %.3f | %.3f ms | %.3f ms |\n", name, with / without, with * 1e3,
              without * 1e3);
  std::fflush(stdout);
}

// Writes the same bytes as the store, without it.
void json_files(const Scratch& scratch) {
  const auto all = groups_of(together, 1'000);
  for (const Durability level : {Durability::power, Durability::process}) {
    const std::string folder =
        scratch.fresh(level == Durability::power ? "json-power" : "json-process");
    const auto store = JsonFileStore::open(folder, {.durability = level}).value();
    const auto lease = store->start({.id = "lines", .agent = "bench"}, {}).value();
    for (const Group& group : all) store->append(lease, group, RunStatus::running).value();
    std::ifstream in(folder + "/runs/lines.jsonl", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t part = text.size() / groups;
    const std::string file = scratch.fresh("raw");
    const auto [ours, raw] = by_turns(
        rounds, [&] { return append_all(*store, all); },
        [&] {
          const int handle = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
          const auto begin = Clock::now();
          for (std::size_t i = 0; i < groups; ++i) {
            if (::write(handle, text.data() + i * part, part) < 0) std::abort();
            if (level == Durability::power && ::fdatasync(handle) != 0) std::abort();
          }
          const double seconds = seconds_since(begin);
          ::close(handle);
          return seconds;
        });
    row(level == Durability::power ? "JSON files, `power`: raw `write` and `fdatasync`"
                                   : "JSON files, `process`: raw `write`",
        ours, raw);
  }
}

void redis() {
  const test::RedisServer server({"--appendonly", "yes", "--appendfsync", "everysec"});
  if (!server.ready()) return;
  const auto store = RedisStore::open(server.url()).value();
  const auto all = groups_of(together, 1'000);
  RawRedis raw_server(server.port());
  const auto [ours, raw] = by_turns(
      rounds, [&] { return append_all(*store, all); },
      [&] {
        const auto begin = Clock::now();
        for (const Group& group : all) raw_server.add("raw", group);
        const double seconds = seconds_since(begin);
        raw_server.forget("raw");
        return seconds;
      });
  row("Redis: pipelined XADD through hiredis", ours, raw);
  // What both sides' processors do, where others use them as well.
  const auto [ours_working, raw_working] = by_turns(
      5 * rounds,
      [&] {
        const Spent spent = time_appends(*store, all, [&] { return raw_server.server_seconds(); });
        return spent.working + spent.elsewhere;
      },
      [&] {
        const double before = raw_server.server_seconds() + thread_seconds();
        for (const Group& group : all) raw_server.add("raw", group);
        const double working = raw_server.server_seconds() + thread_seconds() - before;
        raw_server.forget("raw");
        return working;
      });
  row("… processor time of server and client", ours_working, raw_working);
}

void postgres() {
  const test::PostgresServer server;
  if (!server.ready()) return;
  const auto store = PostgresStore::open(server.url()).value();
  const auto all = groups_of(together, 1'000);
  RawPostgres raw_server(server.url());
  const auto [ours, raw] = by_turns(
      rounds, [&] { return append_all(*store, all); },
      [&] {
        raw_server.clear();
        const auto begin = Clock::now();
        for (const Group& group : all) raw_server.insert(group);
        return seconds_since(begin);
      });
  row("PostgreSQL: raw multi-row INSERT", ours, raw);

  for (int i = 0; i < 10'000; ++i) {
    const auto lease =
        store->start({.id = "many-" + std::to_string(i), .agent = "lister"}, {}).value();
    store->release(lease).value();
  }
  const auto [listing, query] = by_turns(
      rounds,
      [&] {
        const auto begin = Clock::now();
        if (store->runs({.limit = 0}).value().size() < 10'000) std::abort();
        return seconds_since(begin);
      },
      [&] {
        const auto begin = Clock::now();
        raw_server.list_runs();
        return seconds_since(begin);
      });
  cost("PostgreSQL: listing 10,000 runs, against the raw query", listing, query);
}

// The append statement of the store, and the same without the comparison of epoch and owner, which
// could be done in the client: by turns, a group each.
void fencing_postgres() {
  const test::PostgresServer server({"fsync=off"});
  if (!server.ready()) return;
  const auto store = PostgresStore::open(server.url()).value();
  auto address = detail::parse_postgres_url(server.url(), std::chrono::seconds(5)).value();
  detail::PgPool pool(std::move(address.connect), std::chrono::seconds(5), 1);
  std::string fenced;
  for (const char* at = detail::postgres_sql::append; *at != '\0'; ++at) {
    if (*at != '@') {
      fenced.push_back(*at);
    } else {
      fenced += at[1] >= 'a' ? "triage." : "triage";
    }
  }
  const std::string comparison = "r.birth = g.birth AND r.epoch = g.epoch AND r.owner = $1::text";
  std::string bare = fenced;
  bare.replace(bare.find(comparison), comparison.size(),
               "r.birth = g.birth AND $1::text IS NOT NULL");
  for (const std::size_t size : {together, std::size_t{1}}) {
    const RunId run = fresh_run();
    const Lease lease = store->start({.id = run, .agent = "bench"}, {}).value();
    const std::string owner =
        server.ask("SELECT owner FROM triage.runs WHERE run_id = '" + run + "'").value();
    Sequence next = 1;
    const auto append = [&](const std::string& statement) {
      std::vector<std::int64_t> batch, seq, kind, time, crc;
      std::vector<std::string> body;
      for (std::size_t i = 0; i < size; ++i, ++next) {
        batch.push_back(1);
        seq.push_back(static_cast<std::int64_t>(next));
        kind.push_back(1);
        time.push_back(1);
        crc.push_back(1);
        body.emplace_back(1'000, 'x');
      }
      const auto last = static_cast<std::int64_t>(next - 1);
      detail::PgParameters parameters;
      parameters.text(owner).number(30'000).texts({run}).numbers({lease.handle});
      parameters.numbers({1}).texts({"running"}).numbers({1}).numbers({last}).numbers(batch);
      parameters.numbers(seq).numbers(kind).numbers(time).numbers(crc).byte_strings(body);
      parameters.numbers({last - static_cast<std::int64_t>(size)});
      const auto begin = Clock::now();
      pool.ask(statement, parameters).value();
      return seconds_since(begin);
    };
    constexpr int appends = 600;
    const auto [with, without] = by_turns(
        appends, [&] { return append(fenced); }, [&] { return append(bare); });
    cost(size == 1 ? "PostgreSQL: comparing birth, epoch and owner, one record"
                   : "PostgreSQL: comparing birth, epoch and owner, groups of 64",
         with, without);
    store->release(lease).value();
  }
}

void listing_sqlite(const Scratch& scratch) {
  const std::string path = scratch.fresh("list.db");
  const auto store = SqliteStore::open(path).value();
  for (int i = 0; i < 10'000; ++i) {
    const auto lease =
        store->start({.id = "many-" + std::to_string(i), .agent = "lister"}, {}).value();
    store->release(lease).value();
  }
  SQLite::Database database(path);
  const auto [listing, query] = by_turns(
      rounds,
      [&] {
        const auto begin = Clock::now();
        if (store->runs({.limit = 0}).value().size() != 10'000) std::abort();
        return seconds_since(begin);
      },
      [&] {
        SQLite::Statement rows(database, "SELECT * FROM runs ORDER BY started DESC, run_id DESC");
        const auto begin = Clock::now();
        std::size_t bytes = 0;
        while (rows.executeStep()) {
          for (int i = 0; i < rows.getColumnCount(); ++i) {
            bytes += rows.getColumn(i).getString().size();
          }
        }
        if (bytes == 0) std::abort();
        return seconds_since(begin);
      });
  cost("SQLite: listing 10,000 runs, against the raw query", listing, query);
}

void encryption(const Scratch& scratch) {
  const auto plain = SqliteStore::open(scratch.fresh("plain.db")).value();
  const auto inner = SqliteStore::open(scratch.fresh("sealed.db")).value();
  const auto sealed =
      EncryptedStore::around(inner, {.key = {.id = "k", .secret = std::string(32, 's')}}).value();
  const auto all = groups_of(16, 64U << 10U);
  // Processor time, because nothing waits for a disk, and other programs distort the rest.
  const auto [with, without] = by_turns(
      rounds, [&] { return time_appends(*sealed, all).working; },
      [&] { return time_appends(*plain, all).working; });
  cost("encryption: SQLite, groups of 16 records of 64 KB, processor time", with, without);
}

// The 99th percentile of appends with one change each.
double slow_append(CheckpointStore& store, std::size_t count) {
  const RunId run = fresh_run();
  const Group first{{1, RecordKind::run_started, WallTime{},
                     std::make_shared<const Json>(Json{{"agent", "bench"}})}};
  const Lease lease = store.start({.id = run, .agent = "bench"}, first).value();
  std::vector<double> seconds(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Group one{{i + 2, RecordKind::state_changed, WallTime{},
                     std::make_shared<const Json>(Json{{"page", i}})}};
    const auto begin = Clock::now();
    store.append(lease, one, RunStatus::running).value();
    seconds[i] = seconds_since(begin);
  }
  store.release(lease).value();
  store.erase(run).value();
  return percentile(std::move(seconds), 0.99);
}

void compaction(const Scratch& scratch, std::size_t count) {
  const auto plain = SqliteStore::open(scratch.fresh("long.db")).value();
  const auto inner = SqliteStore::open(scratch.fresh("short.db")).value();
  const auto store = CompactingStore::around(inner, {.rule = {.max_checkpoints = 100}}).value();
  const auto [with, without] = by_turns(
      rounds, [&] { return slow_append(*store, count); },
      [&] { return slow_append(*plain, count); });
  cost("compaction while a run writes: p99 of an append to SQLite", with, without);
}

}  // namespace
}  // namespace triage::bench

// Usage: store_figures [PART…]: files, redis, postgres, fencing, list, encryption, compaction;
// default: all of these. And million: compaction with a million changes.
int main(int count, char** arguments) {
  using namespace triage::bench;
  const std::vector<std::string> parts(arguments + 1, arguments + count);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  const Scratch scratch;
  std::printf("| row | ratio | store | raw |\n|---|---|---|---|\n");
  if (wanted("files")) json_files(scratch);
  if (wanted("redis")) redis();
  if (wanted("postgres")) postgres();
  if (wanted("fencing")) fencing_postgres();
  if (wanted("list")) listing_sqlite(scratch);
  if (wanted("encryption")) encryption(scratch);
  if (wanted("compaction")) compaction(scratch, 100'000);
  if (!parts.empty() && wanted("million")) compaction(scratch, 1'000'000);
}
