// SPDX-License-Identifier: MIT
// functional: listing runs.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// Six runs, a to f, a second apart; even ones of agent "even", the last a child of the first.
void tell_six(CheckpointStore& store) {
  for (int i = 0; i < 6; ++i) {
    Story story(std::string(1, static_cast<char>('a' + i)), 1'000 * (i + 1));
    story.info().agent = i % 2 == 0 ? "even" : "odd";
    story.info().label = i < 3 ? "low" : "high";
    if (i == 5) story.info().parent = "a";
    const Lease lease = story.start(store);
    if (i == 4) must(store.append(lease, {}, RunStatus::finished), "append()");
  }
}

void lists(Trial& trial, const RunQuery& query, std::string_view expected) {
  tell_six(trial.store());
  expect_equal(ids(must(trial.store().runs(query), "runs()")), expected, "runs");
}

void newest_first(Trial& trial) { lists(trial, {}, "f e d c b a"); }
void limit(Trial& trial) { lists(trial, {.limit = 2}, "f e"); }
void no_limit(Trial& trial) { lists(trial, {.limit = 0}, "f e d c b a"); }
void by_agent(Trial& trial) { lists(trial, {.agent = "odd"}, "f d b"); }
void by_label(Trial& trial) { lists(trial, {.label = "low"}, "c b a"); }
void by_parent(Trial& trial) { lists(trial, {.parent = "a"}, "f"); }
void by_status(Trial& trial) { lists(trial, {.status = RunStatus::finished}, "e"); }
void by_time(Trial& trial) {
  lists(trial, {.started_since = at_ms(2'000), .started_until = at_ms(4'000)}, "c b");
}
void by_several(Trial& trial) {
  lists(trial, {.agent = "even", .label = "low", .started_since = at_ms(1'500)}, "c");
}
void by_nothing_that_is(Trial& trial) { lists(trial, {.agent = "nobody"}, ""); }
void limit_after_filter(Trial& trial) { lists(trial, {.agent = "even", .limit = 2}, "e c"); }

void empty_store(Trial& trial) {
  expect_equal(must(trial.store().runs({}), "runs()").size(), 0U, "runs of an empty store");
}

void says_what_run_says(Trial& trial) {
  tell_six(trial.store());
  for (const RunInfo& listed : must(trial.store().runs({}), "runs()")) {
    const RunInfo info = must(trial.store().run(listed.id), "run()");
    expect(listed.agent == info.agent && listed.label == info.label &&
               listed.parent == info.parent && listed.status == info.status &&
               listed.started == info.started && listed.updated == info.updated &&
               listed.owned == info.owned && listed.last == info.last,
           "runs() and run() say different things about run " + listed.id);
  }
}

void same_time_same_order(Trial& trial) {
  for (const char* id : {"b", "d", "a", "c"}) {
    Story story(id);
    story.start(trial.store());
  }
  const std::string once = ids(must(trial.store().runs({}), "runs()"));
  expect_equal(ids(must(trial.store().runs({}), "runs()")), once, "the order the second time");
  std::string top;
  for (std::size_t count = 1; count <= 4; ++count) {
    top = ids(must(trial.store().runs({.limit = count}), "runs()"));
    expect_equal(top, once.substr(0, top.size()), "a limit changes the order");
  }
}

void moved_on_keeps_place(Trial& trial) {
  Story first("first", 1'000);
  const Lease lease = first.start(trial.store());
  Story second("second", 2'000);
  second.start(trial.store());
  first.time = at_ms(900'000);
  const Record record = first.step("late");
  must(trial.store().append(lease, {&record, 1}, RunStatus::running), "append()");
  expect_equal(ids(must(trial.store().runs({}), "runs()")), "second first", "runs");
}

}  // namespace

Clauses listing_clauses() {
  return {
      {functional, "list-newest-first", "Runs are listed newest first.", nothing, newest_first},
      {functional, "list-limit", "A limit gives the newest ones.", nothing, limit},
      {functional, "list-no-limit", "Limit 0 means all.", nothing, no_limit},
      {functional, "list-agent", "Runs can be asked for by agent.", nothing, by_agent},
      {functional, "list-label", "Runs can be asked for by label.", nothing, by_label},
      {functional, "list-parent", "Runs can be asked for by parent.", nothing, by_parent},
      {functional, "list-status", "Runs can be asked for by status.", nothing, by_status},
      {functional, "list-time", "Runs can be asked for by start, from inclusive to exclusive.",
       nothing, by_time},
      {functional, "list-several", "Several conditions all hold.", nothing, by_several},
      {functional, "list-none", "A query that nothing matches gives nothing.", nothing,
       by_nothing_that_is},
      {functional, "list-limit-last", "The limit counts what matches.", nothing,
       limit_after_filter},
      {functional, "list-empty", "An empty store has no runs.", nothing, empty_store},
      {functional, "list-like-run", "runs() says of a run what run() says.", nothing,
       says_what_run_says},
      {functional, "list-stable", "Runs that started together are listed in one order.", nothing,
       same_time_same_order},
      {functional, "list-by-start", "A run keeps its place in the list when it goes on.", nothing,
       moved_on_keeps_place},
  };
}

}  // namespace triage::inline v0_1::testing::kit
