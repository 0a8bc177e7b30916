// SPDX-License-Identifier: MIT
#pragma once
// Which processes an attempt consists of, and the end of those that outlived their supervisor.

#include "triage/checkpoint_store.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace triage::inline v0_1::supervise {

// The variable that every process of an attempt inherits: the token of that attempt and of those
// around it, each between slashes.
inline constexpr const char* lineage_variable = "TRIAGE_LINEAGE";

// The leader of an attempt's process group, so that it is known again: a number is used again, but
// not with the same start in the same boot.
struct ProcessMark {
  pid_t pid = 0;  // Also of its group.
  pid_t session = 0;
  std::uint64_t start = 0;  // Clock ticks since the boot. Source: proc(5), field starttime.
  std::string boot{};       // /proc/sys/kernel/random/boot_id.
  // Names the attempt in lineage_variable. Not the run's id: two stores on one machine may have
  // runs of one id.
  std::string token{};
};

// Errors: Errc::not_found if there is no such process.
[[nodiscard]] Result<ProcessMark> mark_of(pid_t pid);

// The label under which a run's journal names the process group of an attempt, before that executes
// anything.
[[nodiscard]] std::string to_label(const ProcessMark& mark);
[[nodiscard]] std::optional<ProcessMark> parse_mark(std::string_view label);
// The newest one in the journal. Errors: the store's.
[[nodiscard]] Result<std::optional<ProcessMark>> newest_mark(CheckpointStore& store,
                                                             const RunId& run);

// Kills what is left of an attempt whose supervisor is gone, and returns when none of it lives any
// more: the marked group, and every process whose environment has the mark's token. Returns how
// many were killed. Errors: Errc::io if one cannot be killed.
[[nodiscard]] Result<std::size_t> end_leftovers(const ProcessMark& mark);

// Sends a signal to the direct children of this process; returns how many there are. As a subreaper
// it has every process below it as a child when those in between have ended.
std::size_t signal_children(int signal);

}  // namespace triage::inline v0_1::supervise
