// SPDX-License-Identifier: MIT
// functional: reading records and checkpoints back.
#include "trial.hpp"

#include <algorithm>

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// Reads back a run that has one record with this body after its start.
void round_trip(Trial& trial, Json body, const char* what) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const Record record = story.note(RecordKind::usage, std::move(body));
  must(trial.store().append(lease, {&record, 1}, RunStatus::running), what);
  const auto seen = all_records(trial.store(), "run-1");
  expect_equal(seen.size(), 2U, "number of records");
  expect(same(seen[1], record), std::string(what) + " does not come back as it was");
}

void every_kind(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  std::vector<Record> records;
  for (int kind = 1; kind <= 25; ++kind) {
    if (!is_known(static_cast<RecordKind>(kind)) ||
        static_cast<RecordKind>(kind) == RecordKind::run_started) {
      continue;
    }
    records.push_back(raw_record(records.size() + 2, static_cast<RecordKind>(kind),
                                 {{"number", kind}, {"action", "a"}}));
  }
  must(trial.store().append(lease, records, RunStatus::running), "append()");
  expect_same(later_records(trial.store(), "run-1"), records, "read()");
}

void any_bytes(Trial& trial) {
  round_trip(trial, {{"text", std::string("a\0b\xff\xfe\n\r\"\\", 9)}}, "text that is not UTF-8");
}
void all_languages(Trial& trial) {
  round_trip(trial, {{"text", "Größe 価格 🜚 \u200f"}, {"ключ", 1}}, "text of all languages");
}
void numbers(Trial& trial) {
  round_trip(trial,
             {{"least", std::numeric_limits<std::int64_t>::min()},
              {"most", std::numeric_limits<std::uint64_t>::max()},
              {"tiny", 5e-324},
              {"third", 1.0 / 3.0},
              {"zero", -0.0},
              {"no", false},
              {"nothing", nullptr}},
             "a number");
}
void empty_values(Trial& trial) {
  round_trip(trial, {{"", ""}, {"list", Json::array()}, {"map", Json::object()}}, "an empty value");
}
void empty_body(Trial& trial) { round_trip(trial, Json::object(), "an empty body"); }
void deep_body(Trial& trial) {
  Json deep = 1;
  for (int level = 0; level < 200; ++level) deep = Json{{"in", std::move(deep)}};
  round_trip(trial, std::move(deep), "a body of 200 levels");
}

void any_range(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 29);
  const auto all = all_records(trial.store(), "run-1");
  for (const auto& [first, last] :
       {std::pair<Sequence, Sequence>{1, 30}, {5, 9}, {30, 30}, {1, 1}}) {
    const auto reading = must(trial.store().read("run-1", {first, last}), "read()");
    expect_same(reading.records, std::span(all).subspan(first - 1, last - first + 1), "a range");
  }
  const auto open = must(trial.store().read("run-1", {.first = 28}), "read()");
  expect_equal(open.records.size(), 3U, "records from 28 on");
}
void range_beyond(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 4);
  expect_equal(must(trial.store().read("run-1", {6, 9}), "read()").records.size(), 0U,
               "behind the end");
  expect_equal(must(trial.store().read("run-1", {4, 900}), "read()").records.size(), 2U,
               "over the end");
}
void range_backwards(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 9);
  expect_equal(must(trial.store().read("run-1", {9, 5}), "read()").records.size(), 0U,
               "from 9 to 5");
}

void reading_knows_run(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 3);
  must(trial.store().append(lease, {}, RunStatus::escalated), "append()");
  const RunInfo seen = must(trial.store().read("run-1", {2, 2}), "read()").info;
  const RunInfo info = must(trial.store().run("run-1"), "run()");
  expect(seen.id == info.id && seen.agent == info.agent && seen.label == info.label &&
             seen.parent == info.parent && seen.status == info.status &&
             seen.started == info.started && seen.updated == info.updated &&
             seen.owned == info.owned && seen.last == info.last,
         "read() and run() say different things about the run");
}

void newest_folds_the_same(Trial& trial) {
  for (std::uint64_t seed = trial.seed(); seed < trial.seed() + 4; ++seed) {
    Story story("run-" + std::to_string(seed));
    const auto records = random_run(story, seed, 60);
    must(trial.store().start(story.info(), records), "start()");
    const auto reading = must(trial.store().read_newest(story.id()), "read_newest()");
    const Journal folded = must(Journal::fold(reading), "folding read_newest()");
    expect(folded.state() == story.journal().state(), "the newest state is another");
    expect_equal(folded.trajectory().size(), story.journal().trajectory().size(),
                 "number of steps");
    expect_equal(folded.last(), story.journal().last(), "last sequence");
  }
}

