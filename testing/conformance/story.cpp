// SPDX-License-Identifier: MIT
// The runs that clauses write to a store, and how results are compared.
#include "trial.hpp"

#include <algorithm>

namespace triage::inline v0_1::testing::kit {

void expect(bool right, std::string_view what) {
  if (!right) throw Broken{std::string(what)};
}

void broken_by(std::string_view what, const Error& error) {
  throw Broken{std::string(what) + ": " + std::string(to_string(error.code)) + ": " +
               printable(error.detail)};
}

void expect_code(Errc expected, const Error* error, std::string_view what) {
  if (error == nullptr) {
    throw Broken{std::string(what) + ": succeeded, expected " + std::string(to_string(expected))};
  }
  if (error->code != expected) {
    broken_by(std::string(what) + ": expected " + std::string(to_string(expected)), *error);
  }
}

Story::Story(RunId id, std::int64_t started_ms)
    : time(at_ms(started_ms)),
      info_{.id = id,
            .agent = "crawler",
            .label = "nightly",
            .parent = "parent-1",
            .started = at_ms(started_ms),
            .updated = at_ms(started_ms)},
      journal_(std::move(id)) {}

WallTime Story::tick() {
  const WallTime now = time;
  time += std::chrono::seconds(1);
  return now;
}

Record Story::started() {
  return journal_.add(RecordKind::run_started, tick(),
                      Json{{"task", "fetch"}, {"agent", info_.agent}, {"auto_checkpoint", true}});
}
Record Story::step(std::string action) {
  return journal_.add_step(Step{.action = std::move(action), .tool_called = "http_get"}, tick());
}
Record Story::set(const std::string& key, Json value) {
  Json patch = Json::object();
  patch[key] = std::move(value);
  return journal_.change_state(std::move(patch), tick());
}
Record Story::note(RecordKind kind, Json body) {
  return journal_.add(kind, tick(), std::move(body));
}
Record Story::label(std::string label) {
  return journal_.label_checkpoint(std::move(label), tick());
}

std::vector<Record> Story::steps(int count, const std::string& name) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.push_back(step(name + " " + std::to_string(i)));
  return records;
}

Lease Story::start(CheckpointStore& store, int count) {
  std::vector<Record> records{started()};
  for (Record& record : steps(count)) records.push_back(std::move(record));
  return must(store.start(info_, records), "starting run " + info_.id);
}

Record raw_record(Sequence seq, RecordKind kind, Json body, std::int64_t time_ms) {
  return {seq, kind, at_ms(time_ms), std::make_shared<const Json>(std::move(body))};
}

bool same(const Record& a, const Record& b) {
  if (a.seq() != b.seq() || a.kind() != b.kind() || a.time() != b.time()) return false;
  std::string left;
  std::string right;
  a.encode_body(left);
  b.encode_body(right);
  if (left == right) return true;
  // The members of a body may be in a different order.
  const auto one = a.body();
  const auto other = b.body();
  if (!one || !other) return false;
  left.clear();
  right.clear();
  triage::detail::encode_cbor(one.value(), left);
  triage::detail::encode_cbor(other.value(), right);
  return left == right;
}

void expect_same(std::span<const Record> seen, std::span<const Record> expected,
                 std::string_view what) {
  expect_equal(seen.size(), expected.size(), std::string(what) + ": number of records");
  for (std::size_t i = 0; i < seen.size(); ++i) {
    expect(same(seen[i], expected[i]),
           std::string(what) + ": record " + std::to_string(expected[i].seq()) + " is another");
  }
}

std::vector<Record> all_records(CheckpointStore& store, const RunId& run) {
  JournalReading reading = must(store.read(run, {}), "reading run " + run);
  expect(reading.damaged.empty(), "records of run " + run + " are called damaged");
  return std::move(reading.records);
}

std::vector<Record> later_records(CheckpointStore& store, const RunId& run) {
  std::vector<Record> all = all_records(store, run);
  if (!all.empty()) all.erase(all.begin());
  return all;
}

std::string ids(const std::vector<RunInfo>& runs) {
  std::string all;
  for (const RunInfo& run : runs) all += (all.empty() ? "" : " ") + run.id;
  return all;
}

std::vector<Record> random_run(Story& story, std::uint64_t seed, int operations) {
  const auto random = seeded_random(seed);
  Journal& journal = story.journal();
  std::vector<Record> records{story.started(),
                              story.note(RecordKind::attempt_started, Json{{"number", 1}})};
  for (int i = 0; i < operations; ++i) {
    const std::string key = "key" + std::to_string(random->next() % 6);
    switch (random->next() % 10) {
      case 0: records.push_back(story.label("label " + key)); break;
      case 1:
        records.push_back(story.note(RecordKind::usage, Json{{"input_tokens", 5}, {"calls", 1}}));
        break;
      case 2:
        records.push_back(
            story.note(RecordKind::effect_intended, Json{{"key", key}, {"generation", i}}));
        records.push_back(story.note(RecordKind::effect_completed,
                                     Json{{"key", key}, {"generation", i}, {"result", i}}));
        break;
      case 3:
        if (journal.branch().empty()) break;
        records.push_back(story.note(
            RecordKind::rolled_back,
            Json{{"to",
                  journal.positions()[journal.branch()[random->next() % journal.branch().size()]]
                      .seq},
                 {"default", false}}));
        records.push_back(journal.snapshot_state(journal.state().json(), false, story.time));
        records.push_back(
            story.note(RecordKind::attempt_started, Json{{"number", journal.attempts() + 1}}));
        break;
      case 4:
      case 5:
      case 6: records.push_back(story.set(key, Json{{"i", i}, {"text", "value"}})); break;
      default: records.push_back(story.step("step " + std::to_string(i))); break;
    }
  }
  return records;
}

}  // namespace triage::inline v0_1::testing::kit
