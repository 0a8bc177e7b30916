// SPDX-License-Identifier: MIT
#pragma once
// The journal of one run in the JSON-file store: RUN.jsonl, then RUN~2.jsonl, RUN~3.jsonl …

#include "lines.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// A tilde is allowed in no run id, so no two runs share a file.
[[nodiscard]] std::string segment_path(const std::string& folder, const RunId& run,
                                       std::uint64_t segment);
// 0: there is none. Files of an older generation than the first one's do not count.
[[nodiscard]] std::uint64_t newest_segment(const std::string& folder, const RunId& run);

// What the segments of a run say.
struct RunScan {
  RunHead head{};
  bool head_intact = false;
  RunStand stand{};
  std::vector<Record> records{};         // Ascending, intact, of whole batches.
  std::vector<DamagedRecord> damaged{};  // Ascending.
  bool stand_lost = false;               // A damaged line may have said how the run stands.
  std::uint64_t segment = 0;             // The newest one …
  std::uint64_t end = 0;                 // … and where its last whole batch ends.
  std::uint64_t torn = 0;                // Bytes behind that: of an append that was cut off.
  std::uint64_t file = 0;                // The newest segment's inode.
};

// Reads everything. Errors: Errc::not_found, Errc::io, Errc::unsupported (a newer format).
[[nodiscard]] Result<RunScan> scan_run(const std::string& folder, const RunId& run);

// What the beginning and the end of the newest segment say, without what lies between; the same
// as scan_run(), but for records and damage. Falls back to scan_run() where they are not intact.
struct RunGlance {
  RunHead head{};
  RunStand stand{};
  bool damaged = false;  // The head is: nobody knows whose run it is.
  std::uint64_t segment = 0;
  std::uint64_t end = 0;
  std::uint64_t torn = 0;
  std::uint64_t file = 0;
  std::int64_t unseen_ms = 0;  // Since the file was last written or renewed.
};
[[nodiscard]] Result<RunGlance> glance_at_run(const std::string& folder, const RunId& run);

}  // namespace triage::inline v0_1::detail
