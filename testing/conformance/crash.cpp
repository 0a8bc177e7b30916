// SPDX-License-Identifier: MIT
// crash: acknowledged records survive kill -9, and batches are never stored in part.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;
using Report = std::function<void(std::uint64_t)>;

void expect_gapless(const std::vector<Record>& records) {
  for (std::size_t at = 0; at < records.size(); ++at) {
    expect_equal(records[at].seq(), at + 1, "sequence");
  }
}

void closing_keeps(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 5);
  must(trial.store().append(lease, story.steps(5), RunStatus::suspended), "append()");
  const auto before = all_records(trial.store(), "run-1");
  expect_same(all_records(trial.reopen(), "run-1"), before, "in the next opening");
  const RunInfo seen = must(trial.store().run("run-1"), "run()");
  expect(seen.status == RunStatus::suspended, "the status is another");
  expect_equal(seen.agent, "crawler", "agent");
  expect_equal(seen.label, "nightly", "label");
  expect_equal(seen.parent, "parent-1", "parent");
  expect_equal(ids(must(trial.store().runs({}), "runs()")), "run-1", "runs");
}
void opening_changes_nothing(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 5);
  const auto before = all_records(trial.store(), "run-1");
  for (int i = 0; i < 4; ++i) {
    expect_same(all_records(trial.reopen(), "run-1"), before, "in a later opening");
  }
}
void killed_after_append(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    Story story("run-1");
    static Lease lease = story.start(store);
    must(store.append(lease, story.steps(50), RunStatus::running), "append()");
  });
  const auto seen = all_records(trial.store(), "run-1");
  expect_equal(seen.size(), 51U, "number of records");
  expect_gapless(seen);
}
void killed_after_start(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    static Lease lease = Story("run-1").start(store, 3);
  });
  expect_equal(all_records(trial.store(), "run-1").size(), 4U, "number of records");
  expect(must(trial.store().run("run-1"), "run()").status == RunStatus::running,
         "the run is not running");
}
void killed_after_status(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    static Lease lease = Story("run-1").start(store);
    must(store.append(lease, {}, RunStatus::finished), "append()");
  });
  expect(must(trial.store().run("run-1"), "run()").status == RunStatus::finished,
         "an acknowledged status is lost");
}
void killed_after_release(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    must(store.release(Story("run-1").start(store)), "release()");
  });
  expect(!must(trial.store().run("run-1"), "run()").owned, "the run is owned");
}
void killed_after_key(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    must(store.put_if("space", "kept", 0, "one"), "put_if()");
    must(store.put_if("space", "kept", 1, "two"), "put_if()");
    must(store.put_if("space", "gone", 0, "x"), "put_if()");
    must(store.erase_if("space", "gone", 1), "erase_if()");
  });
  const auto seen = must(trial.store().get("space", "kept"), "get()");
  expect(seen && seen->bytes == "two" && seen->version == 2, "an acknowledged key is lost");
  expect(!must(trial.store().get("space", "gone"), "get()"), "a removed key is back");
}
void killed_after_erase(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    must(store.release(Story("run-1").start(store, 9)), "release()");
    must(store.erase("run-1"), "erase()");
  });
  refused(Errc::not_found, trial.store().run("run-1"), "an erased run");
}
void killed_after_group(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    Story a("a"), b("b");
    static Lease la = a.start(store), lb = b.start(store);
    const auto first = a.steps(7), second = b.steps(9);
    std::vector<AppendBatch> batches{{.lease = la, .records = first},
                                     {.lease = lb, .records = second}};
    store.append_group(batches);
    must(batches[0].outcome, "the first batch");
    must(batches[1].outcome, "the second batch");
  });
  expect_equal(all_records(trial.store(), "a").size(), 8U, "records of the first run");
  expect_equal(all_records(trial.store(), "b").size(), 10U, "records of the second run");
}
void goes_on_after_kill(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    static Lease lease = Story("run-1").start(store, 3);
  });
  const Lease lease = must(trial.store().acquire("run-1"), "acquire()");
  const Record next = raw_record(5, RecordKind::usage, {{"calls", 1}});
  must(trial.store().append(lease, {&next, 1}, RunStatus::finished), "append()");
  expect_equal(all_records(trial.store(), "run-1").size(), 5U, "number of records");
}
void restores_after_kill(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const Report&) {
    Story story("run-1");
    const std::vector<Record> records{story.started(), story.set("page", 7), story.label("here"),
                                      story.step("a")};
    static Lease lease = must(store.start(story.info(), records), "start()");
  });
  expect_equal(must(trial.store().load_state({"run-1", 3}), "load_state()").value("page", 0), 7,
               "page");
}

