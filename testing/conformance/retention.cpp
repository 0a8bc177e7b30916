// SPDX-License-Identifier: MIT
// retention: what is removed, what stays, and that no traces remain.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// Runs a, b, c, …, a second apart, each ended and released.
void tell(CheckpointStore& store, int count, RunStatus status = RunStatus::finished) {
  for (int i = 0; i < count; ++i) {
    Story story(std::string(1, static_cast<char>('a' + i)), 1'000 * (i + 1));
    const Lease lease = story.start(store);
    must(store.append(lease, {}, status), "append()");
    must(store.release(lease), "release()");
  }
}
std::string left(Trial& trial) { return ids(must(trial.store().runs({}), "runs()")); }

void erased_is_gone(Trial& trial) {
  tell(trial.store(), 2);
  must(trial.store().erase("a"), "erase()");
  refused(Errc::not_found, trial.store().run("a"), "run()");
  refused(Errc::not_found, trial.store().read("a", {}), "read()");
  refused(Errc::not_found, trial.store().latest("a"), "latest()");
  refused(Errc::not_found, trial.store().acquire("a"), "acquire()");
  refused(Errc::not_found, trial.store().erase("a"), "erase() again");
  expect_equal(left(trial), "b", "what is left");
}
void erased_name_is_free(Trial& trial) {
  Story old("run-1");
  must(trial.store().release(old.start(trial.store(), 9)), "release()");
  must(trial.store().erase("run-1"), "erase()");
  Story fresh("run-1", 77'000);
  const Lease lease = fresh.start(trial.store(), 1);
  expect_equal(all_records(trial.store(), "run-1").size(), 2U, "number of records");
  expect(must(trial.store().run("run-1"), "run()").started == at_ms(77'000), "another start");
}
void owned_is_not_erased(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  refused(Errc::busy, trial.store().erase("run-1"), "erasing an owned run");
  must(trial.store().append(lease, story.steps(1), RunStatus::running), "append()");
}
void suspended_is_erased(Trial& trial) {
  tell(trial.store(), 1, RunStatus::suspended);
  must(trial.store().erase("a"), "erase()");
  expect_equal(left(trial), "", "what is left");
}

void prune_by_age(Trial& trial) {
  tell(trial.store(), 4);
  expect_equal(must(trial.store().prune({.keep_since = at_ms(3'000)}), "prune()"), 2U, "removed");
  expect_equal(left(trial), "d c", "what is left");
}
void prune_by_number(Trial& trial) {
  tell(trial.store(), 5);
  expect_equal(must(trial.store().prune({.keep_newest = 2}), "prune()"), 3U, "removed");
  expect_equal(left(trial), "e d", "what is left");
}
void prune_by_agent(Trial& trial) {
  for (int i = 0; i < 6; ++i) {
    Story story(std::string(1, static_cast<char>('a' + i)), 1'000 * (i + 1));
    story.info().agent = i < 4 ? "busy" : "rare";
    const Lease lease = story.start(trial.store());
    must(trial.store().append(lease, {}, RunStatus::finished), "append()");
    must(trial.store().release(lease), "release()");
  }
  expect_equal(must(trial.store().prune({.keep_newest = 2}), "prune()"), 2U, "removed");
  expect_equal(left(trial), "f e d c", "what is left");
}
void prune_both(Trial& trial) {
  tell(trial.store(), 5);
  must(trial.store().prune({.keep_since = at_ms(2'000), .keep_newest = 3}), "prune()");
  expect_equal(left(trial), "e d c", "what is left");
}
void prune_nothing(Trial& trial) {
  tell(trial.store(), 3);
  expect_equal(must(trial.store().prune({}), "prune()"), 0U, "removed");
  expect_equal(left(trial), "c b a", "what is left");
}
void prune_all_ended(Trial& trial) {
  tell(trial.store(), 3);
  expect_equal(must(trial.store().prune({.keep_newest = 0}), "prune()"), 3U, "removed");
  expect_equal(left(trial), "", "what is left");
}
void prune_keeps_suspended(Trial& trial) {
  tell(trial.store(), 2, RunStatus::suspended);
  expect_equal(must(trial.store().prune({.keep_newest = 0}), "prune()"), 0U, "removed");
  expect_equal(must(trial.store().prune({.keep_newest = 0, .only_ended = false}), "prune()"), 2U,
               "removed when told to");
}
void prune_keeps_running(Trial& trial) {
  tell(trial.store(), 2, RunStatus::running);
  expect_equal(must(trial.store().prune({.keep_newest = 0}), "prune()"), 0U, "removed");
  expect_equal(left(trial), "b a", "what is left");
}
void prune_keeps_owned(Trial& trial) {
  tell(trial.store(), 2);
  Story story("owned", 500);
  const Lease lease = story.start(trial.store());
  must(trial.store().append(lease, {}, RunStatus::finished), "append()");
  expect_equal(must(trial.store().prune({.keep_newest = 0, .only_ended = false}), "prune()"), 2U,
               "removed");
  expect_equal(left(trial), "owned", "what is left");
  must(trial.store().append(lease, story.steps(1), RunStatus::finished), "append()");
}

void erase_several(Trial& trial) {
  tell(trial.store(), 4);
  const std::vector<RunId> some{"a", "c"};
  expect_equal(must(trial.store().erase_all(some), "erase_all()"), 2U, "removed");
  expect_equal(left(trial), "d b", "what is left");
}
void erase_missing(Trial& trial) {
  tell(trial.store(), 2);
  const std::vector<RunId> some{"none", "a", "missing"};
  expect_equal(must(trial.store().erase_all(some), "erase_all()"), 1U, "removed");
}
void erase_around_owned(Trial& trial) {
  tell(trial.store(), 2);
  Story story("owned");
  const Lease lease = story.start(trial.store());
  const std::vector<RunId> some{"a", "owned", "b"};
  expect_equal(must(trial.store().erase_all(some), "erase_all()"), 2U, "removed");
  expect_equal(left(trial), "owned", "what is left");
}
void erase_none(Trial& trial) {
  tell(trial.store(), 1);
  expect_equal(must(trial.store().erase_all({}), "erase_all()"), 0U, "removed");
  expect_equal(left(trial), "a", "what is left");
}

void many_go(Trial& trial) {
  std::vector<RunId> all;
  for (int i = 0; i < 120; ++i) {
    Story story("run-" + std::to_string(i), i);
    const Lease lease = story.start(trial.store(), 2);
    must(trial.store().append(lease, {}, RunStatus::finished), "append()");
    must(trial.store().release(lease), "release()");
  }
  expect_equal(must(trial.store().prune({.keep_newest = 7}), "prune()"), 113U, "removed");
  expect_equal(must(trial.store().runs({}), "runs()").size(), 7U, "what is left");
}
void keys_of_a_run_go(Trial& trial) {
  const std::string_view signals = triage::detail::own_space(triage::detail::OwnSpace::signals);
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const std::string mine = triage::detail::keys_of(story.info()).signals + "approval";
  const std::string other = triage::detail::keys_of(Story("run-2").info()).signals + "approval";
  must(trial.store().put_if(signals, mine, 0, "yes"), "put_if()");
  must(trial.store().put_if(signals, other, 0, "no"), "put_if()");
  must(trial.store().release(lease), "release()");
  must(trial.store().erase("run-1"), "erase()");
  expect(!must(trial.store().get(signals, mine), "get()"), "a signal outlives its run");
  expect(must(trial.store().get(signals, other), "get()").has_value(),
         "another run's signal went, too");
}
void erased_stays_gone(Trial& trial) {
  tell(trial.store(), 3);
  must(trial.store().erase("b"), "erase()");
  expect_equal(ids(must(trial.reopen().runs({}), "runs()")), "c a", "what is left, opened again");
  refused(Errc::not_found, trial.store().read("b", {}), "read()");
}

}  // namespace

Clauses retention_clauses() {
  return {
      {retention, "erased", "An erased run is gone from everywhere.", erasing, erased_is_gone},
      {retention, "name-is-free", "An erased run's name is free, and nothing old is left under it.",
       erasing, erased_name_is_free},
      {retention, "owned-stays", "A run that is owned is not erased.", erasing,
       owned_is_not_erased},
      {retention, "suspended-can-go", "A run that nobody owns can be erased, whatever its status.",
       erasing, suspended_is_erased},
      {retention, "by-age", "Pruning by age removes what was updated before.", erasing,
       prune_by_age},
      {retention, "by-number", "Pruning by number keeps the newest.", erasing, prune_by_number},
      {retention, "by-agent", "The number to keep counts for each agent.", erasing, prune_by_agent},
      {retention, "by-both", "What either rule removes goes.", erasing, prune_both},
      {retention, "by-no-rule", "Pruning without a rule removes nothing.", erasing, prune_nothing},
      {retention, "keep-none", "Keeping none removes every ended run.", erasing, prune_all_ended},
      {retention, "suspended-stays", "Suspended runs are pruned only when told to.", erasing,
       prune_keeps_suspended},
      {retention, "running-stays", "Running runs are not pruned, owned or not.", erasing,
       prune_keeps_running},
      {retention, "owned-never-pruned", "A run that is owned is never pruned.", erasing,
       prune_keeps_owned},
      {retention, "several", "Several runs can be erased at once.", erasing, erase_several},
      {retention, "missing", "Runs that are not there do not count, and are no error.", erasing,
       erase_missing},
      {retention, "around-owned", "Erasing several runs leaves those that are owned.", erasing,
       erase_around_owned},
      {retention, "no-runs", "Erasing no runs removes nothing.", erasing, erase_none},
      {retention, "many", "A hundred runs can be pruned.", erasing, many_go},
      {retention, "keys", "A run's signals go with it, and no other's.", erasing | keys,
       keys_of_a_run_go},
      {retention, "stays-gone", "What was erased is gone in the next opening, too.",
       erasing | reopening, erased_stays_gone},
  };
}

}  // namespace triage::inline v0_1::testing::kit
