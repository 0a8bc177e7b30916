// SPDX-License-Identifier: MIT
#include "store_faults.hpp"

#include "triage/journal.hpp"
#include "writer_process.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

namespace triage::test {
static constexpr auto patience = std::chrono::seconds(5);  // Leases last one second.
static constexpr const char* intruder = "of whoever took over";
static constexpr const char* takeover = "writer stopped beyond its lease";

struct StoreFaults::Case {
  std::uint64_t seed = 0;
  std::string store{};  // "sqlite", "file", "redis", "postgres".
  std::string url{};
  RunId run{};
  std::string clock{};
  std::string fault{};
  std::mt19937_64 random{};
  Sequence acknowledged = 0;
  std::set<Sequence> ours{};  // Records that this process has appended.
  bool may_lose = false;      // A write was torn: the newest records may be lost.

  [[nodiscard]] int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
};

StoreFaults::StoreFaults()
    : redis_(std::make_unique<RedisServer>(
          std::vector<std::string>{"--appendonly", "yes", "--appendfsync", "always"})),
      postgres_(std::make_unique<PostgresServer>()) {}
StoreFaults::~StoreFaults() = default;

void StoreFaults::violation(const Case& now, const std::string& what) {
  ++violations_;
  ++found_[now.fault];
  std::fprintf(stderr, "seed %llu, %s, %s: %s\n", static_cast<unsigned long long>(now.seed),
               now.store.c_str(), now.fault.c_str(), what.c_str());
}

std::vector<std::string> StoreFaults::stores() const {
  std::vector<std::string> all{"sqlite", "file"};
  if (redis_->ready()) all.emplace_back("redis");
  if (postgres_->ready()) all.emplace_back("postgres");
  return all;
}

StoreFaults::Case StoreFaults::begin(std::uint64_t seed, const std::string& store) const {
  Case now{.seed = seed, .store = store, .random = std::mt19937_64(seed)};
  now.run = "r" + std::to_string(seed);
  now.url = store == "redis"      ? redis_->url()
            : store == "postgres" ? postgres_->url()
            : store == "file"     ? "file:" + folder_.file("journals")
                                  : folder_.file("runs" + std::to_string(seed) + ".db");
  constexpr const char* clocks[] = {"now", "jumps", "1970", "2106"};
  now.clock = clocks[now.below(4)];
  return now;
}

void StoreFaults::kills(std::uint64_t seed, int count) {
  constexpr int each = 25;
  const std::vector<std::string> all = stores();
  for (int done = 0; done < count; ++seed) {
    Case now = begin(seed, all[seed % all.size()]);
    for (int i = 0; i < each && done < count; ++i, ++done) inject(now, "kill -9 of the writer");
    inject(now, "no fault, at the end");
  }
}

void StoreFaults::round(std::uint64_t seed) {
  const std::vector<std::string> all = stores();
  Case now = begin(seed, all[seed % all.size()]);
  const bool server = now.store == "redis" || now.store == "postgres";
  const std::vector<std::string> faults =
      server ? std::vector<std::string>{"kill -9 of the writer", "kill -9 of the server",
                                        "sessions ended by the server", "connection cut"}
             : std::vector<std::string>{"kill -9 of the writer", "disk full", "torn write"};
  // One takeover in every round, because few other faults show whether a stale owner is kept out.
  inject(now, takeover);
  for (int i = 0; i < 2; ++i) {
    inject(now, faults[static_cast<std::size_t>(now.below(static_cast<int>(faults.size())))]);
  }
  inject(now, "no fault, at the end");
}

void StoreFaults::inject(Case& now, const std::string& fault) {
  now.fault = fault;
  ++injected_[fault][now.store];
  if (now.clock != "now") ++injected_["clock of the records: " + now.clock][now.store];
  if (fault == "no fault, at the end") write_undisturbed(now);
  if (fault == "kill -9 of the writer") kill_writer(now);
  if (fault == takeover) stop_and_take_over(now);
  if (fault == "kill -9 of the server") restart_server(now);
  if (fault == "sessions ended by the server") end_sessions(now);
  if (fault == "connection cut") cut_connection(now);
  if (fault == "disk full") fill_disk(now);
  if (fault == "torn write") tear_file(now);
  verify(now);
}

// True for an acknowledgement.
bool StoreFaults::take(Case& now, const std::string& line) {
  if (line.starts_with("F ")) ++fenced_;
  if (!line.starts_with("A ")) return false;
  now.acknowledged = std::max<Sequence>(now.acknowledged, std::stoull(line.substr(2)));
  ++acknowledged_;
  return true;
}

// True if it completed, or was told that the run belongs to another owner.
bool StoreFaults::run_to_end(Case& now, Writer& writer) {
  bool knows = false;
  bool failed = false;
  for (std::string line = writer.line(); !line.empty(); line = writer.line()) {
    take(now, line);
    failed = failed || line.starts_with("E ");
    knows = knows || line.starts_with("F ") || (line == "D" && !failed);
  }
  return knows;
}

static WriterOrder order_of(const std::string& url, const RunId& run, std::uint64_t seed,
                            const std::string& clock) {
  return {.url = url, .run = run, .seed = seed, .batches = 40, .clock = clock};
}

// Until it has acknowledged this many batches; false if it ended before.
bool StoreFaults::follow(Case& now, Writer& writer, int batches) {
  while (batches > 0) {
    const std::string line = writer.line();
    if (line.empty()) return false;
    if (take(now, line)) --batches;
  }
  return true;
}

void StoreFaults::write_undisturbed(Case& now) {
  WriterOrder order = order_of(now.url, now.run, now.seed, now.clock);
  order.batches = 5;
  const Sequence before = now.acknowledged;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (now.acknowledged == before && std::chrono::steady_clock::now() < until) {
    Writer writer(order);  // A lease may have to run out first.
    run_to_end(now, writer);
  }
  if (now.acknowledged == before) violation(now, "the run cannot be continued");
}

void StoreFaults::kill_writer(Case& now) {
  Writer writer(order_of(now.url, now.run, now.seed, now.clock));
  follow(now, writer, 1 + now.below(30));
  writer.send(SIGKILL);
  run_to_end(now, writer);
}

// Another owner continues the run; later writes of the stopped writer change nothing.
void StoreFaults::stop_and_take_over(Case& now) {
  WriterOrder order = order_of(now.url, now.run, now.seed, now.clock);
  order.far = now.below(8) != 0;
  Writer writer(order);
  if (!follow(now, writer, 1 + now.below(20))) return;
  writer.send(SIGSTOP);
  const auto store = open_for_campaign(now.url);
  if (!store) {
    // Stopped in the middle of a transaction, it locks everyone out.
    if (store.error().code != Errc::busy) {
      violation(now, "the store cannot be opened: " + store.error().detail);
    }
    writer.send(SIGCONT);
    run_to_end(now, writer);
    return;
  }
  Result<Lease> lease = store.value()->acquire(now.run);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!lease && lease.error().code == Errc::busy && std::chrono::steady_clock::now() < until) {
    lease = store.value()->acquire(now.run);
  }
  if (!lease) {
    // On one host a stopped process is alive: only operators may take its run away in SQLite.
    writer.send(SIGCONT);
    run_to_end(now, writer);
    return;
  }
  ++takeovers_;
  const auto there = store.value()->run(now.run);
  if (!there) return violation(now, "the run is gone: " + there.error().detail);
  const Sequence next = there.value().last + 1;
  const std::vector<Record> records{{next, RecordKind::usage, WallTime{},
                                     std::make_shared<const Json>(Json{{"mark", intruder}})}};
  const auto append = [&] {
    auto done = store.value()->append(lease.value(), records, RunStatus::running);
    if (!done) violation(now, "who took over cannot append: " + done.error().detail);
    return done.has_value();
  };
  // The stale owner returns before or after the new one has written something.
  const bool at_once = now.below(2) == 0;
  if (at_once && !append()) return;
  writer.send(SIGCONT);
  // Lines from before the stop may still be in the pipe; later sequences than ours must not be.
  if (!run_to_end(now, writer))
    violation(now, "a stale owner is not told that it has lost the run");
  if (now.acknowledged >= next) violation(now, "a stale owner's append was acknowledged");
  if (!at_once && !append()) return;
  now.ours.insert(next);
  now.acknowledged = std::max(now.acknowledged, next);
  static_cast<void>(store.value()->release(lease.value()));
}

