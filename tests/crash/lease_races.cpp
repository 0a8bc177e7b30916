// SPDX-License-Identifier: MIT
#include "lease_races.hpp"

#include "store_writer.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace triage::test {
namespace {

constexpr int writers = 16;
constexpr const char* run = "raced-for";

struct Account {
  std::atomic<int> won = 0;
  std::atomic<int> busy = 0;
  std::atomic<int> stale_refused = 0;
  std::atomic<int> wrong = 0;
};

void complain(Account& account, const std::string& what) {
  ++account.wrong;
  std::fprintf(stderr, "races: %s\n", what.c_str());
}

std::vector<Record> mark(Sequence seq, const std::string& text) {
  return {{seq, RecordKind::usage, WallTime{},
           std::make_shared<const Json>(Json{{"calls", 0}, {"mark", text}})}};
}

// One race; the mark of the acknowledged record, or nothing.
std::string race(CheckpointStore& store, const std::string& who, Account& account) {
  const auto lease = store.acquire(run);
  if (!lease) {
    if (lease.error().code == Errc::busy) {
      ++account.busy;
    } else {
      complain(account, "acquire(): " + lease.error().detail);
    }
    return {};
  }
  const auto info = store.run(run);
  if (!info) {
    complain(account, "run(): " + info.error().detail);
    return {};
  }
  const Sequence next = info.value().last + 1;
  const auto done = store.append(lease.value(), mark(next, who), RunStatus::running);
  // Busy: others had the lock first, so nothing was written.
  const auto fails = [](const auto& result) {
    return !result && result.error().code != Errc::busy;
  };
  if (fails(done)) complain(account, "the owner cannot append: " + done.error().detail);
  if (auto released = store.release(lease.value()); fails(released)) {
    complain(account, "release(): " + released.error().detail);
  }
  const auto stale = store.append(lease.value(), mark(next + 1, "stale"), RunStatus::running);
  if (stale || (stale.error().code != Errc::fenced && stale.error().code != Errc::busy)) {
    complain(account, "a stale append was taken, or refused for another reason");
  } else {
    ++account.stale_refused;
  }
  ++account.won;
  return done ? who : std::string();
}

}  // namespace

int race_for_leases(const std::string& name, const std::string& url, int races) {
  const auto began = std::chrono::steady_clock::now();
  Account account;
  const auto first = open_for_campaign(url);
  if (!first) {
    std::fprintf(stderr, "races: %s\n", first.error().detail.c_str());
    return 1;
  }
  const auto lease = first.value()->start({.id = run, .agent = "races"}, mark(1, "start"));
  if (!lease || !first.value()->release(lease.value())) return 1;
  std::vector<std::vector<std::string>> acknowledged(writers);
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      const auto store = open_for_campaign(url);
      if (!store) return complain(account, store.error().detail);
      for (int i = 0; i < races; ++i) {
        const std::string who = std::to_string(writer) + "/" + std::to_string(i);
        if (race(*store.value(), who, account) == who) {
          acknowledged[static_cast<std::size_t>(writer)].push_back(who);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto reading = first.value()->read(run, {});
  if (!reading) {
    complain(account, "read(): " + reading.error().detail);
    return account.wrong;
  }
  std::map<std::string, int> stored;
  Sequence expected = 1;
  for (const Record& record : reading.value().records) {
    if (record.seq() != expected++) complain(account, "the journal has a hole, or a fork");
    ++stored[record.body().value().value("mark", "")];
  }
  std::size_t all = 1;
  for (const auto& marks : acknowledged) {
    all += marks.size();
    for (const std::string& one : marks) {
      if (stored[one] != 1) complain(account, "record " + one + " is lost or doubled");
    }
  }
  if (reading.value().records.size() != all) {
    complain(account, "more records are stored than were acknowledged");
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  std::printf("| %s | %d | %d | %d | %d | %lld s |\n", name.c_str(), writers * races,
              account.won.load(), account.stale_refused.load(), account.wrong.load(),
              static_cast<long long>(seconds.count()));
  return account.wrong;
}

}  // namespace triage::test
