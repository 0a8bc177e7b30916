// SPDX-License-Identifier: MIT
#pragma once
// Checksums over the rows that are no records. See docs/checkpoint_format.md, section 1.

#include "sqlite_database.hpp"

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// SQL for runs.crc with other values for the two columns that change. The number of the run is not
// covered: it is not known before the row is inserted, and a run under another number is found
// without its records. Neither are owner and renewed: whatever they say, the epoch fences.
[[nodiscard]] inline std::string run_checksum(const std::string& status, const std::string& epoch) {
  return "triage_checksum(run_id, agent, label, parent, " + status + ", started, updated, " +
         epoch + ")";
}
inline constexpr const char* run_id_checksum = "triage_checksum(run_id)";
inline constexpr const char* value_checksum = "triage_checksum(space, key, version, bytes)";

// Makes triage_checksum(VALUE, …) known to the connection: CRC-32C over all values, each a number
// in 8 bytes, little endian, or the length of a text or blob in the same way, and its bytes.
void add_checksum_function(SQLite::Database& database);

[[nodiscard]] std::int64_t key_value_checksum(std::string_view space, std::string_view key,
                                              std::uint64_t version, std::string_view bytes);

}  // namespace triage::inline v0_1::detail