void StoreFaults::restart_server(Case& now) {
  Writer writer(order_of(now.url, now.run, now.seed, now.clock));
  follow(now, writer, 1 + now.below(20));
  if (now.store == "redis") {
    redis_->kill();
    redis_->start();
  } else {
    postgres_->crash();
    postgres_->start();
  }
  run_to_end(now, writer);
}

void StoreFaults::end_sessions(Case& now) {
  Writer writer(order_of(now.url, now.run, now.seed, now.clock));
  follow(now, writer, 1 + now.below(20));
  if (now.store == "redis") {
    static_cast<void>(redis_->ask({"CLIENT", "KILL", "TYPE", "normal"}));
  } else {
    static_cast<void>(
        postgres_->ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                       "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"));
  }
  run_to_end(now, writer);
}

void StoreFaults::cut_connection(Case& now) {
  FaultProxy proxy(now.store == "redis" ? redis_->port() : postgres_->port());
  std::string url = now.url;
  const std::string port =
      std::to_string(now.store == "redis" ? redis_->port() : postgres_->port());
  url.replace(url.find(":" + port), port.size() + 1, ":" + std::to_string(proxy.port()));
  const auto which = now.below(2) == 0 ? FaultProxy::Cut::question : FaultProxy::Cut::answer;
  proxy.cut_nth(5 + now.below(40), which);
  Writer writer(order_of(url, now.run, now.seed, now.clock));
  run_to_end(now, writer);
}

