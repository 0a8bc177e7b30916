// SPDX-License-Identifier: MIT
#include "sqlite_walk.hpp"

#include "triage/detail/record_rules.hpp"
#include "triage/policy.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// Beyond this many changes a full fold is as fast.
constexpr std::size_t most_changes = 100'000;
// A run that was continued more often than this since its base is read as a whole.
constexpr int most_rewinds = 1'000;

enum class Base : std::uint8_t { none, here, elsewhere, unclear };

// Whether the state after this record is independent of everything before it.
Base base_of(const FoundRecord& record) {
  switch (rule_of(record.kind).state) {
    case OnState::begins: return Base::here;
    case OnState::replaces: {
      if (record.sets_state) return Base::here;
      const auto state = record.body.find("state");
      return state != record.body.end() && state->is_object() ? Base::here : Base::unclear;
    }
    case OnState::may_end: {
      const auto action = record.body.find("action");
      if (action == record.body.end() || !action->is_string()) return Base::unclear;
      const auto kind = parse_recovery_kind(action->get_ref<const std::string&>());
      const bool empties =
          kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::replan;
      return empties ? Base::here : Base::none;
    }
    case OnState::returns:  // A snapshot follows a rollback, unless it was interrupted.
      return record.kind == RecordKind::resumed ? Base::elsewhere : Base::unclear;
    case OnState::unclear: return Base::unclear;
    case OnState::none:
    case OnState::changes: break;
  }
  return Base::none;
}

// The numbers of the kinds that satisfy the predicate, as an SQL list.
template <class Holds>
std::string kinds_where(Holds holds) {
  std::string list;
  for (const RecordRule& rule : record_rules) {
    if (!holds(rule.state)) continue;
    if (!list.empty()) list += ", ";
    list += std::to_string(static_cast<int>(rule.kind));
  }
  return "(" + list + ")";
}

// changes: include the kinds that change only part of the state.
std::string kinds_about_state(bool changes) {
  return kinds_where([changes](OnState state) {
    return state != OnState::none && (changes || state != OnState::changes);
  });
}

std::string kinds_that_return() {
  return kinds_where([](OnState state) { return state == OnState::returns; });
}

// The position that `resumed` or `rolled_back` returned to, 0 for none; empty if it is invalid.
std::optional<Sequence> target_of(const FoundRecord& record) {
  const auto to = record.body.find("to");
  if (to == record.body.end()) return 0;
  if (!to->is_number_unsigned() || to->get<Sequence>() >= record.seq) return std::nullopt;
  return to->get<Sequence>();
}

// Whether a body is a map that begins with {"replaced": true or false, "state": a map}; keys are
// sorted.
bool begins_with_state(std::string_view body) {
  constexpr std::string_view replaced = "\x68replaced";
  constexpr std::string_view state = "\x65state";
  const auto is_map = [](char byte) { return (static_cast<unsigned char>(byte) & 0xe0U) == 0xa0U; };
  constexpr std::size_t value = 1 + replaced.size();  // Position of the boolean.
  constexpr std::size_t map = value + 1 + state.size();
  return body.size() > map && is_map(body[0]) && body.substr(1, replaced.size()) == replaced &&
         body.substr(value + 1, state.size()) == state && is_map(body[map]);
}

}  // namespace

std::optional<FoundRecord> verified_record(SQLite::Statement& row, const RunId& run,
                                           bool with_state) {
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
  FoundRecord found{.kind = kind, .seq = seq, .body = Json::object()};
  if (kind == RecordKind::step) return found;
  if (!with_state) {
    const OnState does = rule_of(kind).state;
    found.sets_state = does == OnState::replaces && begins_with_state(body);
    if (does == OnState::begins || found.sets_state) return found;
  }
  Result<Json> decoded = decode_cbor(body);
  if (!decoded || !decoded.value().is_object()) return std::nullopt;
  found.body = std::move(decoded).value();
  return found;
}

// Whether the run is or may be a branch, which does not start over from nothing.
static bool may_be_branch(SQLite::Database& database, std::int64_t run, const RunId& id) {
  SQLite::Statement second(database, std::string(record_columns) + "WHERE run = ?1 AND seq = 2");
  second.bind(1, run);
  if (!second.executeStep()) return false;
  const auto record = verified_record(second, id);
  return !record || record->kind == RecordKind::forked;
}

std::optional<StateWalk> walk_back(SQLite::Database& database, std::int64_t run, const RunId& id,
                                   Sequence from, bool with_state) {
  SQLite::Statement back(database, std::string(record_columns) +
                                       "WHERE run = ?1 AND seq <= ?2 AND kind <> 3 AND kind IN " +
                                       kinds_about_state(with_state) + " ORDER BY seq DESC");
  back.bind(1, run);
  back.bind(2, static_cast<std::int64_t>(from));
  StateWalk walk;
  Sequence newest = from;  // Of the part being walked.
  for (std::size_t seen = 0; seen < most_changes && back.executeStep(); ++seen) {
    auto record = verified_record(back, id, with_state);
    if (!record) return std::nullopt;
    const Base base = base_of(*record);
    if (base == Base::unclear) return std::nullopt;
    if (base == Base::elsewhere) {
      const auto to = target_of(*record);
      if (!to) return std::nullopt;
      if (*to == 0) continue;  // The run continued from its current state.
      walk.parts.push_back({record->seq, newest});
      newest = *to;
      back.reset();
      back.bind(2, static_cast<std::int64_t>(newest));
      continue;
    }
    const Sequence seq = record->seq;
    walk.changes.push_back(*std::move(record));
    if (base != Base::here) continue;
    if (walk.changes.back().kind == RecordKind::action_taken && may_be_branch(database, run, id)) {
      return std::nullopt;
    }
    walk.parts.push_back({seq, newest});
    return walk;
  }
  return std::nullopt;
}

Sequence find_state_from(SQLite::Database& database, std::int64_t run, const RunId& id,
                         Sequence last) {
  // A branch may start over at its first position at any time, so that one's state is needed too.
  if (may_be_branch(database, run, id)) return 0;
  auto walk = walk_back(database, run, id, last, false);
  if (!walk) return 0;
  Sequence from = walk->base();
  if (from <= 1) return 0;  // Nothing precedes it.
  SQLite::Statement rewinds(database, std::string(record_columns) +
                                          "WHERE run = ?1 AND seq > ?2 AND seq <= ?3 AND kind <> 3 "
                                          "AND kind IN " +
                                          kinds_that_return() + " ORDER BY seq DESC");
  rewinds.bind(1, run);
  rewinds.bind(2, static_cast<std::int64_t>(from));
  rewinds.bind(3, static_cast<std::int64_t>(last));
  // A position after `from` may continue one before it, whose base is then the one that counts.
  for (int looked = 0; rewinds.executeStep(); ++looked) {
    const auto record = verified_record(rewinds, id);
    const auto to = record && looked < most_rewinds ? target_of(*record) : std::nullopt;
    if (!to) return 0;
    if (*to == 0 || *to >= from) continue;
    walk = walk_back(database, run, id, *to, false);
    if (!walk) return 0;
    if (walk->base() >= from) continue;
    from = walk->base();
    rewinds.reset();
    rewinds.bind(2, static_cast<std::int64_t>(from));
    rewinds.bind(3, static_cast<std::int64_t>(record->seq - 1));
  }
  return from;
}

}  // namespace triage::inline v0_1::detail
