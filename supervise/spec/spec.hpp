// SPDX-License-Identifier: MIT
#pragma once
// Describes a supervised run: its command and rules, as stored with the run.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

// The agent name of all supervised runs in their stores.
inline constexpr const char* agent_name = "triage-run";

// Resource limits of the child; 0: those of this process.
struct ChildLimits {
  std::uint64_t memory_bytes = 0;  // Address space.
  std::uint64_t cpu_seconds = 0;   // Per attempt.
  std::uint64_t open_files = 0;
};

// What a run may spend, according to its reports; 0: no limit.
struct RunBudget {
  std::uint64_t tokens = 0;
  double cost_usd = 0.0;
  std::uint64_t calls = 0;  // Of models.
  Duration time{0};         // While supervised.
};
// Parses "tokens=200000,usd=2.5,calls=50,time=2h", all optional, each at most once. Errors:
// Errc::invalid_argument.
[[nodiscard]] Result<RunBudget> parse_budget(std::string_view text);

// The limits set in `given`, and `otherwise` for the rest.
[[nodiscard]] RunBudget over(const RunBudget& given, const RunBudget& otherwise);

struct RunSpec {
  std::vector<std::string> command{};            // The program first; not empty.
  std::string folder{};                          // Its working folder; an absolute path.
  Duration timeout{0};                           // Per attempt; 0: none.
  Duration idle_timeout{0};                      // Without output or messages; 0: none.
  Duration kill_after{std::chrono::seconds(5)};  // From SIGTERM to SIGKILL.
  int max_attempts = 0;                          // 0: as the policy says.
  int start_ups = 3;      // Most consecutive attempts that fail before doing anything. 1 or more.
  std::string policy{};   // A policy document's text; empty: the policy of `triage run`.
  std::string adapter{};  // A name or a document's text; empty: by the command's name.
  // Whether an adapter's program resumes its session after a failure: "auto" (as the adapter says),
  // "resume" (always), "fresh" (never).
  std::string session = "auto";
  std::string workspace{};  // Real path of the folder whose files are kept; empty: none.
  ChildLimits limits{};
  std::string contract{};  // The text of a contract, in JSON; empty: none.
  bool guard = false;      // Proposed steps are judged by their risk.
  RunBudget budget{};
  Duration max_wait = std::chrono::minutes(10);  // A longer wait suspends the run.
  // What is removed from the program's output: "common" (typical secrets) or "none"; and the
  // matches of these RE2 expressions, or of their first groups.
  std::string redact = "common";
  std::vector<std::string> redact_patterns{};
};

// Version of docs/protocol.md.
inline constexpr int protocol_version = 1;
// The version of all agents before commands had versions of their own.
inline constexpr const char* common_version = "1";
// The file name of the command's program.
[[nodiscard]] std::string program_name(const RunSpec& spec);
// As what a run may continue: the program, its adapter and the protocol's version. It is the
// version of the run's agent, whose name is that of all supervised runs. adapter: its name; empty:
// none.
[[nodiscard]] std::string version_of(const RunSpec& spec, std::string_view adapter);

// Whether the run is one of this command: the same program by its file name and, if `command` has
// arguments, the same arguments.
[[nodiscard]] bool is_of_command(const RunSpec& spec, const std::vector<std::string>& command);

// The run's task as stored.
[[nodiscard]] Json to_json(const RunSpec& spec);
// Errors: Errc::corrupt if it is not such a task.
[[nodiscard]] Result<RunSpec> spec_from_json(const Json& task);
// The names of the differences of two tasks: "command", "policy"; empty if there are none.
[[nodiscard]] std::vector<std::string> differences(const Json& one, const Json& other);

}  // namespace triage::inline v0_1::supervise
