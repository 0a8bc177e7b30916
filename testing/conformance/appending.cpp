// SPDX-License-Identifier: MIT
// functional: what append() does to a run.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

void append_moves_the_run_on(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const std::vector<Record> records = story.steps(3);
  must(trial.store().append(lease, records, RunStatus::running), "append()");
  const RunInfo seen = must(trial.store().run("run-1"), "run()");
  expect_equal(seen.last, 4U, "last");
  expect(seen.updated == records.back().time(), "updated is not the newest record's time");
  expect_equal(all_records(trial.store(), "run-1").size(), 4U, "number of records");
}

void every_status_is_kept(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  for (const RunStatus status :
       {RunStatus::finished, RunStatus::escalated, RunStatus::aborted, RunStatus::cancelled,
        RunStatus::suspended, RunStatus::failed, RunStatus::poisoned, RunStatus::running}) {
    const Record record = story.step("a");
    must(trial.store().append(lease, {&record, 1}, status), "append()");
    expect(must(trial.store().run("run-1"), "run()").status == status,
           "status " + std::string(to_string(status)) + " is not kept");
  }
}

void status_alone(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 2);
  must(trial.store().append(lease, {}, RunStatus::aborted), "append() of no record");
  const RunInfo seen = must(trial.store().run("run-1"), "run()");
  expect(seen.status == RunStatus::aborted, "the status is not kept");
  expect_equal(seen.last, 3U, "last");
}

void repeated_append(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const std::vector<Record> records = story.steps(3);
  must(trial.store().append(lease, records, RunStatus::running), "append()");
  must(trial.store().append(lease, records, RunStatus::running), "the same append again");
  expect_equal(all_records(trial.store(), "run-1").size(), 4U, "number of records");
}

void partly_stored(Trial& trial) {
  for (const std::size_t known : {1U, 15U, 16U, 17U, 37U, 70U}) {
    Story story("run-" + std::to_string(known));
    const Lease lease = story.start(trial.store());
    const std::vector<Record> records = story.steps(70);
    const std::span all(records);
    must(trial.store().append(lease, all.first(known), RunStatus::running), "the first part");
    must(trial.store().append(lease, all, RunStatus::running), "all of it");
    expect_same(later_records(trial.store(), story.id()), records, "read()");
  }
}

// A story like `story` whose third record differs.
std::vector<Record> clashing(const RunId& run) {
  Story other(run);
  static_cast<void>(other.started());
  std::vector<Record> records = other.steps(1);
  records.push_back(other.step("another"));
  records.push_back(other.step("new"));
  return records;
}

void other_content_conflicts(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().append(lease, story.steps(2), RunStatus::running), "append()");
  refused(Errc::conflict, trial.store().append(lease, clashing("run-1"), RunStatus::running),
          "other content under a stored sequence");
}

void conflict_changes_nothing(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().append(lease, story.steps(2), RunStatus::running), "append()");
  const auto before = all_records(trial.store(), "run-1");
  refused(Errc::conflict, trial.store().append(lease, clashing("run-1"), RunStatus::finished),
          "other content");
  expect_same(all_records(trial.store(), "run-1"), before, "after the conflict");
  expect(must(trial.store().run("run-1"), "run()").status == RunStatus::running,
         "the refused status is kept");
}

