// SPDX-License-Identifier: MIT
#pragma once
// What is kept of the files beside their content: permissions that git does not restore, what lay
// in the folder without being kept, and what others have changed.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace triage::inline v0_1::supervise {

// All permission bits, and those that git restores by itself.
inline constexpr mode_t all_bits = 07777;
inline constexpr mode_t plain_mode = 0644;
inline constexpr mode_t executable_mode = 0755;

struct NotKept {
  std::set<std::string> paths{};  // Of folders, which end with '/', all that is in them.
  std::set<std::string> empty{};  // Folders in which there are at most folders; end with '/'.
  // What is kept, but others changed while no program of the run could: by path, the newest state
  // before that.
  std::map<std::string, std::string> others{};

  [[nodiscard]] bool covers(const std::string& path) const;
};

// As bytes, and back.
[[nodiscard]] std::string to_bytes(const NotKept& not_kept);
[[nodiscard]] NotKept not_kept_from(std::string_view bytes);
// As a commit's message, which can hold no null bytes, and back.
[[nodiscard]] std::string message_of(const NotKept& not_kept);
[[nodiscard]] NotKept not_kept_in(std::string_view message);

// The message of a state's commit.
struct Notes {
  std::map<std::string, mode_t> modes{};  // Of paths.
  // Names a commit whose message is a NotKept; an empty name if there was nothing. Empty if an
  // earlier version has kept the state.
  std::optional<std::string> not_kept{};
  // Names the bytes of a NotKept, which can be reached from nothing; empty if that earlier version
  // did not note it.
  std::string earlier_not_kept{};
};
// Of states that this version keeps.
[[nodiscard]] std::string to_message(const Notes& notes);
// What it cannot read is left out.
[[nodiscard]] Notes notes_from(std::string_view message);

}  // namespace triage::inline v0_1::supervise
