// SPDX-License-Identifier: MIT
#pragma once
// The mark of a run that an import has begun and not ended: nobody may go on with a part of a run.

#include "triage/checkpoint_store.hpp"

namespace triage::inline v0_1::detail {

// The status of a run while it is imported: no worker takes it, and reviving it is refused.
inline constexpr RunStatus importing = RunStatus::poisoned;

// The mark's key among the run's signals, so that it goes with them. No signal has an empty name.
[[nodiscard]] std::string import_mark_key(const RunId& run);
// Marks a run of which records up to `last` will be imported. Errors: the store's.
[[nodiscard]] Result<void> mark_import(KeySpace& keys, const RunInfo& run, Sequence last);
[[nodiscard]] Result<void> unmark_import(KeySpace& keys, const RunId& run);
// Whether the stored run is what an import that was interrupted has left. Errors: the store's,
// which is asked only about a run with the status `importing`.
[[nodiscard]] Result<bool> is_half_imported(KeySpace& keys, const RunInfo& run);
// For whoever would go on with it, and do again what the missing part records. Errors:
// Errc::conflict if it is such a part; the store's.
[[nodiscard]] Result<void> check_imported(KeySpace& keys, const RunInfo& run);

}  // namespace triage::inline v0_1::detail
