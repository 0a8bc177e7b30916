// SPDX-License-Identifier: MIT
#include "supervise/process/stored_records.hpp"

namespace triage::inline v0_1::supervise {

Result<std::vector<Record>> stored_records(CheckpointStore& store, const RunId& run) {
  auto reading = store.read(run, {});
  if (reading) return outcome::success(std::move(reading.value().records));
  if (reading.error().code == Errc::not_found) return outcome::success(std::vector<Record>());
  return std::move(reading).error();
}

}  // namespace triage::inline v0_1::supervise
