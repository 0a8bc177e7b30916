// SPDX-License-Identifier: MIT
// corruption: a flipped bit is found and reported, and affects only the records it must.
#include "trial.hpp"

#include <algorithm>

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;
constexpr unsigned needs = damaging | reopening | whole;

// A released run of eight records, with labels at 3 and 6, damaged at `seq`.
void tell_and_damage(Trial& trial, Sequence seq) {
  Story story("run-1");
  const std::vector<Record> records{story.started(),   story.set("a", 1), story.label("first"),
                                    story.step("one"), story.set("a", 2), story.label("second"),
                                    story.set("a", 3), story.step("two")};
  const Lease lease = must(trial.store().start(story.info(), records), "start()");
  must(trial.store().release(lease), "release()");
  Story other("other");
  must(trial.store().release(other.start(trial.store(), 2)), "release()");
  trial.damage("run-1", seq);
}

void damage_is_said(Trial& trial) {
  for (const Sequence seq : {Sequence{4}}) {
    tell_and_damage(trial, seq);
    const auto reading = must(trial.store().read("run-1", {}), "read()");
    expect_equal(reading.damaged.size(), 1U, "damaged records");
    expect_equal(reading.damaged[0].seq, seq, "sequence of the damaged one");
  }
}
void damaged_is_not_used(Trial& trial) {
  tell_and_damage(trial, 4);
  const auto reading = must(trial.store().read("run-1", {}), "read()");
  for (const Record& record : reading.records) {
    expect(record.seq() != 4, "the damaged record is given as an intact one");
  }
}
void others_are_read(Trial& trial) {
  tell_and_damage(trial, 4);
  expect_equal(must(trial.store().read("run-1", {}), "read()").records.size(), 7U,
               "intact records");
}
void first_damaged(Trial& trial) {
  tell_and_damage(trial, 1);
  const auto reading = must(trial.store().read("run-1", {}), "read()");
  expect_equal(reading.records.size(), 7U, "intact records");
  refused(Errc::corrupt, trial.store().latest("run-1"), "latest() without a start");
}
void last_damaged(Trial& trial) {
  tell_and_damage(trial, 8);
  const auto reading = must(trial.store().read("run-1", {}), "read()");
  expect_equal(reading.records.size(), 7U, "intact records");
  expect_equal(reading.damaged.size(), 1U, "damaged records");
}
void damaged_range(Trial& trial) {
  tell_and_damage(trial, 4);
  expect(must(trial.store().read("run-1", {1, 3}), "read()").damaged.empty(),
         "damage is said of a range without it");
  expect_equal(must(trial.store().read("run-1", {4, 4}), "read()").damaged.size(), 1U,
               "damaged records of its own range");
}
void restores_before_it(Trial& trial) {
  tell_and_damage(trial, 5);
  expect_equal(must(trial.store().load_state({"run-1", 3}), "load_state()").value("a", 0), 1,
               "the state before the damage");
  expect_equal(must(trial.store().load({"run-1", 3}), "load()").state.value("a", 0), 1,
               "the state before the damage");
}
void refuses_behind_it(Trial& trial) {
  tell_and_damage(trial, 5);
  const auto state = trial.store().load_state({"run-1", 6});
  const auto loaded = trial.store().load({"run-1", 6});
  expect(state.has_error() && loaded.has_error(), "a state behind the damage is restored");
}
void falls_back(Trial& trial) {
  tell_and_damage(trial, 7);
  const Checkpoint seen = must(trial.store().latest("run-1"), "latest()");
  expect_equal(seen.state.value("a", 0), 2, "the newest intact state");
}
void others_unharmed(Trial& trial) {
  tell_and_damage(trial, 4);
  expect_equal(all_records(trial.store(), "other").size(), 3U, "records of another run");
  expect_equal(must(trial.store().runs({}), "runs()").size(), 2U, "runs that are listed");
}
void can_go_on(Trial& trial) {
  tell_and_damage(trial, 4);
  const Lease lease = must(trial.store().acquire("run-1"), "acquire()");
  const Record next = raw_record(9, RecordKind::usage, {{"calls", 1}});
  must(trial.store().append(lease, {&next, 1}, RunStatus::running), "append()");
  const auto reading = must(trial.store().read("run-1", {}), "read()");
  expect_equal(reading.records.size(), 8U, "intact records");
  expect_equal(reading.damaged.size(), 1U, "damaged records");
}
void can_go(Trial& trial) {
  tell_and_damage(trial, 4);
  must(trial.store().erase("run-1"), "erase()");
  expect_equal(ids(must(trial.store().runs({}), "runs()")), "other", "what is left");
}
void several_damaged(Trial& trial) {
  tell_and_damage(trial, 4);
  trial.damage("run-1", 7);
  trial.damage("run-1", 2);
  const auto reading = must(trial.store().read("run-1", {}), "read()");
  expect_equal(reading.damaged.size(), 3U, "damaged records");
  expect(std::is_sorted(reading.damaged.begin(), reading.damaged.end(),
                        [](const auto& a, const auto& b) { return a.seq < b.seq; }),
         "they are not ascending");
  expect_equal(reading.records.size(), 5U, "intact records");
}
void stays_where_it_is(Trial& trial) {
  tell_and_damage(trial, 4);
  for (int i = 0; i < 3; ++i) {
    expect_equal(must(trial.reopen().read("run-1", {}), "read()").damaged.size(), 1U,
                 "damaged records in a later opening");
  }
}
void newest_says_so_too(Trial& trial) {
  tell_and_damage(trial, 8);
  expect_equal(must(trial.store().read_newest("run-1"), "read_newest()").damaged.size(), 1U,
               "damaged records");
}

}  // namespace

Clauses corruption_clauses() {
  return {
      {corruption, "said", "A damaged record is reported, with its sequence.", needs,
       damage_is_said},
      {corruption, "not-used", "A damaged record is not given as an intact one.", needs,
       damaged_is_not_used},
      {corruption, "others-read", "Every other record of the run is read.", needs, others_are_read},
      {corruption, "first", "A run whose first record is damaged can be read, not restored.", needs,
       first_damaged},
      {corruption, "last", "A damaged last record costs no other.", needs, last_damaged},
      {corruption, "range", "Damage is said of the ranges that it lies in.", needs, damaged_range},
      {corruption, "before", "Checkpoints before the damage can be restored.", needs,
       restores_before_it},
      {corruption, "behind", "A state that cannot be known is not made up.", needs,
       refuses_behind_it},
      {corruption, "newest-intact", "latest() falls back to the newest intact position.", needs,
       falls_back},
      {corruption, "other-runs", "Damage in one run is none in another.", needs, others_unharmed},
      {corruption, "going-on", "A damaged run can be appended to.", needs, can_go_on},
      {corruption, "erase", "A damaged run can be erased.", needs | erasing, can_go},
      {corruption, "several", "Several damaged records are all reported, ascending.", needs,
       several_damaged},
      {corruption, "stays", "Damage does not go away by opening the store again.", needs,
       stays_where_it_is},
      {corruption, "newest", "read_newest() reports damage, too.", needs, newest_says_so_too},
  };
}

}  // namespace triage::inline v0_1::testing::kit
