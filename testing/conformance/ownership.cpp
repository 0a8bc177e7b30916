// SPDX-License-Identifier: MIT
// ownership: one writer per run; a former one changes nothing.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// A run that changed hands, so its first lease is stale.
struct Handed {
  Story story;
  Lease stale{};
  Lease current{};
  explicit Handed(CheckpointStore& store) : story("run-1"), stale(story.start(store, 1)) {
    must(store.release(stale), "release()");
    current = must(store.acquire("run-1"), "acquire()");
  }
};

void one_owner(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  refused(Errc::busy, trial.store().acquire("run-1"), "acquiring an owned run");
}
void released_is_free(Trial& trial) {
  Story story("run-1");
  must(trial.store().release(story.start(trial.store())), "release()");
  expect(!must(trial.store().run("run-1"), "run()").owned, "a released run is shown as owned");
  const Lease lease = must(trial.store().acquire("run-1"), "acquire()");
  expect(must(trial.store().run("run-1"), "run()").owned, "an acquired run is shown as free");
  must(trial.store().append(lease, story.steps(1), RunStatus::running), "append()");
}
void acquired_is_taken(Trial& trial) {
  const Handed run(trial.store());
  refused(Errc::busy, trial.store().acquire("run-1"), "acquiring an acquired run");
}
void released_is_fenced(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().release(lease), "release()");
  refused(Errc::fenced, trial.store().append(lease, story.steps(1), RunStatus::running),
          "appending after the release");
  expect_equal(all_records(trial.store(), "run-1").size(), 1U, "number of records");
}
void stale_append(Trial& trial) {
  Handed run(trial.store());
  refused(Errc::fenced, trial.store().append(run.stale, run.story.steps(1), RunStatus::running),
          "appending under a stale lease");
  expect_equal(all_records(trial.store(), "run-1").size(), 2U, "number of records");
}
void stale_status(Trial& trial) {
  const Handed run(trial.store());
  refused(Errc::fenced, trial.store().append(run.stale, {}, RunStatus::aborted),
          "a status under a stale lease");
  expect(must(trial.store().run("run-1"), "run()").status == RunStatus::running,
         "a stale owner changed the status");
}
void stale_repeat(Trial& trial) {
  Handed run(trial.store());
  const auto records = run.story.steps(2);
  must(trial.store().append(run.current, records, RunStatus::running), "append()");
  refused(Errc::fenced, trial.store().append(run.stale, records, RunStatus::running),
          "what is stored already, under a stale lease");
}
void stale_group(Trial& trial) {
  Handed run(trial.store());
  const auto records = run.story.steps(2);
  std::vector<AppendBatch> batches{{.lease = run.stale, .records = records}};
  trial.store().append_group(batches);
  refused(Errc::fenced, batches[0].outcome, "a group under a stale lease");
  expect_equal(all_records(trial.store(), "run-1").size(), 2U, "number of records");
}
void stale_renewal(Trial& trial) {
  const Handed run(trial.store());
  refused(Errc::fenced, trial.store().renew(run.stale), "renewing a stale lease");
}
void stale_release(Trial& trial) {
  Handed run(trial.store());
  must(trial.store().release(run.stale), "releasing a stale lease");
  expect(must(trial.store().run("run-1"), "run()").owned, "a stale owner freed the run");
  must(trial.store().append(run.current, run.story.steps(1), RunStatus::running), "append()");
}
void released_twice(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().release(lease), "release()");
  must(trial.store().release(lease), "release() again");
  const Lease next = must(trial.store().acquire("run-1"), "acquire()");
}
void renewal_keeps(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().renew(lease), "renew()");
  must(trial.store().renew(lease), "renew() again");
  must(trial.store().append(lease, story.steps(1), RunStatus::running), "append()");
  refused(Errc::busy, trial.store().acquire("run-1"), "acquiring a renewed run");
}
void released_renewal(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().release(lease), "release()");
  refused(Errc::fenced, trial.store().renew(lease), "renewing a released lease");
}
void epochs_grow(Trial& trial) {
  Story story("run-1");
  Lease lease = story.start(trial.store());
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t before = lease.epoch;
    must(trial.store().release(lease), "release()");
    lease = must(trial.store().acquire("run-1"), "acquire()");
    expect(lease.epoch > before, "the epoch does not grow with an acquisition");
  }
}
void made_up_epoch(Trial& trial) {
  Story story("run-1");
  Lease lease = story.start(trial.store());
  const auto records = story.steps(1);
  for (const std::uint64_t wrong : {lease.epoch + 1, lease.epoch + 1'000, std::uint64_t{0}}) {
    Lease made_up = lease;
    made_up.epoch = wrong;
    refused(Errc::fenced, trial.store().append(made_up, records, RunStatus::running),
            "appending under a made-up epoch");
  }
  must(trial.store().append(lease, records, RunStatus::running), "append()");
}
void lease_of_another_run(Trial& trial) {
  Story mine("mine"), yours("yours");
  Lease lease = mine.start(trial.store());
  const Lease other = yours.start(trial.store());
  must(trial.store().release(other), "release()");
  const Lease newer = must(trial.store().acquire("yours"), "acquire()");
  lease.run = "yours";
  expect(trial.store().append(lease, yours.steps(1), RunStatus::running).has_error(),
         "another run's lease can be used");
  expect_equal(all_records(trial.store(), "yours").size(), 1U, "number of records");
}
void erased_lease(Trial& trial) {
  Story story("run-1");
  const Record first = story.started();
  const Lease old = must(trial.store().start(story.info(), {&first, 1}), "start()");
  must(trial.store().release(old), "release()");
  must(trial.store().erase("run-1"), "erase()");
  const Lease next = must(trial.store().start(story.info(), {&first, 1}), "start() again");
  refused(Errc::fenced, trial.store().append(old, story.steps(1), RunStatus::running),
          "an erased run's lease on a later run of its name");
}
void finished_run_can_be_owned(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().append(lease, {}, RunStatus::finished), "append()");
  must(trial.store().release(lease), "release()");
  const Lease again = must(trial.store().acquire("run-1"), "acquiring a finished run");
  expect(must(trial.store().run("run-1"), "run()").status == RunStatus::finished,
         "acquiring changed the status");
}
void acquiring_stores_nothing(Trial& trial) {
  const Handed run(trial.store());
  expect_equal(all_records(trial.store(), "run-1").size(), 2U, "number of records");
  expect_equal(must(trial.store().run("run-1"), "run()").last, 2U, "last");
}

