// SPDX-License-Identifier: MIT
#pragma once
// The journal of one run in the JSON-file store: RUN.jsonl, then RUN~2.jsonl, RUN~3.jsonl …

#include "files.hpp"
#include "lines.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Run ids cannot contain a tilde, so no two runs share a file.
[[nodiscard]] std::string segment_path(const std::string& folder, const RunId& run,
                                       std::uint64_t segment);
// 0: there is none. Files of another birth or generation than the first one's do not count.
[[nodiscard]] std::uint64_t newest_segment(const std::string& folder, const RunId& run);

// The contents of a run's segments.
struct RunScan {
  RunHead head{};
  bool head_intact = false;
  RunStand stand{};
  std::vector<Record> records{};         // Ascending, intact, of complete batches.
  std::vector<DamagedRecord> damaged{};  // Ascending.
  bool stand_lost = false;               // A damaged line may have contained the stand.
  std::uint64_t segment = 0;             // The newest one …
  std::uint64_t end = 0;                 // … and the end of its last complete batch.
  std::uint64_t torn = 0;                // Bytes after that: an interrupted append.
  FileMark file{};                       // The newest segment's.
};

// Reads everything. Errors: Errc::not_found, Errc::io, Errc::unsupported (a newer format).
[[nodiscard]] Result<RunScan> scan_run(const std::string& folder, const RunId& run);

// The beginning and the end of the newest segment, without what is between. The same as scan_run(),
// except for records and damage. Falls back to scan_run() if they are not intact.
struct RunGlance {
  RunHead head{};
  RunStand stand{};
  bool damaged = false;  // The head is, so the owner is unknown.
  std::uint64_t segment = 0;
  std::uint64_t end = 0;
  std::uint64_t torn = 0;
  FileMark file{};
  std::int64_t unseen_ms = 0;  // Since the file was last written or renewed.
};
[[nodiscard]] Result<RunGlance> glance_at_run(const std::string& folder, const RunId& run);

}  // namespace triage::inline v0_1::detail