// Kills a writer at `kills` moments; it appends `batch` records at a time.
void killed_while_appending(Trial& trial, int kills, int batch) {
  Sequence known = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const auto acknowledged = trial.killed_child_after(
        static_cast<std::uint64_t>(3 + 5 * kill),
        [&](CheckpointStore& store, const Report& report) {
          if (known == 0) static_cast<void>(store.release(Story("run-1").start(store)));
          const Lease lease = must(store.acquire("run-1"), "acquire()");
          Sequence next = must(store.run("run-1"), "run()").last + 1;
          report(next - 1);
          for (;;) {
            std::vector<Record> records;
            for (int i = 0; i < batch; ++i) {
              records.push_back(raw_record(next++, RecordKind::usage,
                                           {{"calls", 1}, {"pad", std::string(300, 'x')}}));
            }
            must(store.append(lease, records, RunStatus::running), "append()");
            report(next - 1);
          }
        });
    if (!acknowledged.empty()) known = std::max(known, acknowledged.back());
    // A server may still commit what the killed writer had sent until its lease is taken.
    const Lease taken = must(trial.store().acquire("run-1"), "acquire()");
    const auto seen = all_records(trial.store(), "run-1");
    expect_gapless(seen);
    expect(seen.size() >= known, "acknowledged records are lost: " + std::to_string(seen.size()) +
                                     " are there, of " + std::to_string(known));
    expect_equal((seen.size() - 1) % static_cast<std::size_t>(batch), 0U,
                 "records of half a batch");
    expect_equal(must(trial.store().run("run-1"), "run()").last, seen.size(), "last");
    must(trial.store().release(taken), "release()");
    known = seen.size();
  }
}
void killed_between_appends(Trial& trial) { killed_while_appending(trial, 6, 1); }
void killed_between_batches(Trial& trial) { killed_while_appending(trial, 6, 16); }

void killed_while_starting(Trial& trial) {
  for (std::uint64_t kill = 1; kill <= 4; ++kill) {
    const auto acknowledged =
        trial.killed_child_after(4 * kill, [&](CheckpointStore& store, const Report& report) {
          for (std::uint64_t i = 0;; ++i) {
            const std::string id = "run-" + std::to_string(kill) + "-" + std::to_string(i);
            must(store.release(Story(id).start(store, 5)), "release()");
            report(i);
          }
        });
    for (const std::uint64_t i : acknowledged) {
      const std::string id = "run-" + std::to_string(kill) + "-" + std::to_string(i);
      expect_equal(all_records(trial.store(), id).size(), 6U, "records of a started run");
    }
    for (const RunInfo& run : must(trial.store().runs({.limit = 0}), "runs()")) {
      expect_equal(all_records(trial.store(), run.id).size(), 6U, "records of a run that is there");
    }
  }
}
void killed_while_counting(Trial& trial) {
  std::uint64_t known = 0;
  for (std::uint64_t kill = 1; kill <= 4; ++kill) {
    const auto acknowledged =
        trial.killed_child_after(5 * kill, [](CheckpointStore& store, const Report& report) {
          for (;;) {
            const auto seen = must(store.get("space", "count"), "get()");
            const std::uint64_t version = seen ? seen->version : 0;
            report(must(store.put_if("space", "count", version, std::to_string(version + 1)),
                        "put_if()"));
          }
        });
    if (!acknowledged.empty()) known = acknowledged.back();
    const auto seen = must(trial.store().get("space", "count"), "get()");
    expect(seen && seen->version >= known, "acknowledged writes of a key are lost");
    expect_equal(seen->bytes, std::to_string(seen->version), "value and version");
  }
}
void killed_while_erasing(Trial& trial) {
  constexpr int runs = 60;
  for (int i = 0; i < runs; ++i) {
    must(trial.store().release(Story("run-" + std::to_string(i)).start(trial.store(), 5)),
         "release()");
  }
  const auto erased = trial.killed_child_after(9, [](CheckpointStore& store, const Report& report) {
    for (std::uint64_t i = 0; i < runs; ++i) {
      must(store.erase("run-" + std::to_string(i)), "erase()");
      report(i);
    }
  });
  for (const std::uint64_t i : erased) {
    refused(Errc::not_found, trial.store().run("run-" + std::to_string(i)), "an erased run");
  }
  for (const RunInfo& run : must(trial.store().runs({.limit = 0}), "runs()")) {
    expect_equal(all_records(trial.store(), run.id).size(), 6U, "records of a run that is left");
  }
}

}  // namespace

Clauses crash_clauses() {
  return {
      {crash, "closing", "A closed store keeps everything.", reopening | whole, closing_keeps},
      {crash, "opening", "Opening a store changes nothing in it.", reopening | whole,
       opening_changes_nothing},
      {crash, "append", "Appended records survive kill -9.", reopening | whole,
       killed_after_append},
      {crash, "start", "A started run survives kill -9.", reopening | whole, killed_after_start},
      {crash, "status", "A status survives kill -9.", reopening, killed_after_status},
      {crash, "release", "A run released before kill -9 is free.", reopening, killed_after_release},
      {crash, "keys", "Keys and their removal survive kill -9.", reopening | keys,
       killed_after_key},
      {crash, "erase", "An erased run is gone after kill -9.", reopening | erasing,
       killed_after_erase},
      {crash, "group", "Every batch of a group survives kill -9.", reopening | whole,
       killed_after_group},
      {crash, "going-on", "A run can be gone on with after kill -9.", reopening | whole,
       goes_on_after_kill},
      {crash, "checkpoint", "A labelled checkpoint can be restored after kill -9.", reopening,
       restores_after_kill},
      {crash, "while-appending",
       "Killed between appends: what was acknowledged is there, in order.", reopening | whole,
       killed_between_appends},
      {crash, "while-batching", "Killed between batches: none is there in part.", reopening | whole,
       killed_between_batches},
      {crash, "while-starting", "Killed between starts: every run is there as a whole, or not.",
       reopening | whole, killed_while_starting},
      {crash, "while-counting", "Killed while writing a key: no acknowledged write is lost.",
       reopening | keys, killed_while_counting},
      {crash, "while-erasing", "Killed while erasing: every run is there as a whole, or not.",
       reopening | whole | erasing, killed_while_erasing},
  };
}

}  // namespace triage::inline v0_1::testing::kit
