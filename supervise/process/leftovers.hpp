// SPDX-License-Identifier: MIT
#pragma once
// Which processes belong to an attempt, and ending those that outlived their supervisor.

#include "triage/checkpoint_store.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace triage::inline v0_1::supervise {

// The environment variable that all processes of an attempt inherit: the tokens of the attempt and
// of those around it, separated by slashes.
inline constexpr const char* lineage_variable = "TRIAGE_LINEAGE";
// Its value for an attempt that this process begins: "/outer/inner/".
[[nodiscard]] std::string lineage_with(const std::string& token);

// Identifies the leader of an attempt's process group: process numbers are reused, but not with the
// same start time in the same boot.
struct ProcessMark {
  pid_t pid = 0;  // Also the group's.
  pid_t session = 0;
  std::uint64_t start = 0;  // Clock ticks since the boot. Source: proc(5), field starttime.
  // /proc/sys/kernel/random/boot_id, a slash, and the start time of process 1: containers have
  // process numbers of their own, and one that is started again gives out the same ones.
  std::string boot{};
  // Names the attempt in lineage_variable. The run's id would not do: two stores on a machine may
  // have runs with the same id.
  std::string token{};
};

// Errors: Errc::not_found if there is no such process.
[[nodiscard]] Result<ProcessMark> mark_of(pid_t pid);

// The label under which the journal names an attempt's process group, before it executes anything.
[[nodiscard]] std::string to_label(const ProcessMark& mark);
[[nodiscard]] std::optional<ProcessMark> parse_mark(std::string_view label);
// The newest one in the journal. Errors: the store's.
[[nodiscard]] Result<std::optional<ProcessMark>> newest_mark(CheckpointStore& store,
                                                             const RunId& run);

// Kills what is left of an attempt whose supervisor is gone: the marked group, unless it was in
// another container, and every process with the mark's token in its environment. Returns when none
// is alive, with the number killed. Errors: Errc::io if one cannot be killed.
[[nodiscard]] Result<std::size_t> end_leftovers(const ProcessMark& mark);

// This process's children and, because it is a subreaper and they become its children when those in
// between end, all other descendants.
struct Family {
  std::vector<pid_t> children{};
  std::vector<pid_t> others{};
};
// Without the children in `spared`, those that began before `start`, which may have been theirs,
// and without their children. start: as in ProcessMark.
[[nodiscard]] Family family_without(const std::set<pid_t>& spared, std::uint64_t start);
// As in ProcessMark; 0 if there is no such process.
[[nodiscard]] std::uint64_t start_of(pid_t pid);

}  // namespace triage::inline v0_1::supervise
