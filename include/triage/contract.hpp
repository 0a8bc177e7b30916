// SPDX-License-Identifier: MIT
#pragma once
// What an agent promises about itself, so that breaking it can be seen without reading any text.

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
  JsonSchema input_schema{};  // Of Step::tool_input; not checked if that is null. A text that holds
                              // a JSON object or array may stand for it.
  JsonSchema output_schema{};  // Of Step::tool_output of a step that did not fail; null: unchecked.
  // Whether a call changes something outside of the run, as in MCP's annotations (readOnlyHint is
  // the opposite); none: judged by the name. Where nothing raised, the first change is suspect.
  std::optional<bool> mutates{};
};

// A regular expression, compiled once, that must match neither Step::llm_output nor a text of the
// result. RE2 syntax, letters in any case. A value; copies share what was compiled. Thread-safe as
// a constant.
class ForbiddenPattern {
 public:
  ForbiddenPattern() = default;           // Matches nothing.
  ForbiddenPattern(std::string pattern);  // NOLINT(google-explicit-constructor)
  ForbiddenPattern(const char* pattern)   // NOLINT(google-explicit-constructor)
      : ForbiddenPattern(std::string(pattern)) {}

  [[nodiscard]] const std::string& text() const noexcept;
  // Errc::invalid_argument if RE2 refuses it: look-around and back-references for instance.
  [[nodiscard]] const std::optional<Error>& problem() const noexcept;
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct Body;
  std::shared_ptr<const Body> body_{};
};

// Every step is checked as it is recorded: EventKind::contract_broken tells at once, and when the
// attempt fails, what its steps broke is evidence. A value that the callable returns is checked,
// too: the attempt fails all the same if the value breaks output_schema, leaves a subgoal open, or
// if the value or the newest Step::llm_output has a forbidden text.
struct AgentContract {
  std::vector<ToolContract> tools{};  // Empty: any tool may be called.
  // Texts that must not appear in Step::llm_output or the result, ASCII letters in any case. Of a
  // result without a conversion to JSON nothing is read.
  std::vector<std::string> constraints{};
  // What must be done before the callable returns: see Attempt::complete_subgoal.
  std::vector<std::string> subgoals{};
  std::uint64_t context_limit = 0;  // Tokens of one call to a model; 0: none. What a call took is
                                    // Attempt::record_usage, or Step::metadata["tokens"].
  std::vector<ForbiddenPattern> forbidden_patterns{};  // Like constraints.
  // Of the callable's result, converted to JSON. A result without a conversion is refused.
  JsonSchema output_schema{};

  [[nodiscard]] bool empty() const noexcept {
    return tools.empty() && constraints.empty() && subgoals.empty() && context_limit == 0 &&
           forbidden_patterns.empty() && output_schema.empty();
  }
};

// Errors: Errc::invalid_argument for a schema or a pattern with a problem; names the place:
// "tools[1] (fetch).input_schema: the schema is wrong at /properties/url/type: …".
[[nodiscard]] Result<void> check_contract(const AgentContract& contract);

// Something in one step that broke the contract.
struct StepBreach {
  // "tool_not_in_manifest", "tool_input_mismatch", "forbidden_text", …; of static lifetime.
  std::string_view reason{};
  Evidence evidence{};  // Source "contract".

  // False if something could not be checked: that is told, and is no breach.
  [[nodiscard]] bool checked() const noexcept { return evidence.suggests != FailureType::unknown; }
};

// What a step breaks by itself: its tool is not in the manifest, or the tool's input or, unless the
// step failed, its output has a wrong shape; the model said something that is forbidden. Of
// llm_output the first 4 MB are read. `evidence.step` is left empty. To be asked before a tool is
// called, for instance; record_step asks by itself. Takes at most a million rules of a schema, and
// 2 MB of the calling thread's stack for values and schemas that are nested so deep.
[[nodiscard]] std::vector<StepBreach> judge_step(const AgentContract& contract, const Step& step);

}  // namespace triage::inline v0_1
