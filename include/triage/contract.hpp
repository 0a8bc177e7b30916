// SPDX-License-Identifier: MIT
#pragma once
// What an agent promises about itself, so that broken promises are found without reading any text.

#include "triage/classification.hpp"
#include "triage/json.hpp"
#include "triage/json_schema.hpp"
#include "triage/step.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

struct ToolContract {
  std::string name{};
  std::vector<std::string> aliases{};  // Other accepted names.
  std::string description{};           // For the hint.
  JsonSchema input_schema{};   // For Step::tool_input unless null. A text that holds a JSON object
                               // or array is parsed.
  JsonSchema output_schema{};  // For Step::tool_output of steps that did not fail; not for null.
  // Whether a call changes something outside the run (the opposite of MCP's readOnlyHint); empty:
  // guessed from the name. If nothing raised an error, the first change is suspect.
  std::optional<bool> mutates{};
};

// A regular expression, compiled once, that must match neither Step::llm_output nor a text in the
// result. RE2 syntax, case-insensitive. A value; copies share the compiled form. Thread-safe if
// const.
class ForbiddenPattern {
 public:
  ForbiddenPattern() = default;           // Matches nothing.
  ForbiddenPattern(std::string pattern);  // NOLINT(google-explicit-constructor)
  ForbiddenPattern(const char* pattern)   // NOLINT(google-explicit-constructor)
      : ForbiddenPattern(std::string(pattern)) {}

  [[nodiscard]] const std::string& text() const noexcept;
  // Errc::invalid_argument if RE2 refuses it, for example for look-around or back-references.
  [[nodiscard]] const std::optional<Error>& problem() const noexcept;
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_{};
};

// Every step is checked when it is recorded: EventKind::contract_broken reports a breach at once,
// and it is evidence if the attempt fails. A returned value is checked too. The attempt fails
// anyway if the value breaks output_schema or leaves a subgoal open, or if it or the newest
// Step::llm_output contains a forbidden text.
struct AgentContract {
  std::vector<ToolContract> tools{};  // Empty: any tool may be called.
  // Texts that must not appear in Step::llm_output or the result; ASCII case is ignored. A result
  // without a conversion to JSON is not searched.
  std::vector<std::string> constraints{};
  // To be completed before the callable returns: see Attempt::complete_subgoal.
  std::vector<std::string> subgoals{};
  std::uint64_t context_limit = 0;  // Tokens of one call to a model, as given by
                                    // Attempt::record_usage or Step::metadata["tokens"]; 0: none.
  std::vector<ForbiddenPattern> forbidden_patterns{};  // Like constraints.
  // For the callable's result, converted to JSON. A result without a conversion is refused.
  JsonSchema output_schema{};

  [[nodiscard]] bool empty() const noexcept {
    return tools.empty() && constraints.empty() && subgoals.empty() && context_limit == 0 &&
           forbidden_patterns.empty() && output_schema.empty();
  }
};

// Errors: Errc::invalid_argument for a schema or pattern with a problem. The text names the place:
// "tools[1] (fetch).input_schema: the schema is wrong at /properties/url/type: …".
[[nodiscard]] Result<void> check_contract(const AgentContract& contract);

// How one step broke the contract.
struct StepBreach {
  // "tool_not_in_manifest", "tool_input_mismatch", "forbidden_text", …; of static lifetime.
  std::string_view reason{};
  Evidence evidence{};  // Source "contract".

  // False if something could not be checked: this is reported, but is not a breach.
  [[nodiscard]] bool checked() const noexcept { return evidence.suggests != FailureType::unknown; }
};

// How a step on its own breaks the contract: a tool outside the manifest, tool input (or output,
// unless the step failed) that violates its schema, or a forbidden text in the first 4 MB of
// llm_output. Leaves `evidence.step` empty. record_step calls this; call it yourself to check a
// step before a tool is called. Evaluates at most a million schema rules; deeply nested values and
// schemas take at most 2 MB of the calling thread's stack.
[[nodiscard]] std::vector<StepBreach> judge_step(const AgentContract& contract, const Step& step);

}  // namespace triage::inline v0_1
