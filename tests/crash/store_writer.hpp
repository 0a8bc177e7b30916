// SPDX-License-Identifier: MIT
#pragma once
// The process that the campaign over the stores harms.

#include "triage/checkpoint_store.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace triage::test {

struct WriterOrder {
  std::string url{};
  RunId run{};
  std::uint64_t seed = 1;
  int batches = 40;
  std::string clock = "now";     // Of its records: now, jumps (an hour to and fro), 1970, 2106.
  std::uint64_t file_bytes = 0;  // No file may grow larger, as on a full disk; 0: no limit.
  // In a process namespace of its own, where nobody can see whether it lives: as on another host.
  bool far = false;
};

// What the record of this sequence holds, whoever writes it.
[[nodiscard]] std::string mark_of(std::uint64_t seed, Sequence seq);

// With leases of one second.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_for_campaign(const std::string& url);

// Says on standard output, a line each: "P PID", the process that writes, if it is `far`; "T EPOCH"
// when it has the run, "A SEQUENCE" when all up to there is acknowledged, "D" when that was all, "F
// …" when its lease is lost, "E …" for other errors, after which it tries the same sequences again.
int write_run(const WriterOrder& order);

}  // namespace triage::test
