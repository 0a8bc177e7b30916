// SPDX-License-Identifier: MIT
#pragma once
// A store as left by a process that died: the first records of a run, without an owner.

#include "triage/journal.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
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

// The sequence of the n-th record of a kind; n counts from 1.
inline Sequence sequence_of(CheckpointStore& store, const RunId& run, RecordKind kind, int n = 1) {
  const JournalReading reading = store.read(run, {}).value();
  for (const Record& record : reading.records) {
    if (record.kind() == kind && --n == 0) return record.seq();
  }
  throw std::runtime_error("the journal has too few records " + std::string(to_string(kind)));
}

}  // namespace triage::test
