// SPDX-License-Identifier: MIT
// The journal: its positions and their contents. Folding is tested in property/journal.test.cpp.
#include "triage/journal.hpp"

#include "support/result.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/detail/record_rules.hpp"

#include <cstdint>
#include <limits>
#include <set>

using namespace triage;
using namespace triage::test;

namespace {

constexpr WallTime now{std::chrono::milliseconds(1)};

Journal started(bool automatic = true) {
  Journal journal("r", automatic);
  journal.add(RecordKind::run_started, now, Json{{"task", "t"}, {"auto_checkpoint", automatic}});
  return journal;
}

}  // namespace

TEST_CASE("a checkpoint ends before the next step, at a label, or at the attempt's end",
          "[journal]") {
  Journal journal = started();
  journal.add_step({.action = "one"}, now);
  CHECK(journal.positions().empty());
  journal.change_state({{"phase", 1}}, now);  // Belongs to step one.
  journal.add_step({.action = "two"}, now);
  REQUIRE(journal.positions().size() == 1);
  CHECK(journal.restore(0).state.json() == Json{{"phase", 1}});
  CHECK(journal.restore(0).trajectory.size() == 1);
  CHECK(journal.info(0).id == CheckpointId{"r", 3});
  journal.label_checkpoint("here", now);
  REQUIRE(journal.positions().size() == 2);
  CHECK(journal.info(1).label == "here");
  CHECK(journal.restore(1).state.json() == Json{{"phase", 1}});  // Carried forward.
  journal.end_checkpoint();
  CHECK(journal.positions().size() == 2);  // Nothing was open.
  journal.change_state({{"phase", 3}}, now);
  journal.end_checkpoint();
  REQUIRE(journal.positions().size() == 3);
  CHECK(journal.restore(1).state.json() == Json{{"phase", 1}});  // Earlier ones do not change.
}

TEST_CASE("without automatic checkpoints only labels make some, and nothing is lost", "[journal]") {
  Journal journal = started(false);
  journal.add_step({.action = "one"}, now);
  journal.add_step({.action = "two"}, now);
  journal.end_checkpoint();
  CHECK(journal.positions().empty());
  CHECK(journal.latest().info.id.sequence == 3);
  CHECK(journal.latest().trajectory.size() == 2);
  journal.label_checkpoint("here", now);
  CHECK(journal.positions().size() == 1);
}

TEST_CASE("the newest label of a name wins, and a withdrawn one does not count", "[journal]") {
  Journal journal = started();
  journal.add_step({}, now);
  journal.label_checkpoint("a", now);
  const auto first = journal.find_label("a");
  journal.add_step({}, now);
  journal.label_checkpoint("a", now);
  CHECK(journal.find_label("a") != first);
  CHECK(journal.info(*first).label.empty());
  journal.add(RecordKind::checkpoint_labelled, now, Json{{"label", "a"}, {"withdrawn", true}});
  CHECK(journal.find_label("a") == first);
  CHECK(journal.info(*first).label == "a");
  CHECK(journal.info(journal.positions().size() - 1).label.empty());
  journal.add(RecordKind::checkpoint_labelled, now, Json{{"label", "a"}, {"withdrawn", true}});
  CHECK_FALSE(journal.find_label("a").has_value());
  journal.add(RecordKind::checkpoint_labelled, now, Json{{"label", "a"}, {"withdrawn", true}});
  CHECK_FALSE(journal.find_label("b").has_value());
}

