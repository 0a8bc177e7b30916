// SPDX-License-Identifier: MIT
#include "triage/repair.hpp"

#include "base/run_catching.hpp"
#include "storage/lease_use.hpp"
#include "triage/detail/sealed_record.hpp"
#include "triage/detail/store_extension.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace triage::inline v0_1 {
namespace {

// A repair is recorded as an empty gap: it explains no hole, and so hides none.
constexpr const char* repaired_field = "repaired";

// The readable bodies of gaps, with their sequences.
std::vector<std::pair<Sequence, Json>> gaps_of(const JournalReading& reading) {
  std::vector<std::pair<Sequence, Json>> gaps;
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::gap) continue;
    auto body = record.body();
    if (body && body.value().is_object()) {
      gaps.emplace_back(record.seq(), std::move(body).value());
    }
  }
  return gaps;
}

// Ascending; none is next to another, because a copy of the run may lack both.
std::vector<SequenceRange> set_aside_before(const JournalReading& reading) {
  std::vector<SequenceRange> ranges;
  for (const auto& [seq, body] : gaps_of(reading)) {
    const auto repaired = body.find(repaired_field);
    if (repaired == body.end() || !repaired->is_array()) continue;
    for (const Json& one : *repaired) {
      if (one.is_object())
        ranges.push_back(
            {detail::field<Sequence>(one, "first", 1), detail::field<Sequence>(one, "last", 0)});
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const SequenceRange& one, const SequenceRange& other) {
    return one.first < other.first;
  });
  std::vector<SequenceRange> joined;
  for (const SequenceRange& range : ranges) {
    if (joined.empty() || range.first > joined.back().last + 1) {
      joined.push_back(range);
    } else {
      joined.back().last = std::max(joined.back().last, range.last);
    }
  }
  return joined;
}

Json repaired_json(const std::vector<LostRecords>& lost) {
  Json all = Json::array();
  for (const LostRecords& one : lost) {
    Json entry{{"first", one.first}, {"last", one.last}, {"why", one.why}};
    if (one.kind) entry["kind"] = to_string(*one.kind);
    all.push_back(std::move(entry));
  }
  return all;
}

// Holds the lease, so nothing changes after reading.
Result<Repaired> repair_held(CheckpointStore& store, const Lease& lease, WallTime now) {
  TRIAGE_TRY(reading, store.read(lease.run, {}));
  TRIAGE_TRYV(detail::check_not_sealed(reading));
  TRIAGE_TRY(journal, Journal::fold(reading));
  Repaired repaired{.newest = journal.latest().info.id,
                    .effects_in_doubt = journal.lost_intent() != 0};
  Sequence last = journal.last();
  for (LostRecords& one : lost_records(reading)) {
    last = std::max(last, one.last);
    if (!one.set_aside) repaired.lost.push_back(std::move(one));
  }
  if (repaired.lost.empty()) return outcome::success(std::move(repaired));
  Json body{{"first", last + 1}, {"last", last}, {repaired_field, repaired_json(repaired.lost)}};
  const std::array<Record, 1> records{
      Record(last + 1, RecordKind::gap, now, std::make_shared<const Json>(std::move(body)))};
  TRIAGE_TRYV(store.append(lease, records, reading.info.status));
  return outcome::success(std::move(repaired));
}

}  // namespace

std::vector<SequenceRange> missing_records(const JournalReading& reading) {
  std::vector<std::pair<Sequence, Sequence>> known;  // Present or accounted for.
  for (const Record& record : reading.records) known.emplace_back(record.seq(), record.seq());
  for (const auto& [seq, body] : gaps_of(reading)) {
    known.emplace_back(detail::field<Sequence>(body, "first", seq), seq);
  }
  for (const DamagedRecord& damaged : reading.damaged) known.emplace_back(damaged.seq, damaged.seq);
  std::sort(known.begin(), known.end());
  std::vector<SequenceRange> missing;
  Sequence next = 1;
  for (const auto& [first, last] : known) {
    if (first > next) missing.push_back({next, first - 1});
    next = std::max(next, last + 1);
  }
  if (reading.info.last >= next) missing.push_back({next, reading.info.last});
  return missing;
}

std::vector<LostRecords> lost_records(const JournalReading& reading) {
  std::vector<LostRecords> lost;
  for (const DamagedRecord& damaged : reading.damaged) {
    lost.push_back({damaged.seq, damaged.seq, damaged.kind, damaged.error.detail});
  }
  for (const SequenceRange& range : missing_records(reading)) {
    lost.push_back({range.first, range.last, std::nullopt,
                    range.first == range.last ? "the record is missing"
                                              : "the records from here to " +
                                                    std::to_string(range.last) + " are missing"});
  }
  std::sort(lost.begin(), lost.end(), [](const LostRecords& one, const LostRecords& other) {
    return one.first < other.first;
  });
  const std::vector<SequenceRange> before = set_aside_before(reading);
  for (LostRecords& one : lost) {
    one.set_aside = std::any_of(before.begin(), before.end(), [&](const SequenceRange& range) {
      return range.first <= one.first && one.last <= range.last;
    });
  }
  return lost;
}

Result<Repaired> repair_run(CheckpointStore& store, const RunId& run,
                            const std::shared_ptr<Clock>& clock) {
  return detail::run_catching([&]() -> Result<Repaired> {
    TRIAGE_TRY(lease, store.acquire(run));
    const detail::LeaseUse use(store, lease);
    return repair_held(store, lease, (clock ? *clock : *real_clock()).wall_now());
  });
}

Result<std::vector<std::string>> repair_store(CheckpointStore& store) {
  auto* const repairs = detail::nearest_extension<RepairsItself>(store);
  if (repairs == nullptr) return outcome::success(std::vector<std::string>());
  return repairs->repair();
}

}  // namespace triage::inline v0_1
