// SPDX-License-Identifier: MIT
#pragma once
// Who holds a lease: a process of this host, told apart from one that got its number later.

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

enum class OwnerLife : std::uint8_t {
  alive,      // The process exists on this host.
  gone,       // It was on this host and does not exist any more.
  elsewhere,  // Another host (or another process namespace): only time can tell.
};

// As text: HOST PID START STORE, where HOST is the boot id and the process namespace, START the
// process's start time in clock ticks since boot, and STORE a random number of the store object.
// The text contains no personal data; it is stored in runs.owner.
[[nodiscard]] std::string describe_this_owner(std::uint64_t store);
// `own` is what describe_this_owner() returned in this process. Text that cannot be parsed counts
// as elsewhere.
[[nodiscard]] OwnerLife check_owner(std::string_view owner, std::string_view own);

}  // namespace triage::inline v0_1::detail
