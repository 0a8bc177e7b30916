// SPDX-License-Identifier: MIT
#pragma once
// Runs as JSON Lines: out of any store, and into any other.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

struct ExportOptions {
  // Leaves out what fails verification and says how much that was. Otherwise it is Errc::corrupt.
  bool leave_out_damaged = false;
};

struct ImportOptions {
  // A run that is there already with the same records is left as it is. Otherwise it is
  // Errc::conflict; so is one with other records, always.
  bool leave_same = false;
};

struct Interchanged {
  std::vector<RunId> runs{};  // In the order of the file.
  std::uint64_t records = 0;
  std::uint64_t left_out = 0;  // Export: damaged records. Import: runs that were there already.
};

// Writes runs to `out`, one JSON object a line: a head; of each run its facts, its records and the
// keys that belong to it (hashes of tokens, signals, its label); and an end that says how much that
// was, with a checksum of all bytes before it. Every record is given back byte by byte. Nothing is
// locked: a run that is written to meanwhile is exported as it was at some moment.
// `runs`: which; empty: all. Errors: Errc::not_found, Errc::corrupt, Errc::io, the store's.
[[nodiscard]] Result<Interchanged> export_runs(CheckpointStore& from, std::span<const RunId> runs,
                                               std::ostream& out,
                                               const ExportOptions& options = {});

// Reads what export_runs() wrote, twice: `in` must be at its beginning and able to go back there.
// Nothing is written before the whole file is known to be intact and free of conflicts; if the
// store then fails, the runs that were made are erased again. Nobody owns an imported run.
// Errors: Errc::corrupt (cut off, changed, or no export), Errc::unsupported (a newer format),
// Errc::conflict, Errc::io, the store's.
[[nodiscard]] Result<Interchanged> import_runs(CheckpointStore& to, std::istream& in,
                                               const ImportOptions& options = {});

}  // namespace triage::inline v0_1
