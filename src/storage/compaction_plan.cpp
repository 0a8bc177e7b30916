// SPDX-License-Identifier: MIT
#include "storage/compaction_plan.hpp"

#include "triage/detail/record_rules.hpp"
#include "triage/detail/stored_field.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// Marks a gap whose records were merged, not lost: the sequence up to which the state is unknown.
constexpr const char* compacted_field = "compacted";

// A record that changes the state, or a gap that replaces such records.
struct Change {
  Sequence first = 0;  // The first sequence it stands for.
  Sequence seq = 0;
  RecordKind kind{};
  WallTime time{};
  Json body{};
};

// Changes between two positions whose states are needed: only their net effect is kept.
class Stretch {
 public:
  explicit Stretch(CompactionPlan& plan) : plan_(plan) {}

  void add(Change change) { changes_.push_back(std::move(change)); }

  // The state at its end is needed.
  void end() {
    std::size_t real = 0;
    for (const Change& change : changes_) real += change.kind == RecordKind::gap ? 0U : 1U;
    if (real > 1) take_together();
    changes_.clear();
  }
  // No state within it is needed: at `seq` the state is replaced.
  void drop(Sequence seq) {
    const bool done = changes_.size() == 1 && changes_.front().kind == RecordKind::gap;
    if (!done) remove(changes_.size(), seq);
    changes_.clear();
  }

 private:
  void take_together() {
    const Change last = changes_.back();
    // A full snapshot stays as it is, and so does one that is known to come last.
    if (last.kind == RecordKind::state_snapshot) return remove(changes_.size() - 1, last.seq);
    bool whole = false;
    std::map<std::string, std::optional<Json>> keys;
    for (const Change& change : changes_) merge(change, keys, whole);
    Json values = Json::object();
    Json removed = Json::array();
    for (auto& [key, value] : keys) {
      if (value) values[key] = *std::move(value);
      if (!value && !whole) removed.push_back(key);
    }
    // A gap cannot hold a change, so with both kinds two changes stay.
    const bool both = !values.empty() && !removed.empty();
    const std::size_t going = changes_.size() - (both ? 2 : 1);
    if (going == 0 || changes_[going].kind == RecordKind::gap) return;
    remove(going, last.seq);
    if (both) put(changes_[going], RecordKind::state_removed, Json{{"keys", std::move(removed)}});
    if (whole) {
      put(last, RecordKind::state_snapshot, Json{{"replaced", true}, {"state", std::move(values)}});
    } else if (values.empty()) {
      put(last, RecordKind::state_removed, Json{{"keys", std::move(removed)}});
    } else {
      put(last, RecordKind::state_changed, std::move(values));
    }
  }

  static void merge(const Change& change, std::map<std::string, std::optional<Json>>& keys,
                    bool& whole) {
    if (change.kind == RecordKind::state_removed) {
      for (const Json& key : change.body.value("keys", Json::array())) {
        if (key.is_string()) keys[key.get<std::string>()].reset();
      }
    } else if (change.kind == RecordKind::state_changed) {
      for (const auto& [key, value] : change.body.items()) keys[key] = value;
    } else if (change.kind == RecordKind::state_snapshot) {
      whole = true;
      keys.clear();
      for (const auto& [key, value] : change.body.at("state").items()) keys[key] = value;
    }
  }

  // Turns the first `number` changes into gaps, one for each contiguous row.
  void remove(std::size_t number, Sequence until) {
    for (std::size_t i = 0; i < number;) {
      std::size_t end = i + 1;
      while (end < number && changes_[end].first == changes_[end - 1].seq + 1) ++end;
      const Change& newest = changes_[end - 1];
      const Sequence first = changes_[i].first;
      plan_.ranges.push_back({first, newest.seq});
      plan_.instead.emplace_back(
          newest.seq, RecordKind::gap, newest.time,
          std::make_shared<const Json>(
              Json{{"first", first}, {"last", newest.seq - 1}, {compacted_field, until}}));
      i = end;
    }
  }
  void put(const Change& place, RecordKind kind, Json body) {
    plan_.ranges.push_back({place.first, place.seq});
    plan_.instead.emplace_back(place.seq, kind, place.time,
                               std::make_shared<const Json>(std::move(body)));
  }

  CompactionPlan& plan_;
  std::vector<Change> changes_{};
};

std::optional<Change> change_of(const Record& record) {
  const OnState does = rule_of(record.kind()).state;
  const bool gap = record.kind() == RecordKind::gap;
  if (does != OnState::changes && does != OnState::replaces && !gap) return std::nullopt;
  auto body = record.body();
  if (!body || !body.value().is_object()) return std::nullopt;
  Json& fields = body.value();
  Change change{record.seq(), record.seq(), record.kind(), record.time(), {}};
  if (gap) {
    if (!fields.contains(compacted_field)) return std::nullopt;
    change.first = field(fields, "first", record.seq());
  }
  if (record.kind() == RecordKind::state_snapshot) {
    // A snapshot with steps begins a branch, or replaces everything before it.
    const auto state = fields.find("state");
    if (fields.contains("steps") || state == fields.end() || !state->is_object()) {
      return std::nullopt;
    }
  }
  change.body = std::move(fields);
  return change;
}

// Whether the state after the record is independent of the state before it.
bool cuts(const Record& record) {
  switch (rule_of(record.kind()).state) {
    case OnState::begins:
    case OnState::replaces:  // A snapshot that is not a Change.
      return true;
    case OnState::returns: {
      const auto body = record.body();
      // A resumption without a target continues from the current state.
      return record.kind() == RecordKind::rolled_back ||
             (body && body.value().is_object() && body.value().value("to", Json(0)) != 0);
    }
    default: return false;
  }
}

}  // namespace

std::set<Sequence> returned_to(const JournalReading& reading) {
  std::set<Sequence> targets;
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::rolled_back && record.kind() != RecordKind::resumed) continue;
    const auto body = record.body();
    if (!body) continue;
    if (const auto to = find_field<Sequence>(body.value(), "to")) targets.insert(*to);
  }
  return targets;
}

CompactionPlan plan_compaction(const JournalReading& reading, const std::set<Sequence>& stay) {
  CompactionPlan plan;
  Stretch stretch(plan);
  auto next = stay.begin();
  for (const Record& record : reading.records) {
    for (; next != stay.end() && *next < record.seq(); ++next) stretch.end();
    if (auto change = change_of(record)) {
      stretch.add(*std::move(change));
    } else if (cuts(record)) {
      stretch.drop(record.seq());
    } else if (record.kind() == RecordKind::action_taken || record.kind() == RecordKind::gap) {
      stretch.end();  // The action may start over; a gap is followed by the lost changes.
    }
  }
  stretch.end();
  return plan;
}

}  // namespace triage::inline v0_1::detail
