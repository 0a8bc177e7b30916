// SPDX-License-Identifier: MIT
#pragma once
// What a supervised run is: the command and the rules for it, as they are stored with the run.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

// The name of the agent that all supervised runs have in their stores.
inline constexpr const char* agent_name = "triage-run";

// What the child may use at most; 0: what this process may use.
struct ChildLimits {
  std::uint64_t memory_bytes = 0;  // Address space.
  std::uint64_t cpu_seconds = 0;   // Of one attempt.
  std::uint64_t open_files = 0;
};

struct RunSpec {
  std::vector<std::string> command{};            // The program first; at least that.
  std::string folder{};                          // Where it runs; an absolute path.
  Duration timeout{0};                           // Of one attempt; 0: none.
  Duration idle_timeout{0};                      // Without output or a message; 0: none.
  Duration kill_after{std::chrono::seconds(5)};  // From SIGTERM to SIGKILL.
  int max_attempts = 0;                          // 0: what the policy says.
  int start_ups = 3;      // Attempts in a row that may fail before they did anything. 1 or more.
  std::string policy{};   // The text of a policy document; empty: the policy of `triage run`.
  std::string adapter{};  // Name, or the text of one; empty: chosen by the command's name.
  // Whether an adapter's program goes on with its session after a failure: "auto" (as the adapter
  // says), "resume" (always), "fresh" (never).
  std::string session = "auto";
  std::string workspace{};  // The real path of the folder whose files are kept; empty: none.
  ChildLimits limits{};
};

// The task of the run, as its store has it.
[[nodiscard]] Json to_json(const RunSpec& spec);
// Errors: Errc::corrupt for what is no such task.
[[nodiscard]] Result<RunSpec> spec_from_json(const Json& task);

}  // namespace triage::inline v0_1::supervise
