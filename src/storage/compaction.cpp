// SPDX-License-Identifier: MIT
#include "triage/compaction.hpp"

#include "base/run_catching.hpp"
#include "storage/compaction_plan.hpp"
#include "storage/lease_use.hpp"
#include "triage/detail/sealed_record.hpp"
#include "triage/detail/store_extension.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace triage::inline v0_1 {
namespace {

std::uint64_t bytes_of(const std::vector<Record>& records) {
  std::uint64_t bytes = 0;
  std::string body;
  for (const Record& record : records) {
    body.clear();
    record.encode_body(body);
    bytes += body.size();
  }
  return bytes;
}

// About what a store keeps: the bodies, and of each record its place, time and checksum.
std::uint64_t stored_bytes(const std::vector<Record>& records) {
  constexpr std::uint64_t beside_a_body = 32;
  return bytes_of(records) + beside_a_body * records.size();
}

std::set<Sequence> kept(const Journal& journal, const JournalReading& reading,
                        const CompactionRule& rule, std::size_t most) {
  std::set<Sequence> stay = detail::returned_to(reading);
  stay.insert(journal.start_sequence());
  std::map<std::int32_t, std::size_t> newest;  // How many of each branch.
  const auto& positions = journal.positions();
  for (std::size_t i = positions.size(); i-- > 0;) {
    const bool labelled = !journal.info(i).label.empty();
    const bool young = rule.keep_since && positions[i].time >= *rule.keep_since;
    const bool among_newest = newest[positions[i].cut]++ < most;
    if (labelled || young || among_newest) stay.insert(positions[i].seq);
  }
  return stay;
}

// The records with the plan applied.
JournalReading with(const JournalReading& reading, const detail::CompactionPlan& plan) {
  JournalReading after{.info = reading.info};
  auto range = plan.ranges.begin();
  auto instead = plan.instead.begin();
  const auto fill_until = [&](Sequence seq) {
    for (; instead != plan.instead.end() && instead->seq() < seq; ++instead) {
      after.records.push_back(*instead);
    }
  };
  for (const Record& record : reading.records) {
    while (range != plan.ranges.end() && range->last < record.seq()) ++range;
    fill_until(record.seq());
    const bool goes = range != plan.ranges.end() && record.seq() >= range->first;
    if (!goes) after.records.push_back(record);
  }
  fill_until(std::numeric_limits<Sequence>::max());
  return after;
}

// Fails if anything that is to stay would differ.
Result<void> compare(const Journal& before, const Journal& after, const std::set<Sequence>& stay) {
  const auto differs = [](const std::string& what) {
    return Error{Errc::conflict, "the run cannot be compacted now: " + what + " would change"};
  };
  if (after.state() != before.state() || after.last() != before.last() ||
      after.latest().info.id != before.latest().info.id) {
    return differs("its newest position");
  }
  if (after.crashes() != before.crashes()) return differs("how often its process died");
  if (after.trajectory().size() != before.trajectory().size() ||
      after.effects().size() != before.effects().size() || after.gaps() != before.gaps()) {
    return differs("what it did");
  }
  for (const Sequence seq : stay) {
    if (before.find(seq) && !after.find(seq)) {
      return differs("checkpoint " + to_string(CheckpointId{before.run(), seq}));
    }
  }
  for (std::size_t i = 0; i < after.positions().size(); ++i) {
    const auto same = before.find(after.positions()[i].seq);
    if (!same || after.restore(i).state != before.restore(*same).state ||
        after.positions()[i].steps != before.positions()[*same].steps) {
      return differs("checkpoint " + to_string(after.info(i).id));
    }
  }
  return outcome::success();
}

}  // namespace

// There may be as many as the run has records.
bool in_one_of(std::span<const SequenceRange> ranges, Sequence seq) noexcept {
  const auto at = std::lower_bound(
      ranges.begin(), ranges.end(), seq,
      [](const SequenceRange& range, Sequence wanted) { return range.last < wanted; });
  return at != ranges.end() && at->first <= seq;
}

Result<void> check_replacement(std::span<const SequenceRange> ranges,
                               std::span<const Record> instead) {
  for (const Record& record : instead) {
    if (in_one_of(ranges, record.seq())) continue;
    return Error{Errc::invalid_argument,
                 "record " + std::to_string(record.seq()) + " takes the place of none"};
  }
  return outcome::success();
}

Result<Compaction> compact_held_run(CheckpointStore& store, const Lease& lease,
                                    const CompactionRule& rule) {
  auto* const compacts = detail::extension_of<CompactsRuns>(store);
  if (compacts == nullptr) {
    return Error{Errc::unsupported, "this store cannot put other records in the place of a run's"};
  }
  if (rule.max_checkpoints == 0) {
    return Error{Errc::invalid_argument, "max_checkpoints is 0; allowed are 1 and above"};
  }
  TRIAGE_TRY(reading, store.read(lease.run, {}));
  TRIAGE_TRYV(detail::check_not_sealed(reading));
  TRIAGE_TRY(journal, Journal::fold(reading));
  if (!reading.damaged.empty() || journal.broken_at() || journal.lost_intent() != 0) {
    return Error{Errc::corrupt, "run \"" + lease.run +
                                    "\" has damaged or missing records; `triage checkpoint verify` "
                                    "tells more"};
  }
  std::size_t most = rule.max_checkpoints;
  std::set<Sequence> stay = kept(journal, reading, rule, most);
  Compaction done{.checkpoints_before = journal.positions().size(),
                  .records_before = reading.records.size(),
                  .bytes_before = bytes_of(reading.records)};
  done.checkpoints = done.checkpoints_before;
  done.records = done.records_before;
  done.bytes = done.bytes_before;
  detail::CompactionPlan plan = detail::plan_compaction(reading, stay);
  JournalReading smaller = with(reading, plan);
  while (rule.max_bytes != 0 && most > 1 && bytes_of(smaller.records) > rule.max_bytes) {
    most = std::min(most, journal.positions().size() + 1) / 2;
    stay = kept(journal, reading, rule, std::max<std::size_t>(most, 1));
    plan = detail::plan_compaction(reading, stay);
    smaller = with(reading, plan);
  }
  const bool shrinks =
      !rule.only_smaller || stored_bytes(smaller.records) < stored_bytes(reading.records);
  if (plan.ranges.empty() || !shrinks) return outcome::success(done);
  TRIAGE_TRY(after, Journal::fold(smaller));
  TRIAGE_TRYV(compare(journal, after, stay));
  TRIAGE_TRYV(compacts->replace(lease, plan.ranges, plan.instead));
  done.checkpoints = after.positions().size();
  done.records = smaller.records.size();
  done.bytes = bytes_of(smaller.records);
  return outcome::success(done);
}

Result<Compaction> compact_run(CheckpointStore& store, const RunId& run,
                               const CompactionRule& rule) {
  return detail::run_catching([&]() -> Result<Compaction> {
    TRIAGE_TRY(lease, store.acquire(run));
    const detail::LeaseUse use(store, lease);
    return compact_held_run(store, lease, rule);
  });
}

}  // namespace triage::inline v0_1
