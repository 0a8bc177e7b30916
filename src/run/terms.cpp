// SPDX-License-Identifier: MIT
#include "run/terms.hpp"

#include "triage/detail/saturate.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/limits.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

using std::chrono::milliseconds;

bool states_terms(RecordKind kind) {
  return kind == RecordKind::run_started || kind == RecordKind::suspended ||
         kind == RecordKind::resumed;
}

// A quarantine, or what a person has settled or cancelled: the run did no work until then.
bool is_from_outside(const Record& record) {
  switch (record.kind()) {
    case RecordKind::stopped:
    case RecordKind::effect_completed:
    case RecordKind::effect_withdrawn:
    case RecordKind::compensation_completed:
    case RecordKind::compensation_withdrawn: break;
    default: return false;
  }
  const auto body = record.body();
  return body && body.value().is_object() &&
         (body.value().contains("crashes") || body.value().contains("operator"));
}

// A century: what a run adds to it does not overflow. Stored numbers and clocks are not trusted.
constexpr Duration longest_elapsed = std::chrono::hours(24 * 36'500);

// Clocks that were set back do not count.
Duration passed_between(WallTime from, WallTime until) {
  const auto passed = milliseconds(
      saturating_subtract(until.time_since_epoch().count(), from.time_since_epoch().count()));
  constexpr auto longest = std::chrono::duration_cast<milliseconds>(longest_elapsed);
  return std::clamp(passed, milliseconds(0), longest);
}

Json limits_json(const Limits& limits) {
  return Json{{"max_attempts", limits.max_attempts},
              {"max_attempts_per_type", limits.max_attempts_per_type},
              {"max_elapsed_ns", limits.max_elapsed.count()},
              {"max_tokens", limits.max_tokens},
              {"max_cost_usd", limits.max_cost_usd},
              {"max_wait_ns", limits.max_wait.count()}};
}

// Empty if they are out of range.
std::optional<Limits> limits_from(const Json& json) {
  const Limits none;
  Limits limits{
      .max_attempts = field(json, "max_attempts", none.max_attempts),
      .max_attempts_per_type = field(json, "max_attempts_per_type", none.max_attempts_per_type),
      .max_elapsed = Duration(field<Duration::rep>(json, "max_elapsed_ns", 0)),
      .max_tokens = field<std::uint64_t>(json, "max_tokens", 0),
      .max_cost_usd = field(json, "max_cost_usd", 0.0),
      .max_wait = Duration(field(json, "max_wait_ns", none.max_wait.count()))};
  if (!check_limits(limits)) return std::nullopt;
  return limits;
}

}  // namespace

void put_terms(const Terms& terms, Json& body) {
  body.erase("deadline_ms");
  body.erase("limits");
  body["elapsed_ns"] = terms.elapsed.count();
  if (terms.deadline) body["deadline_ms"] = terms.deadline->time_since_epoch().count();
  if (terms.limits) body["limits"] = limits_json(*terms.limits);
}

Terms terms_of(const JournalReading& reading) {
  const auto& records = reading.records;
  std::optional<WallTime> worked_until;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (!worked_until && !is_from_outside(*record)) worked_until = record->time();
    if (!states_terms(record->kind())) continue;
    const auto decoded = record->body();
    if (!decoded || !decoded.value().is_object()) continue;
    const Json& body = decoded.value();
    if (!body.contains("elapsed_ns")) continue;  // An older record without this field.
    Terms terms{.deadline = time_field(body, "deadline_ms"),
                .elapsed = Duration(std::clamp<Duration::rep>(
                    field<Duration::rep>(body, "elapsed_ns", 0), 0, longest_elapsed.count()))};
    if (const auto limits = body.find("limits"); limits != body.end() && limits->is_object()) {
      terms.limits = limits_from(*limits);
    }
    if (record->kind() != RecordKind::suspended && worked_until) {
      terms.elapsed += passed_between(record->time(), *worked_until);
    }
    terms.elapsed = std::min(terms.elapsed, longest_elapsed);
    return terms;
  }
  return {};
}

WallTime wall_time(Clock& clock, TimePoint when) {
  const Duration left(
      saturating_subtract(when.time_since_epoch().count(), clock.now().time_since_epoch().count()));
  return clock.wall_now() + std::chrono::duration_cast<milliseconds>(left);
}

TimePoint time_point(Clock& clock, WallTime when) {
  constexpr auto furthest = std::chrono::duration_cast<milliseconds>(Duration::max()) / 4;
  const TimePoint instant = clock.now();
  const auto left = std::clamp(when - clock.wall_now(), -furthest, furthest);
  return left >= TimePoint::max() - instant ? TimePoint::max() : instant + left;
}

}  // namespace triage::inline v0_1::detail
