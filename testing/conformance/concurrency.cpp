// SPDX-License-Identifier: MIT
// concurrency: several threads and openings at the same time.
#include "trial.hpp"

#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// Runs body(0) … body(count - 1) in concurrent threads; reports any problem that one of them finds.
template <class F>
void together(int count, F body) {
  std::mutex mutex;
  std::string wrong;
  std::barrier ready(count);
  std::vector<std::thread> threads;
  const auto note = [&](std::string what) {
    const std::scoped_lock lock(mutex);
    if (wrong.empty()) wrong = std::move(what);
  };
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ready.arrive_and_wait();
      try {
        body(i);
      } catch (const Broken& broken) {
        note(broken.what);
      } catch (const std::exception& e) {
        note(std::string("it throws: ") + e.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!wrong.empty()) throw Broken{wrong};
}

// Sets a flag at the end of its scope, also if that is left by an exception.
class Raised {
 public:
  explicit Raised(std::atomic<bool>& flag) : flag_(flag) {}
  ~Raised() { flag_ = true; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  std::atomic<bool>& flag_;
};

void own_runs(Trial& trial) {
  CheckpointStore& store = trial.store();
  together(8, [&](int i) {
    Story story("run-" + std::to_string(i));
    const Lease lease = story.start(store);
    for (int step = 0; step < 20; ++step) {
      must(store.append(lease, story.steps(1), RunStatus::running), "append()");
    }
  });
  for (int i = 0; i < 8; ++i) {
    expect_equal(all_records(store, "run-" + std::to_string(i)).size(), 21U, "number of records");
  }
}
void one_start(Trial& trial) {
  CheckpointStore& store = trial.store();
  std::atomic<int> started = 0;
  std::vector<Lease> leases(8);
  together(8, [&](int i) {
    Story story("run-1", 1'000 * (i + 1));
    const Record first = story.started();
    auto lease = store.start(story.info(), {&first, 1});
    if (!lease) return refused(Errc::conflict, lease, "a start that came too late");
    leases[static_cast<std::size_t>(i)] = lease.value();
    ++started;
  });
  expect_equal(started.load(), 1, "starts that succeeded");
  expect_equal(all_records(store, "run-1").size(), 1U, "number of records");
}
void one_of_many(Trial& trial) {
  CheckpointStore& store = trial.store();
  Story story("run-1");
  must(store.release(story.start(store)), "release()");
  std::atomic<int> acquired = 0;
  std::vector<Lease> leases(8);
  together(8, [&](int i) {
    auto lease = store.acquire("run-1");
    if (!lease) return refused(Errc::busy, lease, "an acquisition that came too late");
    leases[static_cast<std::size_t>(i)] = lease.value();
    ++acquired;
  });
  expect_equal(acquired.load(), 1, "acquisitions that succeeded");
}
// Repeatedly acquires the run, appends, and checks that it was alone; returns how often it did.
int race_for(CheckpointStore& store, std::atomic<int>& inside, int rounds) {
  int owned = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto lease = store.acquire("run-1");
    if (!lease) {
      refused(Errc::busy, lease, "an acquisition that came too late");
      continue;
    }
    expect_equal(inside.fetch_add(1), 0, "other owners at the same time");
    const Sequence next = must(store.run("run-1"), "run()").last + 1;
    const Record record = raw_record(next, RecordKind::usage, {{"calls", 1}});
    must(store.append(lease.value(), {&record, 1}, RunStatus::running), "append()");
    --inside;
    must(store.release(lease.value()), "release()");
    refused(Errc::fenced, store.append(lease.value(), {&record, 1}, RunStatus::running),
            "appending after the release");
    ++owned;
  }
  return owned;
}
void ping_pong(Trial& trial) {
  CheckpointStore& store = trial.store();
  must(store.release(Story("run-1").start(store)), "release()");
  std::atomic<int> inside = 0, owned = 0;
  together(6, [&](int) { owned += race_for(store, inside, 30); });
  const auto records = all_records(store, "run-1");
  expect_equal(records.size(), static_cast<std::size_t>(owned) + 1, "records, one an owner");
}
void ping_pong_of_openings(Trial& trial) {
  must(trial.store().release(Story("run-1").start(trial.store())), "release()");
  std::atomic<int> inside = 0, owned = 0;
  together(4, [&](int) {
    const auto own = trial.open();
    owned += race_for(*own, inside, 15);
  });
  expect_equal(all_records(trial.store(), "run-1").size(), static_cast<std::size_t>(owned) + 1,
               "records, one an owner");
}
void counting(Trial& trial) {
  CheckpointStore& store = trial.store();
  constexpr int most_conflicts = 100'000;
  must(store.put_if("space", "count", 0, "0"), "put_if()");
  together(4, [&](int) {
    int conflicts = 0;
    for (int done = 0; done < 15;) {
      const auto seen = must(store.get("space", "count"), "get()");
      expect(seen.has_value(), "the counter is gone");
      const auto put =
          store.put_if("space", "count", seen->version, std::to_string(std::stoi(seen->bytes) + 1));
      if (put)
        ++done;
      else
        refused(Errc::conflict, put, "a count that came too late");
      if (!put) expect(++conflicts < most_conflicts, "every count is a conflict");
    }
  });
  expect_equal(must(store.get("space", "count"), "get()")->bytes, "60", "the counter");
}
void one_first_writer(Trial& trial) {
  CheckpointStore& store = trial.store();
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> written = 0;
    together(4, [&](int i) {
      const auto put = store.put_if("space", std::to_string(round), 0, std::to_string(i));
      if (put)
        ++written;
      else
        refused(Errc::conflict, put, "a write that came too late");
    });
    expect_equal(written.load(), 1, "writes that succeeded");
  }
}
void readers_see_prefixes(Trial& trial) {
  CheckpointStore& store = trial.store();
  Story story("run-1");
  const Lease lease = story.start(store);
  std::atomic<bool> done = false;
  together(3, [&](int i) {
    if (i == 0) {
      const Raised at_the_end(done);
      for (int batch = 0; batch < 40; ++batch) {
        must(store.append(lease, story.steps(3), RunStatus::running), "append()");
      }
      return;
    }
    while (!done) {
      const auto seen = all_records(store, "run-1");
      for (std::size_t at = 0; at < seen.size(); ++at) {
        expect_equal(seen[at].seq(), at + 1, "sequence seen by a reader");
      }
      expect_equal(seen.size() % 3, 1U, "records of a batch seen by a reader, but for its others");
    }
  });
}
void lists_meanwhile(Trial& trial) {
  CheckpointStore& store = trial.store();
  std::atomic<bool> done = false;
  together(2, [&](int i) {
    if (i == 0) {
      const Raised at_the_end(done);
      for (int run = 0; run < 40; ++run) Story("run-" + std::to_string(run)).start(store, 2);
      return;
    }
    std::size_t before = 0;
    while (!done) {
      const auto seen = must(store.runs({.limit = 0}), "runs()");
      expect(seen.size() >= before, "a listed run is gone");
      before = seen.size();
    }
  });
  expect_equal(must(store.runs({}), "runs()").size(), 40U, "number of runs");
}
void repeats_at_once(Trial& trial) {
  CheckpointStore& store = trial.store();
  Story story("run-1");
  const Lease lease = story.start(store);
  const auto records = story.steps(10);
  together(4, [&](int) { must(store.append(lease, records, RunStatus::running), "append()"); });
  expect_same(later_records(store, "run-1"), records, "read()");
}
void groups_at_once(Trial& trial) {
  CheckpointStore& store = trial.store();
  together(4, [&](int i) {
    Story a("a-" + std::to_string(i)), b("b-" + std::to_string(i));
    const Lease la = a.start(store), lb = b.start(store);
    for (int round = 0; round < 15; ++round) {
      const auto first = a.steps(2), second = b.steps(1);
      std::vector<AppendBatch> batches{{.lease = la, .records = first},
                                       {.lease = lb, .records = second}};
      store.append_group(batches);
      must(batches[0].outcome, "the first batch");
      must(batches[1].outcome, "the second batch");
    }
  });
  for (int i = 0; i < 4; ++i) {
    expect_equal(all_records(store, "a-" + std::to_string(i)).size(), 31U, "number of records");
    expect_equal(all_records(store, "b-" + std::to_string(i)).size(), 16U, "number of records");
  }
}
void renewals_meanwhile(Trial& trial) {
  CheckpointStore& store = trial.store();
  Story story("run-1");
  const Lease lease = story.start(store);
  together(3, [&](int i) {
    for (int round = 0; round < 30; ++round) {
      if (i == 0) must(store.append(lease, story.steps(1), RunStatus::running), "append()");
      if (i == 1) must(store.renew(lease), "renew()");
      if (i == 2) refused(Errc::busy, store.acquire("run-1"), "acquire()");
    }
  });
  expect_equal(all_records(store, "run-1").size(), 31U, "number of records");
}
void erased_once(Trial& trial) {
  CheckpointStore& store = trial.store();
  for (int round = 0; round < 5; ++round) {
    must(store.release(Story("run-1").start(store, 3)), "release()");
    std::atomic<int> erased = 0;
    together(4, [&](int) {
      const auto gone = store.erase("run-1");
      if (gone)
        ++erased;
      else
        refused(Errc::not_found, gone, "an erasure that came too late");
    });
    expect_equal(erased.load(), 1, "erasures that succeeded");
  }
}
void erased_or_owned(Trial& trial) {
  CheckpointStore& store = trial.store();
  for (int round = 0; round < 10; ++round) {
    must(store.release(Story("run-1").start(store, 1)), "release()");
    Lease lease;
    std::atomic<int> owned = 0, erased = 0;
    together(2, [&](int i) {
      if (i == 0) {
        auto got = store.acquire("run-1");
        if (got) {
          lease = std::move(got).value();
          ++owned;
        }
      } else if (store.erase("run-1")) {
        ++erased;
      }
    });
    expect_equal(owned + erased, 1, "of an owner and an erasure, those that succeeded");
    if (owned == 1) {
      must(store.release(lease), "release()");
      must(store.erase("run-1"), "erase()");
    }
  }
}
void openings_at_once(Trial& trial) {
  static_cast<void>(trial.store());
  together(4, [&](int i) {
    const auto own = trial.open();
    Story story("run-" + std::to_string(i));
    const Lease lease = story.start(*own);
    for (int step = 0; step < 15; ++step) {
      must(own->append(lease, story.steps(1), RunStatus::running), "append()");
    }
  });
  for (int i = 0; i < 4; ++i) {
    expect_equal(all_records(trial.store(), "run-" + std::to_string(i)).size(), 16U, "records");
  }
}

}  // namespace

