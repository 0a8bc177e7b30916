// SPDX-License-Identifier: MIT
#pragma once
// Runs from the stores of triage-agent, the Python library, and back into them.

#include "triage/reference_store.hpp"
#include "triage/stores/interchange.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace triage::inline v0_1 {

// Opens a store of triage-agent: redis://HOST, or the path of a SQLite file. `to_write`: it is made
// if it is missing. Errors: Errc::not_found; Errc::corrupt (a file with other tables);
// Errc::unsupported (a store that is not built in); Errc::io.
[[nodiscard]] Result<std::unique_ptr<ReferenceStore>> open_reference(const std::string& url,
                                                                     bool to_write);

struct ReferenceImportOptions {
  std::string agent = "triage-agent";  // RunInfo::agent of the imported runs.
  // What the runs were asked to do; triage-agent does not keep it. Without it an imported run can
  // be looked at and branched from with a task (ForkOptions::task), not resumed.
  std::optional<Json> task{};
  bool leave_same = false;         // As in ImportOptions.
  bool leave_out_damaged = false;  // Otherwise one checkpoint that cannot be read is Errc::corrupt.
};

// Each checkpoint becomes a position with the same state and steps, labelled "triage-agent/ID". A
// checkpoint whose steps do not go on from those before begins an attempt. The runs keep their ids,
// except those that are no RunId (and checkpoints without a run, each a run of its own): these get
// one that is made of theirs. They are `cancelled`, since nobody knows how they ended: no worker
// takes them up, resume_run with accept_changed does. All or nothing, like import_runs().
// Errors: Errc::corrupt, those of `from`, those of import_runs().
[[nodiscard]] Result<Interchanged> import_reference(CheckpointStore& to, ReferenceStore& from,
                                                    const ReferenceImportOptions& options = {});

struct ReferenceExportOptions {
  // Only the newest checkpoints of each run; 0: all. Each one holds all steps before it, so that a
  // run of n steps takes n * n / 2 of them.
  std::size_t newest = 0;
};

// Writes the checkpoints of runs, abandoned ones too, oldest first; last where each run is now.
// What triage-agent has no place for stays behind: effects, decisions, history, usage, tasks,
// labels. A checkpoint has the id that it was imported with, else RUN@SEQUENCE. `runs`: which;
// empty: all. Interchanged::records counts checkpoints. Nothing is written unless all of it is.
// Errors: Errc::not_found, Errc::corrupt (damaged records), those of `to`, the store's.
[[nodiscard]] Result<Interchanged> export_reference(CheckpointStore& from,
                                                    std::span<const RunId> runs, ReferenceStore& to,
                                                    const ReferenceExportOptions& options = {});

}  // namespace triage::inline v0_1
