// SPDX-License-Identifier: MIT
// The state at a position, without reading the run: back to the newest record that sets all of it.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"
#include "triage/policy.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

// Beyond this many changes the whole fold is no worse.
constexpr std::size_t most_changes = 100'000;
// How many records behind a position are looked at to see whether a checkpoint ends there.
constexpr int most_followers = 64;

struct Found {
  RecordKind kind{};
  Sequence seq = 0;
  Json body{};  // An object; empty for a step.
};

// Columns: seq, epoch, kind, time, crc, body. Empty if the record is damaged.
std::optional<Found> verified(SQLite::Statement& row, const RunId& run) {
  const auto seq = static_cast<Sequence>(row.getColumn(0).getInt64());
  const auto epoch = static_cast<std::uint64_t>(row.getColumn(1).getInt64());
  const int number = row.getColumn(2).getInt();
  const auto kind = static_cast<RecordKind>(number);
  const WallTime time(std::chrono::milliseconds(row.getColumn(3).getInt64()));
  const auto body_column = row.getColumn(5);
  const auto* bytes = static_cast<const char*>(body_column.getBlob());
  const std::string_view body(bytes == nullptr ? "" : bytes,
                              static_cast<std::size_t>(body_column.getBytes()));
  if (number < 0 || number > 0xff || !is_known(kind) ||
      row.getColumn(4).getInt64() !=
          static_cast<std::int64_t>(record_checksum(run, epoch, seq, kind, time, body))) {
    return std::nullopt;
  }
  Found found{.kind = kind, .seq = seq, .body = Json::object()};
  if (kind == RecordKind::step) return found;
  Result<Json> decoded = decode_cbor(body);
  if (!decoded || !decoded.value().is_object()) return std::nullopt;
  found.body = std::move(decoded).value();
  return found;
}

bool replaces(const Found& record) {
  const auto replaced = record.body.find("replaced");
  return replaced != record.body.end() && replaced->is_boolean() && replaced->get<bool>();
}

// What a record does to the checkpoint that is open before it; see Journal::apply.
enum class Effect : std::uint8_t { none, joins, ends };

Effect effect_on_open(RecordKind kind) {
  switch (kind) {
    case RecordKind::state_changed:
    case RecordKind::state_removed:
    case RecordKind::state_snapshot:
    case RecordKind::checkpoint_labelled: return Effect::joins;
    case RecordKind::step:
    case RecordKind::attempt_started:
    case RecordKind::failure_classified:
    case RecordKind::action_taken:
    case RecordKind::rolled_back:
    case RecordKind::resumed:
    case RecordKind::finished:
    case RecordKind::stopped:
    case RecordKind::suspended: return Effect::ends;
    default: return Effect::none;
  }
}

constexpr const char* columns = "SELECT seq, epoch, kind, time, crc, body FROM records ";

enum class Base : std::uint8_t { none, here, unclear };

// Whether everything before this record is irrelevant to the state behind it.
Base base_of(const Found& record) {
  switch (record.kind) {
    case RecordKind::run_started: return Base::here;
    case RecordKind::state_snapshot: {
      const auto state = record.body.find("state");
      return state != record.body.end() && state->is_object() ? Base::here : Base::unclear;
    }
    case RecordKind::action_taken: {
      const auto action = record.body.find("action");
      if (action == record.body.end() || !action->is_string()) return Base::unclear;
      const auto kind = parse_recovery_kind(action->get_ref<const std::string&>());
      const bool empties =
          kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::replan;
      return empties ? Base::here : Base::none;
    }
    case RecordKind::rolled_back:
    case RecordKind::resumed:
      return Base::unclear;  // A snapshot follows, unless the run broke off.
    default: return Base::none;
  }
}

void apply(const Found& change, State::Values& values) {
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
  SQLite::Statement first(database, std::string(columns) + "WHERE run = ?1 AND seq = 1");
  first.bind(1, run);
  if (!first.executeStep()) return false;
  const auto start = verified(first, id);
  if (!start || start->kind != RecordKind::run_started) return false;
  const auto automatic = start->body.find("auto_checkpoint");
  const bool every_step =
      automatic == start->body.end() || !automatic->is_boolean() || automatic->get<bool>();

  SQLite::Statement from(
      database, std::string(columns) + "WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3");
  from.bind(1, run);
  from.bind(2, static_cast<std::int64_t>(at));
  from.bind(3, most_followers);
  if (!from.executeStep()) return false;
  const auto own = verified(from, id);
  if (!own || own->seq != at) return false;
  if (own->kind == RecordKind::checkpoint_labelled) return true;
  const bool touches = own->kind == RecordKind::step || own->kind == RecordKind::state_changed ||
                       own->kind == RecordKind::state_removed ||
                       (own->kind == RecordKind::state_snapshot && replaces(*own));
  if (!touches || !every_step) return false;
  Sequence expected = at;
  while (from.executeStep()) {
    const auto next = verified(from, id);
    if (!next || next->seq != ++expected) return false;
    const Effect effect = effect_on_open(next->kind);
    if (effect != Effect::none) return effect == Effect::ends;
  }
  return from.isDone() && expected - at + 1 < most_followers;
}

// Empty: in doubt, and the whole fold must decide.
Result<std::optional<State>> SqliteJournals::quick_state(const CheckpointId& id) {
  const auto in_doubt = [] { return outcome::success(std::optional<State>()); };
  TRIAGE_TRY(row, find_run(id.run));
  if (!row) return no_such_run(id.run);
  if (id.sequence == 0 || id.sequence > row->info.last ||
      !is_position(row->run, id.run, id.sequence)) {
    return in_doubt();
  }
  SQLite::Statement back(
      database_->handle(),
      std::string(columns) +
          "WHERE run = ?1 AND seq <= ?2 AND kind <> 3 AND kind IN (1, 4, 5, 6, 13, 14, 16) "
          "ORDER BY seq DESC");
  back.bind(1, row->run);
  back.bind(2, static_cast<std::int64_t>(id.sequence));
  std::vector<Found> changes;  // Newest first.
  Base base = Base::none;
  while (base == Base::none && back.executeStep()) {
    auto record = verified(back, id.run);
    if (!record || changes.size() >= most_changes) return in_doubt();
    base = base_of(*record);
    changes.push_back(*std::move(record));
  }
  if (base != Base::here) return in_doubt();
  // A record that was lost without a trace would go unnoticed, since steps are not read.
  SQLite::Statement count(database_->handle(),
                          "SELECT count(*) FROM records WHERE run = ?1 AND seq BETWEEN ?2 AND ?3");
  count.bind(1, row->run);
  count.bind(2, static_cast<std::int64_t>(changes.back().seq));
  count.bind(3, static_cast<std::int64_t>(id.sequence));
  count.executeStep();
  if (static_cast<Sequence>(count.getColumn(0).getInt64()) !=
      id.sequence - changes.back().seq + 1) {
    return in_doubt();
  }
  auto values = std::make_shared<State::Values>();
  std::for_each(changes.rbegin(), changes.rend(),
                [&](const Found& change) { apply(change, *values); });
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
