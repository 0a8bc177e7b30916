// SPDX-License-Identifier: MIT
// ordering: records keep their order, whatever the clocks and batches.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

void expect_ascending(CheckpointStore& store, const RunId& run, Sequence last) {
  Sequence expected = 0;
  for (const Record& record : all_records(store, run)) {
    expect_equal(record.seq(), ++expected, "sequence of run " + run);
  }
  expect_equal(expected, last, "last sequence of run " + run);
  expect_equal(must(store.run(run), "run()").last, last, "last");
}

void any_batches(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const std::vector<Record> records = story.steps(120);
  std::size_t at = 0;
  for (std::size_t size = 1; at < records.size(); size = size % 23 + 1) {
    const auto batch = std::span(records).subspan(at, std::min(size, records.size() - at));
    must(trial.store().append(lease, batch, RunStatus::running), "append()");
    at += batch.size();
  }
  expect_ascending(trial.store(), "run-1", 121);
}

void across_owners(Trial& trial) {
  Story story("run-1");
  Lease lease = story.start(trial.store());
  for (int owner = 0; owner < 5; ++owner) {
    must(trial.store().append(lease, story.steps(3), RunStatus::running), "append()");
    must(trial.store().release(lease), "release()");
    lease = must(trial.store().acquire("run-1"), "acquire()");
  }
  expect_ascending(trial.store(), "run-1", 16);
}

// Records with these times, each in its own append.
void with_times(Trial& trial, std::initializer_list<std::int64_t> times_ms) {
  Story story("run-1", 10'000'000);
  const Lease lease = story.start(trial.store());
  std::vector<Record> told;
  for (const std::int64_t time : times_ms) {
    story.time = at_ms(time);
    told.push_back(story.step("a"));
    must(trial.store().append(lease, {&told.back(), 1}, RunStatus::running), "append()");
  }
  expect_ascending(trial.store(), "run-1", times_ms.size() + 1);
  expect_same(later_records(trial.store(), "run-1"), told, "read()");
}

void clock_goes_back(Trial& trial) { with_times(trial, {9'000'000, 5'000'000, 6'400'000, 1}); }
void clock_stands(Trial& trial) { with_times(trial, {10'000'000, 10'000'000, 10'000'000}); }
void clock_before_1970(Trial& trial) { with_times(trial, {-1, -86'400'000, 0}); }
void clock_after_2106(Trial& trial) {
  with_times(trial, {4'294'967'296'000, 32'503'680'000'000, 5});
}

void times_of_runs(Trial& trial) {
  for (const auto& [id, time] : {std::pair<const char*, std::int64_t>{"old", -5'000},
                                 {"new", 32'503'680'000'000},
                                 {"zero", 0}}) {
    Story story(id, time);
    story.start(trial.store());
    expect(must(trial.store().run(id), "run()").started == at_ms(time), "another start time");
  }
  expect_equal(ids(must(trial.store().runs({}), "runs()")), "new zero old", "runs");
}

void interleaved(Trial& trial) {
  Story a("a"), b("b"), c("c");
  const Lease la = a.start(trial.store()), lb = b.start(trial.store()), lc = c.start(trial.store());
  for (int i = 0; i < 10; ++i) {
    must(trial.store().append(la, a.steps(1), RunStatus::running), "append()");
    must(trial.store().append(lb, b.steps(2), RunStatus::running), "append()");
    must(trial.store().append(lc, c.steps(3), RunStatus::running), "append()");
  }
  expect_ascending(trial.store(), "a", 11);
  expect_ascending(trial.store(), "b", 21);
  expect_ascending(trial.store(), "c", 31);
}

void old_records_again(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const std::vector<Record> records = story.steps(5);
  must(trial.store().append(lease, records, RunStatus::running), "append()");
  must(trial.store().append(lease, std::span(records).first(2), RunStatus::running),
       "old records again");
  expect_ascending(trial.store(), "run-1", 6);
}

void groups_in_order(Trial& trial) {
  Story a("a"), b("b");
  const Lease la = a.start(trial.store()), lb = b.start(trial.store());
  for (int i = 0; i < 5; ++i) {
    const auto first = a.steps(7), second = b.steps(3);
    std::vector<AppendBatch> batches{{.lease = la, .records = first},
                                     {.lease = lb, .records = second}};
    trial.store().append_group(batches);
    must(batches[0].outcome, "the first batch");
    must(batches[1].outcome, "the second batch");
  }
  expect_ascending(trial.store(), "a", 36);
  expect_ascending(trial.store(), "b", 16);
}

void twice_in_a_group(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const auto first = story.steps(3), second = story.steps(2);
  std::vector<AppendBatch> batches{{.lease = lease, .records = first},
                                   {.lease = lease, .records = second}};
  trial.store().append_group(batches);
  must(batches[0].outcome, "the first batch");
  must(batches[1].outcome, "the second batch");
  expect_ascending(trial.store(), "run-1", 6);
}

void across_openings(Trial& trial) {
  Story story("run-1");
  Lease lease = story.start(trial.store());
  for (int opening = 0; opening < 4; ++opening) {
    must(trial.store().append(lease, story.steps(4), RunStatus::running), "append()");
    must(trial.store().release(lease), "release()");
    lease = must(trial.reopen().acquire("run-1"), "acquire()");
  }
  expect_ascending(trial.store(), "run-1", 17);
}

}  // namespace

Clauses ordering_clauses() {
  return {
      {ordering, "any-batches", "Records are in order, however they were batched.", nothing,
       any_batches},
      {ordering, "across-owners", "Records are in order over several owners.", nothing,
       across_owners},
      {ordering, "clock-back", "A clock that is set back changes no order.", nothing,
       clock_goes_back},
      {ordering, "clock-stands", "Records of one moment keep their order.", nothing, clock_stands},
      {ordering, "before-1970", "Times before 1970 are kept.", nothing, clock_before_1970},
      {ordering, "after-2106", "Times after 2106 are kept.", nothing, clock_after_2106},
      {ordering, "runs-by-time", "Runs of any times are listed by their start.", nothing,
       times_of_runs},
      {ordering, "interleaved", "Runs that are written in turns keep their own order.", nothing,
       interleaved},
      {ordering, "old-again", "Old records that come again move nothing back.", nothing,
       old_records_again},
      {ordering, "groups", "Groups keep the order of each run.", nothing, groups_in_order},
      {ordering, "twice-in-group", "Two batches of one run in a group are taken in order.", nothing,
       twice_in_a_group},
      {ordering, "across-openings", "Records are in order over several openings.",
       reopening | whole, across_openings},
  };
}

}  // namespace triage::inline v0_1::testing::kit
