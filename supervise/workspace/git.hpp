// SPDX-License-Identifier: MIT
#pragma once
// Runs `git` on a shadow repository with its own folder and index, ignoring all configuration.

#include "triage/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

struct GitPlace {
  std::string repository{};  // Outside the tree.
  std::string index{};
  std::string tree{};  // The folder whose files it holds; empty if there is none yet.
};

// Runs git with `input` as standard input and returns its output. Neither reads nor changes
// anything of the user's: configuration, hooks, filters, credentials, the tree's own repository.
// Errors: Errc::unsupported if git is missing; Errc::io with git's message.
[[nodiscard]] Result<std::string> run_git(const GitPlace& place,
                                          const std::vector<std::string>& arguments,
                                          std::string_view input = {});

// What git has printed, without the end of the line.
[[nodiscard]] std::string name_printed(std::string printed);

// Whether it can be the name of an object.
[[nodiscard]] bool is_object_name(const std::string& text);

}  // namespace triage::inline v0_1::supervise
