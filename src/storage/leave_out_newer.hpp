// SPDX-License-Identifier: MIT
#pragma once
// Readings by several questions, between which the run's owner goes on.

#include "triage/checkpoint_store.hpp"

#include <vector>

namespace triage::inline v0_1::detail {

// Leaves out what was appended since the run's facts were read: a reading is the run as it was
// then.
inline void leave_out_newer(JournalReading& reading) {
  if (reading.info.damaged) return;  // What its last record is may not be known.
  const Sequence last = reading.info.last;
  std::erase_if(reading.records, [last](const Record& one) { return one.seq() > last; });
  std::erase_if(reading.damaged, [last](const DamagedRecord& one) { return one.seq > last; });
}

}  // namespace triage::inline v0_1::detail