// The second record, with one property changed.
void differs_by(Trial& trial, RecordKind kind, std::int64_t time_ms, const char* what) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const Record stored = raw_record(2, RecordKind::usage, {{"calls", 1}}, 2'000);
  must(trial.store().append(lease, {&stored, 1}, RunStatus::running), "append()");
  const Record other = raw_record(2, kind, {{"calls", 1}}, time_ms);
  refused(Errc::conflict, trial.store().append(lease, {&other, 1}, RunStatus::running), what);
}
void other_kind_conflicts(Trial& trial) {
  differs_by(trial, RecordKind::failure_classified, 2'000, "another kind");
}
void other_time_conflicts(Trial& trial) {
  differs_by(trial, RecordKind::usage, 2'001, "another time");
}

void sequence_zero(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const Record record = raw_record(0, RecordKind::usage, {{"calls", 1}});
  refused(Errc::invalid_argument, trial.store().append(lease, {&record, 1}, RunStatus::running),
          "sequence 0");
  expect_equal(all_records(trial.store(), "run-1").size(), 1U, "number of records");
}

void outcomes_of_a_group(Trial& trial) {
  CheckpointStore& store = trial.store();
  Story good("good"), stale("stale"), clash("clash"), also_good("also-good");
  std::vector<std::vector<Record>> records;
  std::vector<AppendBatch> batches;
  for (Story* story : {&good, &stale, &clash, &also_good}) {
    const Lease lease = story->start(store);
    records.push_back(story->steps(2));
    batches.push_back({.lease = lease, .status = RunStatus::finished});
  }
  for (std::size_t i = 0; i < 4; ++i) batches[i].records = records[i];
  must(store.release(batches[1].lease), "release()");
  const Lease newer = must(store.acquire("stale"), "acquire()");
  Story other("clash");
  static_cast<void>(other.started());
  const Record first = other.step("another");
  must(store.append(batches[2].lease, {&first, 1}, RunStatus::running), "append()");
  store.append_group(batches);
  must(batches[0].outcome, "the first batch");
  refused(Errc::fenced, batches[1].outcome, "the stale batch");
  refused(Errc::conflict, batches[2].outcome, "the clashing batch");
  must(batches[3].outcome, "the last batch");
  expect_equal(all_records(store, "good").size(), 3U, "records of the first run");
  expect_equal(all_records(store, "stale").size(), 1U, "records of the stale run");
  expect_equal(all_records(store, "clash").size(), 2U, "records of the clashing run");
  expect_equal(all_records(store, "also-good").size(), 3U, "records of the last run");
}

void empty_group(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 1);
  trial.store().append_group({});
  expect_equal(all_records(trial.store(), "run-1").size(), 2U, "number of records");
}

void group_sets_status(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  std::vector<AppendBatch> batches{{.lease = lease, .status = RunStatus::suspended}};
  trial.store().append_group(batches);
  must(batches[0].outcome, "the batch");
  expect(must(trial.store().run("run-1"), "run()").status == RunStatus::suspended,
         "the status of a batch is not kept");
}

}  // namespace

Clauses appending_clauses() {
  return {
      {functional, "append-moves-on", "Appended records can be read; last and updated follow them.",
       nothing, append_moves_the_run_on},
      {functional, "every-status", "Every status is kept as it was given.", nothing,
       every_status_is_kept},
      {functional, "status-alone", "A status can change without a record.", nothing, status_alone},
      {functional, "append-again", "The same append again succeeds and stores nothing twice.",
       nothing, repeated_append},
      {functional, "append-completed", "An append of which a part is stored is completed.", nothing,
       partly_stored},
      {functional, "other-content", "Other content under a stored sequence is a conflict.", nothing,
       other_content_conflicts},
      {functional, "conflict-harmless",
       "A conflict stores nothing of its batch, not even the status.", nothing,
       conflict_changes_nothing},
      {functional, "other-kind", "The same body under another kind is other content.", nothing,
       other_kind_conflicts},
      {functional, "other-time", "The same record at another time is other content.", nothing,
       other_time_conflicts},
      {functional, "sequence-zero", "Sequences begin at 1.", nothing, sequence_zero},
      {functional, "group-outcomes", "Each batch of a group has an outcome of its own.", nothing,
       outcomes_of_a_group},
      {functional, "empty-group", "A group without a batch does nothing.", nothing, empty_group},
      {functional, "group-status", "A batch without records changes the status.", nothing,
       group_sets_status},
  };
}

}  // namespace triage::inline v0_1::testing::kit
