// SPDX-License-Identifier: MIT
#pragma once
// Runs `git` on a shadow repository with its own folder and index, ignoring all configuration.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

// How long a call of git may take. Half an hour is beyond all but a dead file system, and less than
// what locks are left alone for (see forget_files).
inline constexpr std::chrono::minutes longest_git{30};

struct GitWatch {
  std::shared_ptr<Clock> clock = real_clock();
  Duration limit = longest_git;
  // Called on the same thread before each call, and this often while it lasts, or while a lock is
  // waited for. Its error ends that, and is returned.
  std::function<Result<void>()> meanwhile{};
  Duration every = std::chrono::seconds(10);

  [[nodiscard]] Result<void> look() const { return meanwhile ? meanwhile() : outcome::success(); }
};

struct GitPlace {
  std::string repository{};  // Outside the tree.
  std::string index{};
  std::string tree{};  // The folder whose files it holds; empty if there is none yet.
  GitWatch watch{};
  bool private_files = false;  // What git makes is for its owner alone.
};

// Runs git with `input` as standard input and returns its output. Neither reads nor changes
// anything of the user's: configuration, hooks, filters, credentials, the tree's own repository.
// Ends git if it takes too long, or waits for a pipe in the tree that has the name of a file that
// it reads. Errors: Errc::unsupported if git is missing; Errc::io with git's message, or that;
// those of the watch.
[[nodiscard]] Result<std::string> run_git(const GitPlace& place,
                                          const std::vector<std::string>& arguments,
                                          std::string_view input = {});

// What git has printed, without the end of the line.
[[nodiscard]] std::string name_printed(std::string printed);

// Whether it can be the name of an object.
[[nodiscard]] bool is_object_name(const std::string& text);

}  // namespace triage::inline v0_1::supervise
