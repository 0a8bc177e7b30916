// SPDX-License-Identifier: MIT
// Live recording and folding a stored journal give the same result for any records.
#include "triage/journal.hpp"

#include "support/catch.hpp"
#include "triage/checkpoint_store.hpp"

#include <random>

using namespace triage;

namespace {

// As a store returns it: encoded.
Record stored(const Record& record) {
  auto bytes = std::make_shared<std::string>();
  record.encode_body(*bytes);
  return {record.seq(), record.kind(), record.time(), Record::Bytes(std::move(bytes))};
}

std::vector<Step> steps_of(const Trajectory& trajectory) {
  return {trajectory.begin(), trajectory.end()};
}

void check_same(const Journal& live, const Journal& folded) {
  CHECK(folded.last() == live.last());
  CHECK(folded.state() == live.state());
  CHECK(steps_of(folded.trajectory()) == steps_of(live.trajectory()));
  CHECK(folded.branch() == live.branch());
  CHECK(folded.history() == live.history());
  CHECK(folded.usage() == live.usage());
  CHECK(folded.attempts() == live.attempts());
  CHECK(folded.rolled_back_to() == live.rolled_back_to());
  CHECK(folded.gaps() == live.gaps());
  CHECK(folded.finished() == live.finished());
  CHECK(folded.stopped() == live.stopped());
  CHECK(folded.latest().info.id == live.latest().info.id);
  REQUIRE(folded.positions().size() == live.positions().size());
  for (std::size_t i = 0; i < live.positions().size(); ++i) {
    CHECK(folded.info(i).id == live.info(i).id);
    CHECK(folded.info(i).label == live.info(i).label);
    CHECK(folded.info(i).attempt == live.info(i).attempt);
    CHECK(folded.positions()[i].failed == live.positions()[i].failed);
    CHECK(folded.restore(i).state == live.restore(i).state);
    CHECK(steps_of(folded.restore(i).trajectory) == steps_of(live.restore(i).trajectory));
  }
  REQUIRE(folded.effects().size() == live.effects().size());
  for (const auto& [key, effect] : live.effects()) {
    const EffectState& other = folded.effects().at(key);
    CHECK(other.status == effect.status);
    CHECK(other.generation == effect.generation);
    CHECK(other.arguments == effect.arguments);
    CHECK(other.compensation == effect.compensation);
    CHECK(other.intended_at == effect.intended_at);
    CHECK(other.known_at == effect.known_at);
    CHECK((other.result == nullptr) == (effect.result == nullptr));
    if (other.result && effect.result) CHECK(*other.result == *effect.result);
  }
  CHECK(folded.before_undone() == live.before_undone());
  CHECK(folded.compensating_after() == live.compensating_after());
}

class Program {
 public:
  Program(std::uint64_t seed, bool automatic) : random_(seed), live_("r", automatic) {
    keep(live_.add(RecordKind::run_started, time_,
                   Json{{"task", "t"}, {"auto_checkpoint", automatic}}));
  }

