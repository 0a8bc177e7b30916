// SPDX-License-Identifier: MIT
#pragma once
// The process into which the store campaign injects faults.

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
  std::string clock = "now";     // Of its records: now, jumps (an hour back and forth), 1970, 2106.
  std::uint64_t file_bytes = 0;  // No file may grow larger, as on a full disk; 0: no limit.
  // In its own PID namespace, where nobody can see whether it lives, as on another host.
  bool far = false;
};

// The content of the record with this sequence, whoever writes it.
[[nodiscard]] std::string mark_of(std::uint64_t seed, Sequence seq);

// With leases of one second.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_for_campaign(const std::string& url);

// Reports on standard output, one per line: "P PID", the writing process, if it is `far`; "T
// EPOCH", it has acquired the run; "A SEQUENCE", all up to there is acknowledged; "D", done; "F …",
// its lease is lost; "E …", other errors, after which it tries the same sequences again.
int write_run(const WriterOrder& order);

}  // namespace triage::test
