// SPDX-License-Identifier: MIT
#pragma once
// Where a store is, for what is kept beside it.

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// The whole paths of a store that is a file or folder, as it is named and without links; empty for
// others.
[[nodiscard]] std::vector<std::string> store_paths(const std::string& url);

// What tells a store from others on this machine; without passwords.
[[nodiscard]] std::string store_place(const std::string& url);

}  // namespace triage::inline v0_1::cli
