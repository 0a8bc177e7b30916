// SPDX-License-Identifier: MIT
#pragma once
// The first pass of an import: what the file says, and what the store has of it already.

#include "interchange_lines.hpp"
#include "triage/stores/interchange.hpp"

#include <iosfwd>
#include <map>

namespace triage::inline v0_1::detail {

// What the second pass does with a run of the file.
struct ImportPlan {
  Sequence last = 0;      // Of the file's newest record.
  bool is_there = false;  // With the same records: it stays, and gets what it lacks.
  bool is_half = false;   // What an import that was interrupted has left: it is replaced.
};
using ImportPlans = std::map<RunId, ImportPlan>;

// Checks the whole file and holds it against the store, without writing anything. Null: there is no
// store yet. Errors: as for import_runs().
[[nodiscard]] Result<ImportPlans> look_through(CheckpointStore* to, std::istream& in,
                                               const ImportOptions& options);

}  // namespace triage::inline v0_1::detail
