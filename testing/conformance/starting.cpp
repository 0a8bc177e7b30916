// SPDX-License-Identifier: MIT
// functional: starting a run in a store.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

void keeps_what_is_said(Trial& trial) {
  Story story("run-1");
  story.start(trial.store());
  const RunInfo seen = must(trial.store().run("run-1"), "run()");
  expect_equal(seen.id, "run-1", "id");
  expect_equal(seen.agent, "crawler", "agent");
  expect_equal(seen.label, "nightly", "label");
  expect_equal(seen.parent, "parent-1", "parent");
  expect(seen.status == RunStatus::running, "status is not running");
  expect(seen.started == at_ms(1'000), "started is another time");
  expect_equal(seen.last, 1U, "last");
  expect(!seen.damaged, "it is called damaged");
}

void keeps_first_records(Trial& trial) {
  Story story("run-1");
  std::vector<Record> records{story.started()};
  for (Record& record : story.steps(20)) records.push_back(std::move(record));
  must(trial.store().start(story.info(), records), "start()");
  expect_same(all_records(trial.store(), "run-1"), records, "read()");
}

void owner_is_shown(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  expect_equal(lease.run, "run-1", "lease.run");
  expect(lease.epoch > 0, "the lease has no epoch");
  expect(must(trial.store().run("run-1"), "run()").owned, "the run is not shown as owned");
}

void other_start_conflicts(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  Story other("run-1", 5'000);
  const Record first = other.started();
  refused(Errc::conflict, trial.store().start(other.info(), {&first, 1}), "a second start");
  refused(Errc::conflict, trial.store().start(story.info(), {}), "a start without records");
}

void refused_start_changes_nothing(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 2);
  const auto before = all_records(trial.store(), "run-1");
  Story other("run-1", 5'000);
  other.info().agent = "thief";
  const Record first = other.started();
  refused(Errc::conflict, trial.store().start(other.info(), {&first, 1}), "a second start");
  expect_same(all_records(trial.store(), "run-1"), before, "after a refused start");
  expect_equal(must(trial.store().run("run-1"), "run()").agent, "crawler", "agent");
}

void lost_answer_is_found_again(Trial& trial) {
  Story story("run-1");
  const std::vector<Record> records{story.started(), story.step("a")};
  const Lease lost = must(trial.store().start(story.info(), records), "start()");
  const Lease again = must(trial.store().start(story.info(), records), "the same start again");
  expect_equal(again.epoch, lost.epoch, "epoch of the second answer");
  expect_same(all_records(trial.store(), "run-1"), records, "read()");
  const Record next = story.step("b");
  must(trial.store().append(again, {&next, 1}, RunStatus::running), "appending under it");
}

void more_records_are_another_start(Trial& trial) {
  Story story("run-1");
  const Record first = story.started();
  const Lease lease = must(trial.store().start(story.info(), {&first, 1}), "start()");
  const std::vector<Record> more{first, story.step("a")};
  refused(Errc::conflict, trial.store().start(story.info(), more), "a start with more records");
  expect_equal(must(trial.store().run("run-1"), "run()").last, 1U, "last");
}

void gone_on_run_is_not_started(Trial& trial) {
  Story story("run-1");
  const Record first = story.started();
  const Lease lease = must(trial.store().start(story.info(), {&first, 1}), "start()");
  const Record next = story.step("a");
  must(trial.store().append(lease, {&next, 1}, RunStatus::running), "append()");
  refused(Errc::conflict, trial.store().start(story.info(), {&first, 1}), "the start again");
}

void released_run_is_not_started(Trial& trial) {
  Story story("run-1");
  const Record first = story.started();
  const Lease lease = must(trial.store().start(story.info(), {&first, 1}), "start()");
  must(trial.store().release(lease), "release()");
  refused(Errc::conflict, trial.store().start(story.info(), {&first, 1}), "the start again");
}

void longest_id(Trial& trial) {
  std::string id = "AZaz09._:-";
  id.resize(128, 'x');
  Story story(id);
  const Lease lease = story.start(trial.store(), 1);
  expect_equal(must(trial.store().run(id), "run()").id, id, "id");
  expect_equal(all_records(trial.store(), id).size(), 2U, "number of records");
}

void not_found_everywhere(Trial& trial) {
  CheckpointStore& store = trial.store();
  refused(Errc::not_found, store.run("none"), "run()");
  refused(Errc::not_found, store.read("none", {}), "read()");
  refused(Errc::not_found, store.read_newest("none"), "read_newest()");
}
void not_found_lease(Trial& trial) {
  refused(Errc::not_found, trial.store().acquire("none"), "acquire()");
}
void not_found_checkpoint(Trial& trial) {
  CheckpointStore& store = trial.store();
  refused(Errc::not_found, store.load({"none", 1}), "load()");
  refused(Errc::not_found, store.load_state({"none", 1}), "load_state()");
  refused(Errc::not_found, store.latest("none"), "latest()");
  refused(Errc::not_found, store.checkpoints("none"), "checkpoints()");
}
void not_found_erase(Trial& trial) {
  refused(Errc::not_found, trial.store().erase("none"), "erase()");
}

}  // namespace

Clauses starting_clauses() {
  return {
      {functional, "start-keeps-info", "A started run is stored with everything said about it.",
       nothing, keeps_what_is_said},
      {functional, "start-keeps-records", "The records given to start() are the run's first ones.",
       nothing, keeps_first_records},
      {functional, "start-gives-lease", "Who starts a run owns it, and that is shown.", nothing,
       owner_is_shown},
      {functional, "start-once", "A run id that is taken is a conflict.", nothing,
       other_start_conflicts},
      {functional, "start-refused-harmless", "A refused start changes nothing of the run there.",
       nothing, refused_start_changes_nothing},
      {functional, "start-again", "A start whose answer got lost may come again.", nothing,
       lost_answer_is_found_again},
      {functional, "start-with-more", "A start with more records than before is a conflict.",
       nothing, more_records_are_another_start},
      {functional, "start-after-append", "A run that has gone on cannot be started again.", nothing,
       gone_on_run_is_not_started},
      {functional, "start-after-release", "A run that was released cannot be started again.",
       nothing, released_run_is_not_started},
      {functional, "longest-id", "Run ids of 128 characters of every allowed kind work.", nothing,
       longest_id},
      {functional, "no-such-run", "Reading a run that is not there says not_found.", nothing,
       not_found_everywhere},
      {functional, "no-such-run-to-acquire", "Acquiring a run that is not there says not_found.",
       nothing, not_found_lease},
      {functional, "no-such-run-to-restore",
       "Restoring from a run that is not there says not_found.", nothing, not_found_checkpoint},
      {functional, "no-such-run-to-erase", "Erasing a run that is not there says not_found.",
       erasing, not_found_erase},
  };
}

}  // namespace triage::inline v0_1::testing::kit
