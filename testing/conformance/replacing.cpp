// SPDX-License-Identifier: MIT
// retention inside a run: fewer records replace many, atomically.
#include "triage/compaction.hpp"
#include "triage/detail/store_extension.hpp"
#include "trial.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;
using Report = std::function<void(std::uint64_t)>;

CompactsRuns& compacts(CheckpointStore& store) {
  auto* const found = detail::extension_of<CompactsRuns>(store);
  if (found == nullptr) throw Broken{"it is a CompactsRuns no more"};
  return *found;
}

// A run of run_started and changes of one key up to `last`.
Lease tell(CheckpointStore& store, Story& story, Sequence last) {
  const Lease lease = story.start(store);
  constexpr std::size_t together = 250;  // Large batches have clauses of their own.
  std::vector<Record> changes;
  for (Sequence seq = 2; seq <= last; ++seq) {
    changes.push_back(story.set("page", seq));
    if (changes.size() < together && seq < last) continue;
    must(store.append(lease, changes, RunStatus::running), "append()");
    changes.clear();
  }
  return lease;
}
std::vector<Record> one_change(Sequence seq) {
  return {raw_record(seq, RecordKind::state_changed, Json{{"page", seq}, {"replaced", true}})};
}
std::string sequences(CheckpointStore& store) {
  std::string all;
  for (const Record& record : all_records(store, "run-1")) {
    all += (all.empty() ? "" : " ") + std::to_string(record.seq());
    const auto body = record.body();
    if (body && body.value().contains("replaced")) all += "'";
  }
  return all;
}

