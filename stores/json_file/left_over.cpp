// SPDX-License-Identifier: MIT
#include "left_over.hpp"

#include "files.hpp"
#include "run_file.hpp"
#include "triage/detail/try.hpp"

#include <sys/stat.h>

#include <chrono>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::chrono::hours old_enough{1};  // Nobody writes a file for so long without a word.

Result<std::vector<std::string>> old_files(const std::string& folder, WallTime now) {
  auto names = names_in(folder);
  if (!names && names.error().code == Errc::not_found) {
    return outcome::success(std::vector<std::string>());
  }
  if (!names) return names.error();
  std::erase_if(names.value(), [&](const std::string& name) {
    struct stat status {};
    return ::lstat((folder + "/" + name).c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
           WallTime(std::chrono::seconds(status.st_mtime)) + old_enough > now;
  });
  return names;
}

}  // namespace

void remove_left_over(const std::string& folder, WallTime now) {
  const std::string unfinished = folder + "/tmp";
  const auto names = old_files(unfinished, now);
  if (!names) return;
  for (const std::string& name : names.value()) {
    static_cast<void>(remove_file(unfinished + "/" + name));
  }
}

Result<void> name_left_over(const std::string& folder, WallTime now,
                            std::vector<std::string>& wrong) {
  TRIAGE_TRY(unfinished, old_files(folder + "/tmp", now));
  for (const std::string& name : unfinished) {
    wrong.push_back("tmp/" + printable(name) +
                    " is what a write that was cut off has left; opening the store to write "
                    "removes it");
  }
  const std::string runs = folder + "/runs";
  auto names = names_in(runs);
  if (!names && names.error().code != Errc::not_found) return names.error();
  if (!names) return outcome::success();
  for (const std::string& name : names.value()) {
    const std::size_t tilde = name.find('~');  // In no run's id.
    if (tilde == name.npos || exists(segment_path(runs, name.substr(0, tilde), 1))) continue;
    wrong.push_back("runs/" + printable(name) +
                    " is what an erasure that was cut off has left of a run; erasing the run once "
                    "more removes it");
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
