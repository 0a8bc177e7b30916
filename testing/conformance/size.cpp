// SPDX-License-Identifier: MIT
// size: large records, and many records, behave like any others.
#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

void body_of(Trial& trial, std::size_t bytes) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  std::string text(bytes, 'x');
  for (std::size_t at = 0; at < bytes; at += 4'093) text[at] = static_cast<char>(at % 251);
  const Record record = story.note(RecordKind::usage, {{"text", std::move(text)}});
  must(trial.store().append(lease, {&record, 1}, RunStatus::running), "append()");
  const auto seen = all_records(trial.store(), "run-1");
  expect_equal(seen.size(), 2U, "number of records");
  expect(same(seen[1], record), "a large record does not come back as it was");
}
void hundred_kilobytes(Trial& trial) { body_of(trial, 100'000); }
void one_megabyte(Trial& trial) { body_of(trial, 1U << 20U); }
void sixteen_megabytes(Trial& trial) { body_of(trial, 16U << 20U); }

void long_run(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  for (int batch = 0; batch < 10; ++batch) {
    must(trial.store().append(lease, story.steps(500), RunStatus::running), "append()");
  }
  expect_equal(all_records(trial.store(), "run-1").size(), 5'001U, "number of records");
  expect_equal(must(trial.store().read("run-1", {4'000, 4'009}), "read()").records.size(), 10U,
               "records of a range");
}
void large_batch(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  must(trial.store().append(lease, story.steps(3'000), RunStatus::running), "append()");
  expect_equal(must(trial.store().run("run-1"), "run()").last, 3'001U, "last");
}
void large_group(Trial& trial) {
  std::vector<Story> stories;
  for (int i = 0; i < 60; ++i) stories.emplace_back("run-" + std::to_string(i));
  std::vector<std::vector<Record>> records;
  std::vector<AppendBatch> batches;
  for (Story& story : stories) {
    const Lease lease = story.start(trial.store());
    records.push_back(story.steps(5));
    batches.push_back({.lease = lease});
  }
  for (std::size_t i = 0; i < batches.size(); ++i) batches[i].records = records[i];
  trial.store().append_group(batches);
  for (const AppendBatch& batch : batches) must(batch.outcome, "a batch");
  for (const Story& story : stories) {
    expect_equal(all_records(trial.store(), story.id()).size(), 6U, "number of records");
  }
}
void many_runs(Trial& trial) {
  for (int i = 0; i < 300; ++i) {
    Story story("run-" + std::to_string(i), i);
    must(trial.store().release(story.start(trial.store())), "release()");
  }
  expect_equal(must(trial.store().runs({.limit = 0}), "runs()").size(), 300U, "number of runs");
  expect_equal(must(trial.store().runs({.limit = 1}), "runs()").at(0).id, "run-299", "the newest");
}
void default_limit(Trial& trial) {
  expect_equal(RunQuery{}.limit, 1000U, "the limit of a query that names none");
  for (int i = 0; i < 30; ++i) Story("run-" + std::to_string(i)).start(trial.store());
  expect_equal(must(trial.store().runs({}), "runs()").size(), 30U, "number of runs");
}
void long_names(Trial& trial) {
  Story story("run-1");
  story.info().agent = std::string(2'000, 'a');
  story.info().label = std::string(2'000, 'l');
  const Lease lease = story.start(trial.store());
  const RunInfo seen = must(trial.store().run("run-1"), "run()");
  expect_equal(seen.agent, std::string(2'000, 'a'), "agent");
  expect_equal(seen.label, std::string(2'000, 'l'), "label");
  expect_equal(must(trial.store().runs({.agent = story.info().agent}), "runs()").size(), 1U,
               "runs");
}
void no_names(Trial& trial) {
  Story story("run-1");
  story.info().agent.clear();
  story.info().label.clear();
  story.info().parent.clear();
  const Lease lease = story.start(trial.store());
  const RunInfo seen = must(trial.store().run("run-1"), "run()");
  expect(seen.agent.empty() && seen.label.empty() && seen.parent.empty(), "names made up");
}
void long_keys(Trial& trial) {
  const std::string key(1'000, 'k');
  must(trial.store().put_if("space", key, 0, "x"), "put_if()");
  must(trial.store().put_if("space", key + "2", 0, "y"), "put_if()");
  expect_equal(must(trial.store().get("space", key), "get()")->bytes, "x", "value");
  expect_equal(must(trial.store().list("space", key), "list()").size(), 2U, "keys");
}
void large_value(Trial& trial) {
  std::string bytes(1U << 20U, 'v');
  bytes[12'345] = '\0';
  must(trial.store().put_if("space", "key", 0, bytes), "put_if()");
  expect(must(trial.store().get("space", "key"), "get()")->bytes == bytes,
         "a value of 1 MiB does not come back as it was");
}
void many_keys(Trial& trial) {
  for (int i = 0; i < 300; ++i) {
    must(trial.store().put_if("space", std::to_string(i), 0, "x"), "put_if()");
  }
  expect_equal(must(trial.store().list("space", ""), "list()").size(), 300U, "keys");
  expect_equal(must(trial.store().list("space", "29"), "list()").size(), 11U,
               "keys that begin with 29");
}
void wide_state(Trial& trial) {
  Story story("run-1");
  Json wide = Json::object();
  for (int i = 0; i < 3'000; ++i) wide["key " + std::to_string(i)] = i;
  const std::vector<Record> records{story.started(), story.set("all", std::move(wide)),
                                    story.label("here")};
  must(trial.store().start(story.info(), records), "start()");
  const State seen = must(trial.store().load_state({"run-1", 3}), "load_state()");
  expect(seen == story.journal().state(), "a state of 3,000 members does not come back");
}
void many_changes(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  std::vector<Record> records;
  for (int i = 0; i < 1'500; ++i) records.push_back(story.set("key" + std::to_string(i % 7), i));
  must(trial.store().append(lease, records, RunStatus::running), "append()");
  const Checkpoint seen = must(trial.store().latest("run-1"), "latest()");
  expect(seen.state == story.journal().state(), "the state after 1,500 changes is another");
}

}  // namespace

Clauses size_clauses() {
  return {
      {size, "body-100k", "A record of 100 kB is kept.", nothing, hundred_kilobytes},
      {size, "body-1m", "A record of 1 MiB is kept.", nothing, one_megabyte},
      {size, "body-16m", "A record of 16 MiB is kept.", nothing, sixteen_megabytes},
      {size, "long-run", "A run of 5,000 records is kept.", nothing, long_run},
      {size, "large-batch", "A batch of 3,000 records is appended at once.", nothing, large_batch},
      {size, "large-group", "A group of 60 runs is appended at once.", nothing, large_group},
      {size, "many-runs", "300 runs are kept and listed.", nothing, many_runs},
      {size, "default-limit", "A query lists up to 1,000 runs unless it says otherwise.", nothing,
       default_limit},
      {size, "long-names", "Agents and labels of 2,000 characters are kept.", nothing, long_names},
      {size, "no-names", "Agent, label and parent may be empty.", nothing, no_names},
      {size, "long-keys", "Keys of 1,000 characters are kept apart.", keys, long_keys},
      {size, "large-value", "A value of 1 MiB is kept.", keys, large_value},
      {size, "many-keys", "300 keys are kept and listed.", keys, many_keys},
      {size, "wide-state", "A state of 3,000 members is restored.", nothing, wide_state},
      {size, "many-changes", "A state is right after 1,500 changes.", nothing, many_changes},
  };
}

}  // namespace triage::inline v0_1::testing::kit
