// SPDX-License-Identifier: MIT
// upgrade: data written by older and newer versions.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

void members_of_later_versions(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const Record record = story.note(RecordKind::failure_classified,
                                   {{"type", "timeout"}, {"from_a_later_version", {1, "two"}}});
  must(trial.store().append(lease, {&record, 1}, RunStatus::running), "append()");
  const auto seen = all_records(trial.store(), "run-1");
  expect_equal(seen.size(), 2U, "number of records");
  expect(same(seen[1], record), "members that this version does not know are lost");
}
void opened_twice(Trial& trial) {
  Story story("run-1");
  must(trial.store().release(story.start(trial.store(), 3)), "release()");
  const RunInfo before = must(trial.store().run("run-1"), "run()");
  trial.reopen();
  const RunInfo after = must(trial.reopen().run("run-1"), "run()");
  expect(before.started == after.started && before.updated == after.updated &&
             before.last == after.last && before.status == after.status,
         "what is said about a run changes by opening the store");
}
void empty_opened_twice(Trial& trial) {
  static_cast<void>(trial.store());
  expect_equal(must(trial.reopen().runs({}), "runs()").size(), 0U, "runs of an empty store");
  must(trial.store().release(Story("run-1").start(trial.store())), "release()");
}
void newer_is_refused(Trial& trial) {
  must(trial.store().release(Story("run-1").start(trial.store(), 3)), "release()");
  trial.make_newer();
  const auto opened = trial.factory()(trial.folder());
  if (opened.has_error()) return refused(Errc::unsupported, opened, "opening a newer store");
  refused(Errc::unsupported, opened.value()->read("run-1", {}), "reading a newer store");
}
void newer_is_left_alone(Trial& trial) {
  must(trial.store().release(Story("run-1").start(trial.store(), 3)), "release()");
  trial.make_newer();
  const auto opened = trial.factory()(trial.folder());
  if (opened.has_error()) return;
  expect(opened.value()->erase("run-1").has_error(), "a run of a newer store is erased");
  expect(opened.value()->acquire("run-1").has_error(), "a run of a newer store is acquired");
}

}  // namespace

Clauses upgrade_clauses() {
  return {
      {upgrade, "later-members", "Members that only later versions know are kept.", nothing,
       members_of_later_versions},
      {upgrade, "opened-twice", "Opening a store again changes nothing that is said of a run.",
       reopening, opened_twice},
      {upgrade, "empty-opened-twice", "An empty store can be opened again and used.", reopening,
       empty_opened_twice},
      {upgrade, "newer", "What a newer version wrote is unsupported, not misread.",
       newer | reopening, newer_is_refused},
      {upgrade, "newer-unchanged", "What a newer version wrote is not changed.", newer | reopening,
       newer_is_left_alone},
  };
}

}  // namespace triage::inline v0_1::testing::kit
