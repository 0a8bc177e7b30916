// SPDX-License-Identifier: MIT
// isolation: a run, key or reader does not affect any other.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// Runs of these names do not see each other's records.
void apart(Trial& trial, std::initializer_list<std::string> names) {
  std::vector<Story> stories;
  std::vector<Lease> leases;
  int count = 0;
  for (const std::string& name : names) {
    Story& story = stories.emplace_back(name);
    story.info().agent = "agent of " + name;
    leases.push_back(story.start(trial.store()));
    must(trial.store().append(leases.back(), story.steps(++count, name), RunStatus::running),
         "append()");
  }
  std::size_t expected = 1;
  for (const Story& story : stories) {
    expect_equal(all_records(trial.store(), story.id()).size(), ++expected,
                 "records of " + story.id());
    expect_equal(must(trial.store().run(story.id()), "run()").agent, "agent of " + story.id(),
                 "agent");
  }
  expect_equal(must(trial.store().runs({}), "runs()").size(), names.size(), "number of runs");
}

void runs_apart(Trial& trial) { apart(trial, {"a", "b", "c"}); }
void prefixes_apart(Trial& trial) { apart(trial, {"run", "run-1", "run-10", "run-1:", "run."}); }
void cases_apart(Trial& trial) { apart(trial, {"run", "Run", "RUN"}); }
void separators_apart(Trial& trial) { apart(trial, {"a:b", "a_b", "a.b", "a-b", "a__b", "a..b"}); }
void words_apart(Trial& trial) {
  apart(trial, {"runs", "keys", "journal", "index", "lock", "tmp", "CON", "-x", "_", "null"});
}

void status_apart(Trial& trial) {
  Story a("a"), b("b");
  const Lease la = a.start(trial.store()), lb = b.start(trial.store());
  must(trial.store().append(la, {}, RunStatus::finished), "append()");
  expect(must(trial.store().run("b"), "run()").status == RunStatus::running,
         "another run's status changed");
}
void release_apart(Trial& trial) {
  Story a("a"), b("b");
  const Lease la = a.start(trial.store()), lb = b.start(trial.store());
  must(trial.store().release(la), "release()");
  refused(Errc::busy, trial.store().acquire("b"), "acquiring the run that was not released");
}
void erase_apart(Trial& trial) {
  Story a("run-1"), b("run-10");
  must(trial.store().release(a.start(trial.store(), 3)), "release()");
  const Lease lb = b.start(trial.store(), 2);
  must(trial.store().erase("run-1"), "erase()");
  expect_equal(all_records(trial.store(), "run-10").size(), 3U, "records of the other run");
  must(trial.store().append(lb, b.steps(1), RunStatus::running), "append()");
}
void batches_apart(Trial& trial) {
  Story bad("bad"), good("good");
  Lease stale = bad.start(trial.store());
  must(trial.store().release(stale), "release()");
  const Lease lease = good.start(trial.store());
  const auto first = bad.steps(2), second = good.steps(2);
  std::vector<AppendBatch> batches{{.lease = stale, .records = first},
                                   {.lease = lease, .records = second}};
  trial.store().append_group(batches);
  must(batches[1].outcome, "the batch behind a refused one");
  expect_equal(all_records(trial.store(), "good").size(), 3U, "records of the good run");
}

void reader_keeps_what_it_read(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 3);
  const auto before = all_records(trial.store(), "run-1");
  std::vector<std::string> bodies(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) before[i].encode_body(bodies[i]);
  must(trial.store().append(lease, story.steps(200), RunStatus::running), "append()");
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::string now;
    before[i].encode_body(now);
    expect_equal(now, bodies[i], "a record that was read before");
  }
}
void checkpoint_stays(Trial& trial) {
  Story story("run-1");
  const std::vector<Record> records{story.started(), story.set("k", 1), story.label("here")};
  const Lease lease = must(trial.store().start(story.info(), records), "start()");
  const Checkpoint here = must(trial.store().load({"run-1", 3}), "load()");
  const std::vector<Record> more{story.set("k", 2), story.step("a"), story.label("there")};
  must(trial.store().append(lease, more, RunStatus::running), "append()");
  expect_equal(here.state.value("k", 0), 1, "the state that was restored before");
  expect_equal(must(trial.store().load_state({"run-1", 3}), "load_state()").value("k", 0), 1,
               "the state there, now");
}
void given_bytes_are_copied(Trial& trial) {
  std::string bytes(100, 'a');
  must(trial.store().put_if("space", "key", 0, bytes), "put_if()");
  bytes.assign(100, 'b');
  expect_equal(must(trial.store().get("space", "key"), "get()")->bytes, std::string(100, 'a'),
               "value");
}
void keys_are_no_runs(Trial& trial) {
  must(trial.store().put_if("runs", "run-1", 0, "x"), "put_if()");
  expect_equal(must(trial.store().runs({}), "runs()").size(), 0U, "number of runs");
  refused(Errc::not_found, trial.store().run("run-1"), "run()");
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  expect_equal(must(trial.store().get("runs", "run-1"), "get()")->bytes, "x", "value");
}
void two_stores(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  Trial elsewhere(trial.factory(), trial.options(), trial.folder() / "elsewhere");
  std::filesystem::create_directory(elsewhere.folder());
  expect_equal(must(elsewhere.store().runs({}), "runs()").size(), 0U, "runs in another folder");
  Story same_name("run-1");
  same_name.start(elsewhere.store(), 2);
  expect_equal(all_records(trial.store(), "run-1").size(), 1U, "number of records");
}
void lists_do_not_hold_writers(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const auto reader = trial.open();
  const auto listed = must(reader->runs({}), "runs()");
  const auto reading = must(reader->read("run-1", {}), "read()");
  must(trial.store().append(lease, story.steps(5), RunStatus::running),
       "appending while a reader holds what it was given");
  expect_equal(must(reader->read("run-1", {}), "read()").records.size(), 6U,
               "records seen by the reader");
}

}  // namespace

Clauses isolation_clauses() {
  return {
      {isolation, "runs", "Runs do not see each other's records.", nothing, runs_apart},
      {isolation, "prefixes", "A run whose id begins like another's is another run.", nothing,
       prefixes_apart},
      {isolation, "letter-case", "Ids that differ by case are different runs.", nothing,
       cases_apart},
      {isolation, "separators", "Ids that differ by a separator are different runs.", nothing,
       separators_apart},
      {isolation, "words", "No id means something to the store itself.", nothing, words_apart},
      {isolation, "status", "One run's status is its own.", nothing, status_apart},
      {isolation, "release", "One run's release frees no other.", nothing, release_apart},
      {isolation, "erase", "Erasing one run leaves every other as it was.", erasing, erase_apart},
      {isolation, "batches", "A refused batch takes no other with it.", nothing, batches_apart},
      {isolation, "reader", "What was read stays as it was, whatever is appended.", nothing,
       reader_keeps_what_it_read},
      {isolation, "checkpoint", "A restored state stays as it was, whatever is appended.", nothing,
       checkpoint_stays},
      {isolation, "given-bytes", "What was given to the store is the store's own copy.", keys,
       given_bytes_are_copied},
      {isolation, "keys-and-runs", "Keys and runs of one name have nothing to do with each other.",
       keys, keys_are_no_runs},
      {isolation, "two-stores", "Stores in different folders know nothing of each other.", nothing,
       two_stores},
      {isolation, "readers-and-writers", "Who holds a list or a reading holds up no writer.",
       processes | reopening, lists_do_not_hold_writers},
  };
}

}  // namespace triage::inline v0_1::testing::kit
