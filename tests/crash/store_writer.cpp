// SPDX-License-Identifier: MIT
// The writer process of the store campaign: it appends, and reports what was acknowledged.
#include "store_writer.hpp"

#include "triage/stores/json_file.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/stores/postgres.hpp"
#include "triage/stores/redis.hpp"
#include "triage/stores/sqlite.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <utility>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace triage::test {
namespace {

constexpr auto lease_timeout = std::chrono::milliseconds(1'000);  // The shortest allowed.

void say(const std::string& line) {
  const std::string text = line + "\n";
  // One write: a line appears entirely or not at all.
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(9);
}

template <class Store>
Result<std::shared_ptr<CheckpointStore>> plain(Result<std::shared_ptr<Store>> opened) {
  if (!opened) return opened.error();
  return outcome::success(std::shared_ptr<CheckpointStore>(std::move(opened).value()));
}

WallTime time_of(const std::string& clock, Sequence seq) {
  // Deterministic, because records that are appended again must be identical.
  const WallTime now(std::chrono::milliseconds(1'790'000'000'000 + seq));
  if (clock == "1970") return WallTime(std::chrono::milliseconds(seq));
  if (clock == "2106") return WallTime(std::chrono::seconds(4'294'967'295LL));
  if (clock == "jumps") return now + std::chrono::hours(seq % 2 == 0 ? 1 : -1);
  return now;
}

// In turn a state change, an effect's intent, and its result.
Record record_of(std::uint64_t seed, Sequence seq, const std::string& clock) {
  const std::string key = "e" + std::to_string(seq - seq % 3);
  Json body{{"key", key}, {"generation", 1}, {"mark", mark_of(seed, seq)}};
  RecordKind kind = RecordKind::state_changed;
  if (seq % 3 == 0) kind = RecordKind::effect_intended;
  if (seq % 3 == 1 && seq > 3) kind = RecordKind::effect_completed;
  if (kind == RecordKind::effect_completed) body["result"] = mark_of(seed, seq);
  if (seq == 1) {
    kind = RecordKind::run_started;
    body["agent"] = "campaign";
  }
  return {seq, kind, time_of(clock, seq), std::make_shared<const Json>(std::move(body))};
}

Result<std::pair<Lease, Sequence>> take(CheckpointStore& store, const WriterOrder& order) {
  const auto there = store.run(order.run);
  if (!there && there.error().code != Errc::not_found) return there.error();
  if (!there) {
    const std::vector<Record> first{record_of(order.seed, 1, order.clock)};
    auto lease = store.start({.id = order.run, .agent = "campaign"}, first);
    if (!lease) return lease.error();
    say("A 1");
    return std::pair(std::move(lease).value(), Sequence{1});
  }
  auto lease = store.acquire(order.run);
  if (!lease) return lease.error();
  const auto now = store.run(order.run);
  if (!now) return now.error();
  return std::pair(std::move(lease).value(), now.value().last);
}

}  // namespace

std::string mark_of(std::uint64_t seed, Sequence seq) {
  std::mt19937_64 random(seed * 1'000'003 + seq);
  return std::to_string(random()) + std::string(random() % 200, 'x');
}

Result<std::shared_ptr<CheckpointStore>> open_for_campaign(const std::string& url) {
  if (url.starts_with("redis:"))
    return plain(RedisStore::open(url, {.lease_timeout = lease_timeout}));
  if (url.starts_with("postgresql:")) {
    return plain(PostgresStore::open(url, {.lease_timeout = lease_timeout}));
  }
  if (url.starts_with("file:"))
    return plain(JsonFileStore::open(url, {.lease_timeout = lease_timeout}));
  return plain(SqliteStore::open(url, {.lease_timeout = lease_timeout}));
}

// The process that continues is the first one of a PID namespace; the original process waits for
// it. Does nothing where that is not permitted.
static void go_far() {
  if (::unshare(CLONE_NEWPID) != 0) return;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return;
  }
  if (pid < 0) ::_exit(9);
  say("P " + std::to_string(pid));
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
}

int write_run(const WriterOrder& order) {
  if (order.far) go_far();
  if (order.file_bytes > 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{order.file_bytes, order.file_bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::mt19937_64 random(order.seed);
  const auto store = open_for_campaign(order.url);
  if (!store) {
    say("E open " + store.error().detail);
    return 2;
  }
  auto taken = take(*store.value(), order);
  if (!taken) {
    say("E take " + taken.error().detail);
    return taken.error().code == Errc::busy ? 3 : 2;
  }
  auto& [lease_held, last] = taken.value();
  say("T " + std::to_string(lease_held.epoch));
  for (int batch = 0; batch < order.batches; ++batch) {
    std::vector<Record> records;
    const Sequence first = last + 1;
    for (Sequence count = 1 + random() % 8; count > 0; --count) {
      records.push_back(record_of(order.seed, ++last, order.clock));
    }
    const auto done = store.value()->append(lease_held, records, RunStatus::running);
    if (!done) {
      say(std::string(done.error().code == Errc::fenced ? "F " : "E append ") +
          done.error().detail);
      last = first - 1;
      if (done.error().code == Errc::fenced) return 4;
      continue;  // Whether they were stored is unknown, so the next batch begins with them.
    }
    say("A " + std::to_string(last));
  }
  static_cast<void>(store.value()->release(lease_held));
  say("D");
  return 0;
}

}  // namespace triage::test
