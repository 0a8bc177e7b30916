// SPDX-License-Identifier: MIT
#pragma once
// Which processes are reading a file's write-ahead log.

#include <cstdint>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// Their process ids, ascending and distinct; empty if the system does not tell. `path` is the
// database file. Throws only std::bad_alloc.
[[nodiscard]] std::vector<std::int64_t> log_readers(const std::string& path);

}  // namespace triage::inline v0_1::detail
