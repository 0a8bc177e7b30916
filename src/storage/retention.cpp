// SPDX-License-Identifier: MIT
#include "triage/retention.hpp"

#include "storage/erase_unchanged.hpp"
#include "triage/detail/try.hpp"

#include <map>
#include <set>
#include <string>

namespace triage::inline v0_1 {
namespace {

bool has_ended(const RunInfo& run) {
  return run.status != RunStatus::running && run.status != RunStatus::suspended;
}

// Such as a run whose id is damaged: nothing can name it.
bool is_unreadable(CheckpointStore& store, const RunInfo& run) {
  return run.damaged && !store.run(run.id);
}

// The size of one run; zero if it is gone.
Result<StoreSize> size_of_run(CheckpointStore& store, const RunId& run) {
  const auto reading = store.read(run, {});
  if (!reading && reading.error().code != Errc::not_found) return reading.error();
  StoreSize size;
  if (!reading) return outcome::success(size);
  size.runs = 1;
  std::string body;
  for (const Record& record : reading.value().records) {
    body.clear();
    record.encode_body(body);
    size.bytes += body.size();
    ++size.records;
  }
  return outcome::success(size);
}

}  // namespace

Result<StoreSize> size_of(CheckpointStore& store) {
  TRIAGE_TRY(found, store.runs({.limit = 0}));
  StoreSize all;
  for (const RunInfo& run : found) {
    if (is_unreadable(store, run)) continue;
    TRIAGE_TRY(one, size_of_run(store, run.id));
    all.runs += one.runs;
    all.records += one.records;
    all.bytes += one.bytes;
  }
  return outcome::success(all);
}

Result<std::vector<RunInfo>> prunable(CheckpointStore& store, const RetentionRule& rule) {
  TRIAGE_TRY(found, store.runs({.limit = 0}));  // Newest first.
  std::set<RunId> under_way;
  for (const RunInfo& run : found) {
    if (!has_ended(run)) under_way.insert(run.id);
  }
  std::map<std::string, std::size_t> kept_of_agent;
  std::uint64_t bytes = 0;
  std::vector<RunInfo> going;
  for (const RunInfo& run : found) {
    if (is_unreadable(store, run)) continue;
    StoreSize own;
    if (rule.keep_bytes) {
      TRIAGE_TRY(size, size_of_run(store, run.id));
      own = size;
    }
    const bool old = rule.keep_since && run.updated < *rule.keep_since;
    const bool surplus = rule.keep_newest && kept_of_agent[run.agent] >= *rule.keep_newest;
    const bool large = rule.keep_bytes && bytes + own.bytes > *rule.keep_bytes;
    const bool needed = run.owned || (rule.only_ended && !has_ended(run)) ||
                        (rule.keep_labelled && !run.label.empty()) ||
                        under_way.contains(run.parent);
    if ((old || surplus || large) && !needed) {
      going.push_back(run);
      continue;
    }
    ++kept_of_agent[run.agent];
    bytes += own.bytes;
  }
  return outcome::success(std::move(going));
}

Result<std::size_t> prune(CheckpointStore& store, const RetentionRule& rule) {
  TRIAGE_TRY(going, prunable(store, rule));
  return detail::erase_unchanged(store, going);
}

}  // namespace triage::inline v0_1