void other_opening_is_busy(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const auto other = trial.open();
  refused(Errc::busy, other->acquire("run-1"), "acquiring what another opening owns");
  expect(must(other->run("run-1"), "run()").owned, "another opening shows the run as free");
}
void other_opening_takes_over(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().release(lease), "release()");
  const auto other = trial.open();
  const Lease newer = must(other->acquire("run-1"), "acquire()");
  refused(Errc::fenced, trial.store().append(lease, story.steps(1), RunStatus::running),
          "a stale append in the first opening");
  refused(Errc::busy, trial.store().acquire("run-1"), "acquiring it back");
  must(other->append(newer, std::vector<Record>{raw_record(2, RecordKind::usage, {{"calls", 1}})},
                     RunStatus::running),
       "append()");
}
void other_process_owns(Trial& trial) {
  trial.killed_child(
      [](CheckpointStore& store, const auto&) { static Lease lease = Story("run-1").start(store); },
      [&] {
        refused(Errc::busy, trial.store().acquire("run-1"), "acquiring what a living process owns");
        expect(must(trial.store().run("run-1"), "run()").owned, "the run is shown as free");
      });
}
void dead_process_owns_nothing(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const auto&) {
    static Lease lease = Story("run-1").start(store);
  });
  expect(!must(trial.store().run("run-1"), "run()").owned, "a dead process is shown as owner");
  const Lease lease = must(trial.store().acquire("run-1"), "acquiring what a dead process owned");
}

}  // namespace

Clauses ownership_clauses() {
  return {
      {ownership, "one-owner", "A run that is owned is busy.", nothing, one_owner},
      {ownership, "release", "A released run is free, and can be acquired and gone on with.",
       nothing, released_is_free},
      {ownership, "acquired-is-owned", "An acquired run is as busy as a started one.", nothing,
       acquired_is_taken},
      {ownership, "fenced-after-release", "Nothing is appended under a released lease.", nothing,
       released_is_fenced},
      {ownership, "fenced-append", "A stale owner appends nothing.", nothing, stale_append},
      {ownership, "fenced-status", "A stale owner changes no status.", nothing, stale_status},
      {ownership, "fenced-repeat", "A stale owner hears that it is stale, whatever it repeats.",
       nothing, stale_repeat},
      {ownership, "fenced-group", "A stale owner appends nothing in a group.", nothing,
       stale_group},
      {ownership, "fenced-renewal", "A stale owner cannot renew.", nothing, stale_renewal},
      {ownership, "stale-release", "A stale owner's release takes nothing from the new one.",
       nothing, stale_release},
      {ownership, "release-twice", "A release that comes again is harmless.", nothing,
       released_twice},
      {ownership, "renewal", "A renewed lease goes on being one.", nothing, renewal_keeps},
      {ownership, "no-renewal-after-release", "A released lease cannot be renewed.", nothing,
       released_renewal},
      {ownership, "epochs-grow", "The epoch grows with every acquisition.", nothing, epochs_grow},
      {ownership, "made-up-epoch", "An epoch that was never given is fenced.", nothing,
       made_up_epoch},
      {ownership, "other-run", "A lease is good for its own run only.", nothing,
       lease_of_another_run},
      {ownership, "erased-run", "An erased run's lease fits no later run of its name.", erasing,
       erased_lease},
      {ownership, "ended-run", "An ended run can be owned, and keeps its status.", nothing,
       finished_run_can_be_owned},
      {ownership, "acquire-stores-nothing", "Acquiring changes no journal.", nothing,
       acquiring_stores_nothing},
      {ownership, "other-opening-busy", "What one opening owns is busy in another.",
       processes | reopening, other_opening_is_busy},
      {ownership, "other-opening-fences", "What another opening took over is fenced in the first.",
       processes | reopening, other_opening_takes_over},
      {ownership, "other-process", "What a living process owns is busy in another.",
       processes | reopening, other_process_owns},
      {ownership, "dead-owner", "What a dead process owned is free at once.", processes | reopening,
       dead_process_owns_nothing},
  };
}

}  // namespace triage::inline v0_1::testing::kit