Clauses concurrency_clauses() {
  return {
      {concurrency, "own-runs", "Threads that write their own runs lose nothing.", nothing,
       own_runs},
      {concurrency, "one-start", "Of several starts of one id at once, one succeeds.", nothing,
       one_start},
      {concurrency, "one-owner", "Of several acquisitions at once, one succeeds.", nothing,
       one_of_many},
      {concurrency, "ping-pong", "A run that threads take in turns never has two owners.", nothing,
       ping_pong},
      {concurrency, "openings-ping-pong", "A run that openings take in turns never has two owners.",
       processes | reopening, ping_pong_of_openings},
      {concurrency, "counting", "Counting in a key loses no count.", keys, counting},
      {concurrency, "one-first-writer", "Of several first writes of a key, one succeeds.", keys,
       one_first_writer},
      {concurrency, "readers", "Readers see whole batches, in order, while they are written.",
       nothing, readers_see_prefixes},
      {concurrency, "lists", "Lists only grow while runs are started.", nothing, lists_meanwhile},
      {concurrency, "repeats", "The same append by several threads is stored once.", nothing,
       repeats_at_once},
      {concurrency, "groups", "Groups of several threads lose nothing.", nothing, groups_at_once},
      {concurrency, "renewals", "Renewing and appending at once do not get into each other's way.",
       nothing, renewals_meanwhile},
      {concurrency, "one-erasure", "Of several erasures at once, one succeeds.", erasing,
       erased_once},
      {concurrency, "erase-or-own", "A run is erased or owned, never both.", erasing,
       erased_or_owned},
      {concurrency, "openings", "Openings that write at once lose nothing.", processes | reopening,
       openings_at_once},
  };
}

}  // namespace triage::inline v0_1::testing::kit