void in_place(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 9);
  const std::vector<SequenceRange> ranges{{3, 6}};
  must(compacts(trial.store()).replace(lease, ranges, one_change(6)), "replace()");
  expect_equal(sequences(trial.store()), "1 2 6' 7 8 9", "records");
  const RunInfo info = must(trial.store().run("run-1"), "run()");
  expect_equal(info.last, Sequence{9}, "last record");
  expect(info.owned && info.status == RunStatus::running, "the run stands otherwise than before");
}
void several_ranges(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 12);
  const std::vector<SequenceRange> ranges{{2, 3}, {5, 8}, {10, 12}};
  std::vector<Record> instead = one_change(8);
  instead.push_back(one_change(12).front());
  must(compacts(trial.store()).replace(lease, ranges, instead), "replace()");
  expect_equal(sequences(trial.store()), "1 4 8' 9 12'", "records");
}
void once_more(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 6);
  const std::vector<SequenceRange> ranges{{2, 5}};
  must(compacts(trial.store()).replace(lease, ranges, one_change(4)), "replace()");
  must(compacts(trial.store()).replace(lease, ranges, one_change(4)), "replace() again");
  expect_equal(sequences(trial.store()), "1 4' 6", "records");
}
void not_by_others(Trial& trial) {
  Story story("run-1");
  const Lease stale = tell(trial.store(), story, 6);
  must(trial.store().release(stale), "release()");
  const Lease lease = must(trial.store().acquire("run-1"), "acquire()");
  const std::vector<SequenceRange> ranges{{2, 5}};
  refused(Errc::fenced, compacts(trial.store()).replace(stale, ranges, one_change(5)),
          "replacing under an old lease");
  must(trial.store().release(lease), "release()");
  refused(Errc::fenced, compacts(trial.store()).replace(lease, ranges, one_change(5)),
          "replacing under a lease that was given back");
  expect_equal(sequences(trial.store()), "1 2 3 4 5 6", "records");
}
void not_elsewhere(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 6);
  const std::vector<SequenceRange> ranges{{2, 3}};
  refused(Errc::invalid_argument, compacts(trial.store()).replace(lease, ranges, one_change(5)),
          "a record outside the ranges");
  expect_equal(sequences(trial.store()), "1 2 3 4 5 6", "records");
}
void goes_on(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 6);
  const std::vector<SequenceRange> ranges{{2, 6}};
  must(compacts(trial.store()).replace(lease, ranges, one_change(6)), "replace()");
  must(trial.store().append(lease, std::vector<Record>{story.set("page", 7)}, RunStatus::finished),
       "append() afterwards");
  must(trial.store().release(lease), "release()");
  expect_equal(sequences(trial.store()), "1 6' 7", "records");
  const Lease next = must(trial.store().acquire("run-1"), "acquire()");
  expect(next.epoch > lease.epoch, "the epoch does not grow");
  must(trial.store().append(next, std::vector<Record>{story.set("page", 8)}, RunStatus::finished),
       "append() by the next owner");
  expect_equal(sequences(trial.store()), "1 6' 7 8", "records");
}
void of_one_run(Trial& trial) {
  Story other("other");
  must(trial.store().release(other.start(trial.store(), 5)), "release()");
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 6);
  const std::vector<SequenceRange> ranges{{1, 6}};
  must(compacts(trial.store()).replace(lease, ranges, one_change(6)), "replace()");
  expect_equal(sequences(trial.store()), "6'", "records");
  expect_equal(all_records(trial.store(), "other").size(), 6U, "records of the other run");
}
void of_a_long_run(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 5'000);
  const std::vector<SequenceRange> ranges{{2, 2'999}, {3'001, 4'998}};
  std::vector<Record> instead = one_change(2'999);
  instead.push_back(one_change(4'998).front());
  must(compacts(trial.store()).replace(lease, ranges, instead), "replace()");
  expect_equal(sequences(trial.store()), "1 2999' 3000 4998' 4999 5000", "records");
}
void elsewhere_too(Trial& trial) {
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, 6);
  const std::vector<SequenceRange> ranges{{2, 6}};
  must(compacts(trial.store()).replace(lease, ranges, one_change(6)), "replace()");
  must(trial.store().release(lease), "release()");
  expect_equal(sequences(trial.reopen()), "1 6'", "records in the next opening");
}

// A valid state of a run while records 2 to n are replaced by one, for growing n.
void expect_whole(const JournalReading& reading, Sequence last) {
  expect(reading.damaged.empty(), "a record is damaged");
  expect(!reading.records.empty() && reading.records.front().seq() == 1,
         "the first record is lost");
  expect_equal(reading.records.back().seq(), last, "last record");
  // The remaining records follow their replacement without a gap.
  for (std::size_t i = 2; i < reading.records.size(); ++i) {
    expect_equal(reading.records[i].seq(), reading.records[i - 1].seq() + 1,
                 "a record behind record " + std::to_string(reading.records[i - 1].seq()));
  }
}
void while_reading(Trial& trial) {
  // More than any store reads in one answer.
  constexpr Sequence last = 3'000;
  Story story("run-1");
  const Lease lease = tell(trial.store(), story, last);
  // Another opening, if it sees the same data.
  std::shared_ptr<CheckpointStore> other;
  if (trial.store().capabilities().shared_by_processes) other = trial.open();
  CheckpointStore& reader = other ? *other : trial.store();
  std::atomic<bool> done = false;
  std::string wrong;
  std::thread reading([&] {
    try {
      do {
        expect_whole(must(reader.read("run-1", {}), "read()"), last);
      } while (!done);
    } catch (const Broken& broken) {
      wrong = broken.what;
    } catch (const std::exception& e) {
      wrong = e.what();
    }
  });
  Result<void> replaced = outcome::success();
  std::exception_ptr thrown;
  try {
    for (Sequence seq = 100; seq < last && replaced; seq += 100) {
      const std::vector<SequenceRange> ranges{{2, seq}};
      replaced = compacts(trial.store()).replace(lease, ranges, one_change(seq));
    }
  } catch (...) {  // The other thread must end first.
    thrown = std::current_exception();
  }
  done = true;
  reading.join();
  if (thrown) std::rethrow_exception(thrown);
  must(std::move(replaced), "replace()");
  if (!wrong.empty()) throw Broken{"while it is replaced: " + wrong};
}
void killed_while_replacing(Trial& trial) {
  constexpr Sequence last = 200;
  for (std::uint64_t kill = 1; kill <= 3; ++kill) {
    const auto done =
        trial.killed_child_after(4 * kill, [](CheckpointStore& store, const Report& report) {
          Story story("run-1");
          const Lease lease = tell(store, story, last);
          report(0);
          for (Sequence seq = 3; seq < last; ++seq) {
            const std::vector<SequenceRange> ranges{{2, seq}};
            must(compacts(store).replace(lease, ranges, one_change(seq)), "replace()");
            report(seq);
          }
        });
    if (done.empty()) continue;  // It died before the run existed.
    const JournalReading reading = must(trial.store().read("run-1", {}), "read()");
    expect_whole(reading, last);
    const Sequence newest = done.back();
    expect(newest == 0 || (reading.records.size() > 1 && reading.records[1].seq() >= newest),
           "what was replaced is there again");
    const Lease lease = must(trial.store().acquire("run-1"), "acquire()");
    const auto next = raw_record(last + 1, RecordKind::state_changed, Json{{"page", 0}});
    must(trial.store().append(lease, std::vector<Record>{next}, RunStatus::finished), "append()");
    must(trial.store().release(lease), "release()");
    must(trial.store().erase("run-1"), "erase()");
  }
}

}  // namespace

Clauses replacing_clauses() {
  return {
      {retention, "replaced", "One record takes the place of several.", replacing, in_place},
      {retention, "replaced-ranges", "Several ranges are replaced at once.", replacing,
       several_ranges},
      {retention, "replaced-again", "Replacing once more changes nothing.", replacing, once_more},
      {retention, "replaced-fenced", "Only the owner replaces records.", replacing, not_by_others},
      {retention, "replaced-outside", "A record that takes the place of none is refused.",
       replacing, not_elsewhere},
      {retention, "replaced-goes-on", "A run goes on after its records were replaced.", replacing,
       goes_on},
      {retention, "replaced-alone", "Replacing records of a run leaves all others.", replacing,
       of_one_run},
      {retention, "replaced-long", "Records of a long run are replaced.", replacing | whole,
       of_a_long_run},
      {retention, "replaced-elsewhere", "What was replaced is so in the next opening, too.",
       replacing | reopening, elsewhere_too},
      {concurrency, "replaced", "A reader sees a run before or after its records are replaced.",
       replacing, while_reading},
      {crash, "while-replacing", "Killed while replacing records: all of it is done, or nothing.",
       replacing | reopening | erasing, killed_while_replacing},
  };
}

}  // namespace triage::inline v0_1::testing::kit
