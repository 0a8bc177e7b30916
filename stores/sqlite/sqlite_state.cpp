// SPDX-License-Identifier: MIT
// The state at a position, without reading the whole run: goes back to the newest full state.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "sqlite_walk.hpp"
#include "triage/detail/record_rules.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

// How many records after a position are searched for the end of a checkpoint.
constexpr int most_followers = 64;

bool replaces(const FoundRecord& record) {
  const auto replaced = record.body.find("replaced");
  return replaced != record.body.end() && replaced->is_boolean() && replaced->get<bool>();
}

void apply(const FoundRecord& change, State::Values& values) {
  const auto body = std::make_shared<const Json>(change.body);
  if (change.kind == RecordKind::state_changed || change.kind == RecordKind::state_snapshot) {
    const Json& keys = change.kind == RecordKind::state_changed ? *body : body->at("state");
    for (const auto& [key, value] : keys.get_ref<const Json::object_t&>()) {
      values.insert_or_assign(key, std::shared_ptr<const Json>(body, &value));
    }
  } else if (change.kind == RecordKind::state_removed) {
    const auto keys = body->find("keys");
    if (keys == body->end() || !keys->is_array()) return;
    for (const Json& key : *keys) {
      if (key.is_string()) values.erase(key.get_ref<const std::string&>());
    }
  }
}

}  // namespace

// True if a checkpoint certainly ends at the record `at`, or it is the newest position.
bool SqliteJournals::is_position(std::int64_t run, const RunId& id, Sequence at) {
  SQLite::Database& database = database_->handle();
  SQLite::Statement first(database, std::string(record_columns) + "WHERE run = ?1 AND seq = 1");
  first.bind(1, run);
  if (!first.executeStep()) return false;
  const auto start = verified_record(first, id);
  if (!start || start->kind != RecordKind::run_started) return false;
  const auto automatic = start->body.find("auto_checkpoint");
  const bool every_step =
      automatic == start->body.end() || !automatic->is_boolean() || automatic->get<bool>();

  SQLite::Statement from(
      database, std::string(record_columns) + "WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3");
  from.bind(1, run);
  from.bind(2, static_cast<std::int64_t>(at));
  from.bind(3, most_followers);
  if (!from.executeStep()) return false;
  const auto own = verified_record(from, id);
  if (!own || own->seq != at) return false;
  if (own->kind == RecordKind::checkpoint_labelled) return true;
  const OnCheckpoint does = rule_of(own->kind).checkpoint;
  const bool belongs = does == OnCheckpoint::begins || does == OnCheckpoint::joins;
  const bool opens = own->kind != RecordKind::state_snapshot || replaces(*own);
  if (!belongs || !opens || !every_step) return false;
  Sequence expected = at;
  while (from.executeStep()) {
    const auto next = verified_record(from, id);
    if (!next || next->seq != ++expected) return false;
    const OnCheckpoint then = rule_of(next->kind).checkpoint;
    if (then != OnCheckpoint::none) return then != OnCheckpoint::joins;
  }
  return from.isDone() && expected - at + 1 < most_followers;
}

// Empty if in doubt: then the full fold must decide.
Result<std::optional<State>> SqliteJournals::quick_state(const CheckpointId& id) {
  const auto in_doubt = [] { return outcome::success(std::optional<State>()); };
  TRIAGE_TRY(row, find_run(id.run));
  if (!row) return no_such_run(id.run);
  if (id.sequence == 0 || id.sequence > row->info.last ||
      !is_position(row->run, id.run, id.sequence)) {
    return in_doubt();
  }
  const auto walk = walk_back(database_->handle(), row->run, id.run, id.sequence);
  if (!walk) return in_doubt();
  // Steps are not read, so a missing record must be noticed by counting.
  for (const SequenceRange& part : walk->parts) {
    SQLite::Statement count(
        database_->handle(),
        "SELECT count(*) FROM records WHERE run = ?1 AND seq BETWEEN ?2 AND ?3");
    count.bind(1, row->run);
    count.bind(2, static_cast<std::int64_t>(part.first));
    count.bind(3, static_cast<std::int64_t>(part.last));
    count.executeStep();
    if (static_cast<Sequence>(count.getColumn(0).getInt64()) != part.last - part.first + 1) {
      return in_doubt();
    }
  }
  const std::vector<FoundRecord>& changes = walk->changes;
  auto values = std::make_shared<State::Values>();
  std::for_each(changes.rbegin(), changes.rend(),
                [&](const FoundRecord& change) { apply(change, *values); });
  return outcome::success(std::optional(values->empty() ? State() : State(std::move(values))));
}

Result<State> SqliteJournals::load_state(const CheckpointId& id) {
  TRIAGE_TRYV(check_run_id(id.run));
  auto quick =
      guarded("restoring the state at " + to_string(id), [&]() -> Result<std::optional<State>> {
        database_->begin_read();
        auto found = quick_state(id);
        database_->commit();
        return found;
      });
  if (quick && quick.value()) return outcome::success(*std::move(quick).value());
  if (!quick && quick.error().code != Errc::corrupt) return std::move(quick).error();
  return CheckpointStore::load_state(id);
}

}  // namespace triage::inline v0_1::detail