TEST_CASE("rewinding restores state and steps, and leaves later positions on their branch",
          "[journal]") {
  Journal journal = started();
  for (int i = 0; i < 4; ++i) {
    journal.add_step({.action = std::to_string(i)}, now);
    journal.change_state({{"i", i}, {"k" + std::to_string(i), true}}, now);
  }
  journal.end_checkpoint();
  journal.rewind(1);
  CHECK(journal.trajectory().size() == 2);
  CHECK(journal.state().json() == Json{{"i", 1}, {"k0", true}, {"k1", true}});
  CHECK(journal.branch() == std::vector<std::uint32_t>{0, 1});
  journal.add_step({.action = "other"}, now);
  journal.end_checkpoint();
  CHECK(journal.branch() == std::vector<std::uint32_t>{0, 1, 4});
  journal.rewind(3);  // Onto the abandoned branch.
  CHECK(journal.branch() == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(journal.trajectory()[2].action == "2");
}

TEST_CASE("effects are not rewound", "[journal]") {
  Journal journal = started();
  journal.add_step({}, now);
  journal.end_checkpoint();
  journal.add(RecordKind::effect_intended, now, Json{{"key", "pay"}, {"generation", 1}});
  journal.add(RecordKind::effect_completed, now,
              Json{{"key", "pay"}, {"generation", 1}, {"result", 7}});
  journal.rewind(0);
  CHECK(journal.effects().at("pay").status == EffectState::Status::completed);
  CHECK(*journal.effects().at("pay").result == 7);
}

TEST_CASE("a snapshot of the state is due when the deltas cost more than it", "[journal]") {
  Journal journal = started();
  int changes = 0;
  while (!journal.wants_snapshot() && changes < 10'000) {
    journal.change_state({{"k", std::string(1000, 'x')}}, now);
    ++changes;
  }
  CHECK(changes > 5);
  CHECK(changes < 50);
  journal.snapshot_state(journal.state().json(), false, now);
  CHECK_FALSE(journal.wants_snapshot());
  CHECK(journal.positions().empty());
}

TEST_CASE("a journal without its beginning is corrupt", "[journal]") {
  JournalReading reading{.info = {.id = "r", .last = 3}};
  CHECK_ERRC(Errc::corrupt, Journal::fold(reading));
  Journal journal = started();
  reading.records.push_back(journal.add_step({}, now));
  CHECK_ERRC(Errc::corrupt, Journal::fold(reading));
}

TEST_CASE("a gap that says what is missing is no damage, an unexplained one is", "[journal]") {
  Journal live = started();
  JournalReading reading{.info = {.id = "r"}};
  Journal again("r");
  reading.records.push_back(
      again.add(RecordKind::run_started, now, Json{{"task", "t"}, {"auto_checkpoint", true}}));
  live.add_step({}, now);                 // 2, lost.
  live.change_state({{"lost", 1}}, now);  // 3, lost.
  const Sequence first = GENERATE(1U, 2U, 3U);
  reading.records.push_back(
      live.add(RecordKind::gap, now, Json{{"first", first}, {"last", 3}, {"attempts", 2}}));
  reading.records.push_back(live.snapshot_state(live.state().json(), false, now));
  reading.info.last = live.last();
  const Journal folded = Journal::fold(reading).value();
  if (first <= 2) {
    CHECK_FALSE(folded.broken_at().has_value());
    CHECK(folded.state().json() == Json{{"lost", 1}});
    CHECK(folded.attempts() == 2);
  } else {
    CHECK(folded.broken_at() == 2U);
  }
}

TEST_CASE("records that are missing at the end are missed", "[journal]") {
  Journal live("r");
  JournalReading reading{.info = {.id = "r"}};
  reading.records.push_back(
      live.add(RecordKind::run_started, now, Json{{"task", "t"}, {"auto_checkpoint", true}}));
  reading.records.push_back(live.change_state({{"kept", 1}}, now));
  reading.info.last = 2;
  CHECK_FALSE(Journal::fold(reading).value().broken_at().has_value());
  reading.info.last = 4;
  const Journal folded = Journal::fold(reading).value();
  CHECK(folded.broken_at() == 3U);
  CHECK(folded.last() == 4);  // No sequence is used twice.
  CHECK(folded.state().json() == Json{{"kept", 1}});
}

TEST_CASE("a record whose body cannot be read is damage, whatever comes after it", "[journal]") {
  Journal live = started();
  JournalReading reading{.info = {.id = "r"}};
  reading.records.push_back(Journal("r").add(RecordKind::run_started, now,
                                             Json{{"task", "t"}, {"auto_checkpoint", true}}));
  live.change_state({{"lost", 1}}, now);
  const auto body = GENERATE(std::string("\xff"), std::string("\x01"));  // Not CBOR; not an object.
  reading.records.emplace_back(2, RecordKind::state_changed, now,
                               std::make_shared<const std::string>(body));
  reading.records.push_back(live.change_state({{"kept", 1}}, now));
  reading.records.push_back(
      live.add(RecordKind::effect_intended, now, Json{{"key", "pay"}, {"generation", 1}}));
  reading.records.push_back(live.add(RecordKind::effect_completed, now,
                                     Json{{"key", "pay"}, {"generation", 1}, {"result", 7}}));
  reading.info.last = live.last();
  const Journal folded = Journal::fold(reading).value();
  CHECK(folded.broken_at() == 2U);
  CHECK(folded.state().json() == Json::object());
  // Effects are never rewound, so none after the damage may be forgotten.
  REQUIRE(folded.effects().contains("pay"));
  CHECK(folded.effects().at("pay").status == EffectState::Status::completed);
}

TEST_CASE("stored bodies with other types than ours are survived", "[journal]") {
  Journal journal = started();
  for (const RecordKind kind :
       {RecordKind::attempt_started, RecordKind::state_removed, RecordKind::state_snapshot,
        RecordKind::usage, RecordKind::checkpoint_labelled, RecordKind::effect_completed,
        RecordKind::failure_classified, RecordKind::action_taken, RecordKind::rolled_back,
        RecordKind::resumed, RecordKind::gap, RecordKind::suspended, RecordKind::stopped,
        RecordKind::finished}) {
    for (const Json& odd : {Json("x"), Json(-1), Json(1e300), Json::array({1}), Json(nullptr)}) {
      Json body = Json::object();
      for (const char* key : {"number", "keys", "state", "label", "withdrawn", "key", "result",
                              "to", "steps", "critical_step", "action", "type", "first", "last"}) {
        body[key] = odd;
      }
      Journal copy = journal;
      copy.add(kind, now, body);
      CHECK(copy.last() == journal.last() + 1);
    }
  }
}

TEST_CASE("some kinds of records end the open checkpoint, some belong to it, the rest do neither",
          "[journal]") {
  // Listed here, because the journal uses the table under test.
  const std::set<RecordKind> ends{
      RecordKind::step,         RecordKind::attempt_started, RecordKind::failure_classified,
      RecordKind::action_taken, RecordKind::rolled_back,     RecordKind::suspended,
      RecordKind::resumed,      RecordKind::finished,        RecordKind::stopped};
  const std::set<RecordKind> joins{RecordKind::state_changed, RecordKind::state_removed,
                                   RecordKind::state_snapshot, RecordKind::gap};
  for (const detail::RecordRule& rule : detail::record_rules) {
    INFO(to_string(rule.kind));
    CHECK(is_known(rule.kind));
    if (rule.kind == RecordKind::checkpoint_labelled) continue;  // Joins, and ends it there.
    Journal journal = started();
    journal.add_step({.action = "one"}, now);
    const Sequence open = journal.latest().info.id.sequence;
    if (rule.kind == RecordKind::step) {
      journal.add_step({.action = "two"}, now);
    } else if (rule.kind == RecordKind::state_changed) {
      journal.change_state({{"k", 1}}, now);
    } else {
      journal.add(rule.kind, now, Json{{"keys", {"k"}}, {"state", {{"k", 1}}}, {"key", "pay"}});
    }
    REQUIRE(journal.positions().size() == ends.count(rule.kind));
    if (ends.contains(rule.kind)) CHECK(journal.positions().front().seq == open);
    if (joins.contains(rule.kind)) CHECK(journal.latest().info.id.sequence == journal.last());
    // The table used by SQLite's reader of states agrees.
    CHECK((rule.checkpoint == detail::OnCheckpoint::joins) == joins.contains(rule.kind));
  }
  CHECK_FALSE(is_known(static_cast<RecordKind>(detail::record_rules.size() + 1)));
  CHECK(detail::rule_of(static_cast<RecordKind>(200)).checkpoint == detail::OnCheckpoint::none);
}
