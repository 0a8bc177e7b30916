// SPDX-License-Identifier: MIT
#pragma once
// The `git` command on a shadow repository: its own folder and index, nobody's configuration.

#include "triage/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

struct GitPlace {
  std::string repository{};  // Outside of the tree.
  std::string index{};
  std::string tree{};  // Whose files it holds; empty where there is none yet.
};

// Runs it with `input` as standard input and returns what it printed. Nothing of the user's is
// read or changed: no configuration, hooks, filters, credentials, nor the repository of the tree.
// Errors: Errc::unsupported if there is no git; Errc::io with what it complained about.
[[nodiscard]] Result<std::string> run_git(const GitPlace& place,
                                          const std::vector<std::string>& arguments,
                                          std::string_view input = {});

}  // namespace triage::inline v0_1::supervise
