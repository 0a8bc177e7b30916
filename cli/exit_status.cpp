// SPDX-License-Identifier: MIT
#include "exit_status.hpp"

#include <cstdio>

namespace triage::inline v0_1::cli {

ExitStatus exit_status(Errc code) noexcept {
  switch (code) {
    case Errc::not_found: return ExitStatus::not_found;
    case Errc::corrupt: return ExitStatus::corrupt;
    case Errc::escalated:
    case Errc::cancelled: return ExitStatus::escalated;
    case Errc::aborted: return ExitStatus::aborted;
    case Errc::suspended: return ExitStatus::suspended;
    case Errc::busy: return ExitStatus::busy;
    case Errc::io:
    case Errc::unsupported: return ExitStatus::unreadable;
    case Errc::invalid_argument:
    case Errc::conflict:
    case Errc::fenced:
    case Errc::in_doubt:
    case Errc::exhausted: break;
  }
  return ExitStatus::misuse;
}

ExitStatus report(const Error& error) {
  std::fprintf(stderr, "triage: %s\n", error.detail.c_str());
  return exit_status(error.code);
}

const char* exit_status_help() noexcept {
  return "Exit status: 0 done, 1 not found, 2 misuse, 3 corrupt, 4 part of the input was "
         "unreadable,\n             5 escalated, 6 aborted, 7 suspended, 8 busy.";
}

}  // namespace triage::inline v0_1::cli
