// SPDX-License-Identifier: MIT
#pragma once
// What a supervised run is: the command and the rules for it, as they are stored with the run.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
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

// What a run may spend, as it is reported; 0: no limit.
struct RunBudget {
  std::uint64_t tokens = 0;
  double cost_usd = 0.0;
  std::uint64_t calls = 0;  // Of a model.
  Duration time{0};         // While a supervisor was at work on it.
};
// "tokens=200000,usd=2.5,calls=50,time=2h", each of them optional. Errors: Errc::invalid_argument.
[[nodiscard]] Result<RunBudget> parse_budget(std::string_view text);

// Each limit of `given` that is set, else that of `otherwise`.
[[nodiscard]] RunBudget over(const RunBudget& given, const RunBudget& otherwise);

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
  std::string contract{};  // The text of a contract, in JSON; empty: none.
  bool guard = false;      // Steps that are proposed are judged by their risk.
  RunBudget budget{};
  Duration max_wait = std::chrono::minutes(10);  // A longer wait suspends the run.
  // What is removed from what the program says: "common" (secrets as most look), "none"; and what
  // these RE2 expressions match, or their first group.
  std::string redact = "common";
  std::vector<std::string> redact_patterns{};
};

// The version of docs/protocol.md.
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

// The task of the run, as its store has it.
[[nodiscard]] Json to_json(const RunSpec& spec);
// Errors: Errc::corrupt for what is no such task.
[[nodiscard]] Result<RunSpec> spec_from_json(const Json& task);
// In what two tasks differ, in words: "command", "policy"; empty if in nothing.
[[nodiscard]] std::vector<std::string> differences(const Json& one, const Json& other);

}  // namespace triage::inline v0_1::supervise