  void operate() {
    time_ += std::chrono::milliseconds(pick(5));
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        Step step{.action = "s" + std::to_string(next_++)};
        if (pick(4) == 0) step.tool_input = Json{{"n", next_}};
        return keep(live_.add_step(std::move(step), time_));
      }
      case 4:
      case 5:
      case 6: return keep(live_.change_state(any_patch(), time_));
      case 7: return keep(live_.remove_state(any_key(), time_));
      case 8: return keep(live_.snapshot_state(any_patch(), true, time_));
      case 9: return keep(live_.label_checkpoint("label " + any_key(), time_));
      case 10:
        return keep(live_.add(RecordKind::usage, time_,
                              Json{{"input_tokens", pick(9)}, {"cost_usd", 0.5}, {"calls", 1}}));
      case 11: return effect();
      case 12: return next_attempt(RecoveryAction::Kind::retry);
      case 13: return next_attempt(RecoveryAction::Kind::resume);
      default: return next_attempt(RecoveryAction::Kind::rollback);
    }
  }

  [[nodiscard]] const Journal& live() const { return live_; }
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  std::string any_key() { return std::string(1, static_cast<char>('a' + pick(4))); }
  Json any_patch() {
    Json patch = Json::object();
    for (int i = 1 + pick(3); i > 0; --i) patch[any_key()] = next_++;
    return patch;
  }
  void keep(Record record) { records_.push_back(std::move(record)); }

  void effect() {
    const std::string key = any_key();
    static constexpr RecordKind kinds[] = {
        RecordKind::effect_intended,        RecordKind::effect_completed,
        RecordKind::effect_withdrawn,       RecordKind::compensation_intended,
        RecordKind::compensation_completed, RecordKind::compensation_withdrawn};
    Json body{{"key", key}, {"generation", 1 + pick(2)}, {"result", next_++}};
    if (pick(2) == 0) body["arguments"] = std::to_string(next_);
    if (pick(2) == 0) body["compensation"] = "undo";
    keep(live_.add(kinds[pick(6)], time_, std::move(body)));
  }

  void next_attempt(RecoveryAction::Kind kind) {
    Json failure{{"type", "timeout"}};
    if (pick(2) == 0) failure["critical_step"] = pick(6);
    keep(live_.add(RecordKind::failure_classified, time_, std::move(failure)));
    Json action{{"type", "timeout"}, {"action", to_string(kind)}, {"reason", "x"}};
    if (pick(3) == 0) action["compensates_after"] = pick(20);
    keep(live_.add(RecordKind::action_taken, time_, std::move(action)));
    if (kind == RecoveryAction::Kind::rollback) {
      const auto count = static_cast<int>(live_.positions().size());
      const int chosen = pick(count + 1) - 1;
      const Sequence to = chosen < 0 ? 0 : live_.positions()[static_cast<std::size_t>(chosen)].seq;
      keep(live_.add(RecordKind::rolled_back, time_, Json{{"to", to}, {"default", pick(2) == 0}}));
      keep(live_.snapshot_state(live_.state().json(), false, time_));
    }
    keep(live_.add(RecordKind::attempt_started, time_, Json{{"number", live_.attempts() + 1}}));
  }

  std::mt19937_64 random_;
  Journal live_;
  std::vector<Record> records_{};
  WallTime time_{std::chrono::milliseconds(1)};
  int next_ = 0;
};

JournalReading reading_of(const Program& program, bool encoded) {
  JournalReading reading{.info = {.id = "r", .last = program.live().last()}};
  for (const Record& record : program.records()) {
    reading.records.push_back(encoded ? stored(record) : record);
  }
  return reading;
}

}  // namespace

TEST_CASE("a folded journal equals the one that was recorded", "[property][journal]") {
  const bool automatic = GENERATE(true, false);
  const bool encoded = GENERATE(true, false);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed << ", automatic checkpoints " << automatic << ", encoded " << encoded);
    Program program(seed, automatic);
    for (int i = 0; i < 80; ++i) program.operate();
    check_same(program.live(), Journal::fold(reading_of(program, encoded)).value());
  }
}

TEST_CASE("a journal that is cut off anywhere folds to what was recorded before the cut",
          "[property][journal]") {
  for (std::uint64_t seed = 201; seed <= 215; ++seed) {
    Program program(seed, true);
    while (program.records().size() < 60) {
      program.operate();
      INFO("seed " << seed << ", records " << program.records().size());
      const Journal folded = Journal::fold(reading_of(program, true)).value();
      CHECK(folded.state() == program.live().state());
      CHECK(steps_of(folded.trajectory()) == steps_of(program.live().trajectory()));
      CHECK_FALSE(folded.broken_at().has_value());
    }
  }
}

TEST_CASE("one record lost anywhere never changes what was recorded before it",
          "[property][journal]") {
  for (std::uint64_t seed = 301; seed <= 315; ++seed) {
    Program program(seed, true);
    for (int i = 0; i < 40; ++i) program.operate();
    for (std::size_t lost = 1; lost < program.records().size(); ++lost) {
      INFO("seed " << seed << ", lost record " << lost + 1);
      JournalReading reading = reading_of(program, true);
      reading.records.erase(reading.records.begin() + static_cast<std::ptrdiff_t>(lost));
      const Journal folded = Journal::fold(reading).value();
      CHECK(folded.last() == program.live().last());
      for (std::size_t i = 0; i < folded.positions().size(); ++i) {
        const Sequence seq = folded.positions()[i].seq;
        if (seq > lost) break;
        // A position open at the hole ends there; the others are unchanged.
        const auto same = program.live().find(seq);
        if (!same) continue;
        CHECK(folded.restore(i).state == program.live().restore(*same).state);
      }
    }
  }
}
