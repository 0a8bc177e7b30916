// SPDX-License-Identifier: MIT
#pragma once
// A store as left by a process that died: the first records of a run, without an owner.

#include "triage/journal.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace triage::test {

inline std::shared_ptr<MemoryStore> crashed_after(CheckpointStore& store, const RunId& run,
                                                  Sequence last) {
  const JournalReading reading = store.read(run, {1, last}).value();
  auto crashed = MemoryStore::create();
  RunInfo info = reading.info;
  info.status = RunStatus::running;
  const Lease lease = crashed->start(info, reading.records).value();
  crashed->release(lease).value();
  return crashed;
}

// The same, with all other runs of the store as they are there, which may be later than the crash.
// changed: makes each of their records into what is to be stored of it; null: as it is.
inline std::shared_ptr<MemoryStore> crashed_among_others(
    CheckpointStore& store, const RunId& run, Sequence last,
    const std::function<Record(const Record&)>& changed = nullptr) {
  auto crashed = crashed_after(store, run, last);
  const std::vector<RunInfo> all = store.runs({}).value();
  for (const RunInfo& one : all) {
    if (one.id == run) continue;
    JournalReading reading = store.read(one.id, {}).value();
    if (changed) {
      std::transform(reading.records.begin(), reading.records.end(), reading.records.begin(),
                     changed);
    }
    const Lease lease = crashed->start(reading.info, reading.records).value();
    crashed->append(lease, {}, reading.info.status).value();
    crashed->release(lease).value();
  }
  return crashed;
}

// The sequence of the n-th record of a kind; n counts from 1.
inline Sequence sequence_of(CheckpointStore& store, const RunId& run, RecordKind kind, int n = 1) {
  const JournalReading reading = store.read(run, {}).value();
  for (const Record& record : reading.records) {
    if (record.kind() == kind && --n == 0) return record.seq();
  }
  throw std::runtime_error("the journal has too few records " + std::string(to_string(kind)));
}

}  // namespace triage::test
