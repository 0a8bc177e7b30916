// SPDX-License-Identifier: MIT
#pragma once
// The SQLite file of triage-agent, the Python library: its table `checkpoints`.

#include "triage/reference_store.hpp"

#include <memory>
#include <string>

namespace triage::inline v0_1 {

// To write: the file is made (0600) if it is missing, and what was added is committed by finish().
// Errors: Errc::not_found; Errc::corrupt (no SQLite file, or one of other tables, which is left as
// it is); Errc::busy, Errc::io.
[[nodiscard]] Result<std::unique_ptr<ReferenceStore>> open_sqlite_reference(const std::string& path,
                                                                            bool to_write);

}  // namespace triage::inline v0_1