void restores_every_checkpoint(Trial& trial) {
  Story story("run-1");
  const auto records = random_run(story, trial.seed(), 60);
  must(trial.store().start(story.info(), records), "start()");
  for (const Journal::Position& position : story.journal().positions()) {
    const CheckpointId id{"run-1", position.seq};
    const Checkpoint live = story.journal().restore(*story.journal().find(position.seq));
    const Checkpoint loaded = must(trial.store().load(id), "load(" + to_string(id) + ")");
    expect(loaded.state == live.state, "the state at " + to_string(id) + " is another");
    expect(std::equal(loaded.trajectory.begin(), loaded.trajectory.end(), live.trajectory.begin(),
                      live.trajectory.end()),
           "the steps at " + to_string(id) + " are others");
    expect(must(trial.store().load_state(id), "load_state()") == live.state,
           "load_state() at " + to_string(id) + " gives another state");
  }
}

void no_checkpoint_between(Trial& trial) {
  Story story("run-1");
  const std::vector<Record> records{story.started(), story.step("a"), story.set("k", 1),
                                    story.step("b"), story.step("c")};
  must(trial.store().start(story.info(), records), "start()");
  refused(Errc::not_found, trial.store().load({"run-1", 2}), "load() inside a step");
  refused(Errc::not_found, trial.store().load_state({"run-1", 2}), "load_state() inside a step");
  refused(Errc::not_found, trial.store().load({"run-1", 99}), "load() behind the end");
}

void latest_is_newest(Trial& trial) {
  Story story("run-1");
  const std::vector<Record> records{story.started(), story.step("a"), story.step("b"),
                                    story.set("k", "v")};
  must(trial.store().start(story.info(), records), "start()");
  const Checkpoint seen = must(trial.store().latest("run-1"), "latest()");
  expect_equal(seen.trajectory.size(), 2U, "steps");
  expect(seen.state == story.journal().state(), "the state is not the newest one");
}

void checkpoints_in_order(Trial& trial) {
  Story story("run-1");
  const std::vector<Record> records{story.started(),   story.step("a"), story.label("first"),
                                    story.step("b"),   story.step("c"), story.label("second"),
                                    story.step("open")};
  must(trial.store().start(story.info(), records), "start()");
  const auto seen = must(trial.store().checkpoints("run-1"), "checkpoints()");
  std::string labels;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    labels += seen[i].label.empty() ? "" : seen[i].label + " ";
    expect(i == 0 || seen[i - 1].id.sequence < seen[i].id.sequence, "they are not oldest first");
  }
  expect_equal(labels, "first second ", "labels");
}

}  // namespace

Clauses reading_clauses() {
  return {
      {functional, "every-kind", "Records of every kind come back as they were.", nothing,
       every_kind},
      {functional, "any-bytes", "Text of any bytes comes back as it was.", nothing, any_bytes},
      {functional, "all-languages", "Text of all languages comes back as it was.", nothing,
       all_languages},
      {functional, "numbers", "The largest, smallest and finest numbers come back.", nothing,
       numbers},
      {functional, "empty-values", "Empty texts, lists and maps come back as what they are.",
       nothing, empty_values},
      {functional, "empty-body", "A body without members comes back.", nothing, empty_body},
      {functional, "deep-body", "A body of 200 levels comes back.", nothing, deep_body},
      {functional, "any-range", "Any range of a journal can be read.", nothing, any_range},
      {functional, "range-beyond", "A range behind the end is empty, not an error.", nothing,
       range_beyond},
      {functional, "range-backwards", "A range that ends before it begins is empty.", nothing,
       range_backwards},
      {functional, "reading-knows-run", "A reading says of the run what run() says.", nothing,
       reading_knows_run},
      {functional, "newest-is-enough", "read_newest() leads to the same position as read().",
       nothing, newest_folds_the_same},
      {functional, "every-checkpoint", "Every checkpoint can be restored, as it was live.", nothing,
       restores_every_checkpoint},
      {functional, "no-other-checkpoint", "What is not a checkpoint is not found.", nothing,
       no_checkpoint_between},
      {functional, "latest", "latest() is the newest position, even inside a step.", nothing,
       latest_is_newest},
      {functional, "checkpoint-list", "Checkpoints are listed oldest first, with their labels.",
       nothing, checkpoints_in_order},
  };
}

}  // namespace triage::inline v0_1::testing::kit
