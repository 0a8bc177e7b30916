// SPDX-License-Identifier: MIT
#pragma once
// Checksums over rows other than records. See docs/checkpoint_format.md, section 1.

#include "sqlite_database.hpp"

#include <string>

namespace triage::inline v0_1::detail {

// SQL for runs.crc with new values for the two columns that change. Excludes the run's number,
// which is not known before the insertion; under a wrong number a run has no records. Also excludes
// owner and renewed, because the epoch fences whatever they say.
[[nodiscard]] inline std::string run_checksum(const std::string& status, const std::string& epoch) {
  return "triage_checksum(run_id, agent, label, parent, " + status + ", started, updated, " +
         epoch + ")";
}
inline constexpr const char* run_id_checksum = "triage_checksum(run_id)";
inline constexpr const char* value_checksum = "triage_checksum(space, key, version, bytes)";

// Adds triage_checksum(VALUE, …) to the connection: CRC-32C over all values; a number counts as 8
// bytes, little endian, a text or blob as its length in the same form, and its bytes.
void add_checksum_function(SQLite::Database& database);

}  // namespace triage::inline v0_1::detail