void StoreFaults::fill_disk(Case& now) {
  WriterOrder order = order_of(now.url, now.run, now.seed, now.clock);
  // Less than what it writes: a journal of lines, or a log of pages.
  order.file_bytes = static_cast<std::uint64_t>(now.store == "file" ? 2'000 + now.below(30'000)
                                                                    : 20'000 + now.below(150'000));
  Writer writer(order);
  run_to_end(now, writer);
}

// The newest bytes never reached the disk.
void StoreFaults::tear_file(Case& now) {
  kill_writer(now);
  const std::string file = now.store == "sqlite" ? now.url + "-wal" : [&] {
    std::string newest;
    for (const auto& one :
         std::filesystem::recursive_directory_iterator(folder_.file("journals"))) {
      const std::string path = one.path().string();
      if (one.is_regular_file() && path.find("/" + now.run) != std::string::npos &&
          path.ends_with(".jsonl")) {
        newest = std::max(newest, path);
      }
    }
    return newest;
  }();
  std::error_code problem;
  const auto size = std::filesystem::file_size(file, problem);
  if (problem || size < 200) return;
  const auto cut = static_cast<std::uintmax_t>(1 + now.below(150));
  std::filesystem::resize_file(file, size - cut, problem);
  now.may_lose = true;
}

void StoreFaults::verify(Case& now) {
  const auto store = open_for_campaign(now.url);
  if (!store) return violation(now, "the store cannot be opened: " + store.error().detail);
  const auto reading = store.value()->read(now.run, {});
  if (!reading) {
    const bool fine =
        reading.error().code == Errc::not_found && (now.acknowledged == 0 || now.may_lose);
    if (!fine) violation(now, "the run cannot be read: " + reading.error().detail);
    if (fine) now.acknowledged = 0;
    return;
  }
  const std::vector<Record>& records = reading.value().records;
  records_ += records.size();
  if (!reading.value().damaged.empty()) violation(now, "a record does not match its checksum");
  Sequence last = 0;
  for (const Record& record : records) {
    if (record.seq() != last + 1)
      violation(now, "record " + std::to_string(last + 1) + " is missing");
    last = record.seq();
    const auto body = record.body();
    const std::string mark = body ? body.value().value("mark", "") : "";
    if (mark != (now.ours.contains(last) ? intruder : mark_of(now.seed, last))) {
      violation(now, "record " + std::to_string(last) + " has another content");
    }
  }
  if (last < now.acknowledged && !now.may_lose) {
    violation(now, "acknowledged up to " + std::to_string(now.acknowledged) + ", readable up to " +
                       std::to_string(last));
  }
  if (now.may_lose) {
    if (last < now.acknowledged) ++losses_;
    now.acknowledged = std::min(now.acknowledged, last);
    std::erase_if(now.ours, [last](Sequence seq) { return seq > last; });
    now.may_lose = false;
  }
  const auto journal = Journal::fold(reading.value());
  if (!journal) return violation(now, "the journal cannot be folded: " + journal.error().detail);
  for (const Record& record : records) {
    const auto body = record.body();
    if (record.kind() != RecordKind::effect_completed || !body) continue;
    const auto effect = journal.value().effects().find(body.value().value("key", ""));
    if (effect == journal.value().effects().end() ||
        effect->second.status != EffectState::Status::completed) {
      violation(now, "an effect whose result is stored does not count as done");
    }
  }
  if (auto problems = store.value()->check(); problems && now.store != "file") {
    for (const std::string& one : problems.value()) violation(now, "check(): " + one);
  }
}

std::string StoreFaults::account() const {
  const std::vector<std::string> stores{"sqlite", "file", "redis", "postgres"};
  std::string text =
      "| fault | SQLite | JSON files | Redis | PostgreSQL | violations "
      "|\n|---|---|---|---|---|---|\n";
  for (const auto& [fault, where] : injected_) {
    text += "| " + fault + " |";
    for (const std::string& store : stores) {
      const auto count = where.find(store);
      text += " " + (count == where.end() ? "" : std::to_string(count->second)) + " |";
    }
    const auto found = found_.find(fault);
    text += " " + std::to_string(found == found_.end() ? 0 : found->second) + " |\n";
  }
  text += "\n" + std::to_string(acknowledged_) + " batches acknowledged, " +
          std::to_string(records_) + " records read back and compared; " +
          std::to_string(takeovers_) + " takeovers, " + std::to_string(fenced_) +
          " stale appends, all refused; " + std::to_string(losses_) +
          " torn writes took acknowledged records with them, as a power cut at level `process` "
          "may.\n";
  return text;
}

}  // namespace triage::test
