// SPDX-License-Identifier: MIT
#pragma once
// Which processes read from the write-ahead log of a file.

#include <cstdint>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// Their numbers, ascending, without doubles; empty where the system does not tell. `path` is the
// database's file. Throws std::bad_alloc only.
[[nodiscard]] std::vector<std::int64_t> log_readers(const std::string& path);

}  // namespace triage::inline v0_1::detail
