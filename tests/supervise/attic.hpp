// SPDX-License-Identifier: MIT
#pragma once
// A room for several runs, whose repository is looked at, grows old, and is tidied up.

#include "supervise/room.hpp"
#include "supervise/workspace/forget.hpp"
#include "supervise/workspace/git.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace triage::test {

class Attic : public Room {
 public:
  [[nodiscard]] supervise::Workspace open_as(const std::string& run,
                                             const std::string& store = "here") const {
    return try_open(run, store).value();
  }
  [[nodiscard]] Result<supervise::Workspace> try_open(const std::string& run,
                                                      const std::string& store) const {
    supervise::WorkspaceOptions own = options();
    own.run = run;
    own.store = store;
    return supervise::Workspace::open(own);
  }
  // A run that has kept some files, which are large and different in all runs, and nothing since.
  std::vector<supervise::FilesId> old_run(const std::string& run, int states = 3) const {
    supervise::Workspace files = open_as(run);
    std::vector<supervise::FilesId> ids;
    for (int i = 0; i < states; ++i) {
      write("of " + run, noise(run + std::to_string(i)));
      ids.push_back(files.keep().value());
    }
    std::filesystem::remove(at("of " + run));
    return ids;
  }
  // All objects become old enough to be removed.
  void grow_old() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(repository())) {
      if (entry.is_regular_file()) {
        std::filesystem::last_write_time(
            entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(3));
      }
    }
  }
  [[nodiscard]] supervise::Forgotten forget(const std::vector<std::string>& runs,
                                            const std::string& store = "here") const {
    return supervise::forget_files({.shadows = options().shadows,
                                    .store = store,
                                    .runs = runs,
                                    .is_gone = [](const std::string&) { return true; },
                                    .patience = std::chrono::seconds(20)});
  }
  // As hard as git can: what cannot be reached goes, however young it is.
  void collect_all() const { git_in({"gc", "--quiet", "--prune=now"}); }

  [[nodiscard]] std::string repository() const {
    return supervise::shadow_repository(options().shadows, options().folder);
  }
  std::string git_in(const std::vector<std::string>& arguments,
                     const std::string& input = {}) const {
    const auto printed = supervise::run_git(
        {.repository = repository(), .index = repository() + "/index"}, arguments, input);
    if (!printed) FAIL(printed.error().detail);
    return printed.value();
  }
  [[nodiscard]] bool has(const std::string& object) const {
    return supervise::run_git({.repository = repository(), .index = repository() + "/index"},
                              {"cat-file", "-e", object})
        .has_value();
  }
  [[nodiscard]] std::string index(const std::string& run) const {
    return supervise::index_of(repository(), supervise::shadow_name(run));
  }
  [[nodiscard]] std::uintmax_t bytes() const {
    std::uintmax_t all = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(repository() + "/objects")) {
      if (entry.is_regular_file()) all += entry.file_size();
    }
    return all;
  }
  // What lies in the folder, empty folders too.
  [[nodiscard]] std::map<std::string, std::string> look() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tree())) {
      all[entry.path().lexically_relative(tree())] =
          entry.is_regular_file() ? read_text(entry.path()) : "(none)";
    }
    return all;
  }
  // Does not become smaller.
  static std::string noise(const std::string& seed) {
    std::string text;
    std::uint64_t state = std::hash<std::string>()(seed) | 1U;
    for (int i = 0; i < 20'000; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += static_cast<char>(state >> 56U);
    }
    return text;
  }
};

}  // namespace triage::test
