// SPDX-License-Identifier: MIT
#pragma once
// Runs as JSON Lines: export from any store, import into any other.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

struct ExportOptions {
  // Exports what is intact and reports how many records are damaged or missing; otherwise that is
  // Errc::corrupt. What a repair has set aside does not count.
  bool leave_out_damaged = false;
};

struct ImportOptions {
  // Leaves a run that exists with the same records, and gives it the keys and the end that it
  // lacks; otherwise that is Errc::conflict. A run that exists with other records always is.
  bool leave_same = false;
};

struct Interchanged {
  std::vector<RunId> runs{};  // In the order of the file.
  std::uint64_t records = 0;
  // Export: as `damaged`. Import: also runs that existed already.
  std::uint64_t left_out = 0;
  // Damaged or missing records, or checkpoints of triage-agent; a run's damaged row counts as one.
  std::uint64_t damaged = 0;
  // Export: why runs could not be read at all, such as one whose id is damaged; each is one damage.
  std::vector<Error> unread{};
};

// Writes runs to `out`, one JSON object per line: a header; for each run its facts, its records and
// its keys (hashes of tokens, signals, its label); and a trailer with the totals and a checksum of
// all bytes before it. Records are kept byte for byte. Takes no lock: a run that is being written
// to is exported as of some moment. `runs`: which, each once; empty: all.
// Errors: Errc::not_found, Errc::corrupt, Errc::conflict (a run that was imported in part only),
// Errc::io, the store's.
[[nodiscard]] Result<Interchanged> export_runs(CheckpointStore& from, std::span<const RunId> runs,
                                               std::ostream& out,
                                               const ExportOptions& options = {});

// Reads the output of export_runs() to its end, before there is a store for it. Leaves `in` at its
// end. Errors: as import_runs(), without those that come from a store.
[[nodiscard]] Result<void> check_export(std::istream& in);

// Reads the output of export_runs(), twice: `in` must be at its beginning and seekable. Writes only
// once the whole file is known to be intact and free of conflicts; if the store then fails, erases
// the runs it created. A run of which only a part could be written, and not erased, is poisoned and
// marked: nobody can continue it, and the next import of the file replaces it. Imported runs have
// no owner.
// Errors: Errc::corrupt (truncated, changed, or not an export), Errc::unsupported (a newer format),
// Errc::conflict, Errc::io, the store's.
[[nodiscard]] Result<Interchanged> import_runs(CheckpointStore& to, std::istream& in,
                                               const ImportOptions& options = {});

}  // namespace triage::inline v0_1
