// SPDX-License-Identifier: MIT
#pragma once
// One recorded action of an attempt.

#include "triage/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// All fields are optional. Text may be any bytes: invalid UTF-8 is kept losslessly.
struct Step {
  std::string action{};                      // What was done, in the agent's words.
  std::optional<std::string> tool_called{};  // Name of the tool, if one was called.
  Json tool_input{};                         // Any JSON; null if there was none.
  Json tool_output{};                        // Any JSON; null if there was none.
  std::optional<std::string> llm_output{};   // What the model said.
  std::optional<std::string> error{};        // Set if the step failed: the text as printed.
  std::optional<std::string> exception_type{};
  std::optional<int> http_status{};       // 100 to 599.
  std::optional<int> json_rpc_code{};     // Such as -32601.
  std::optional<int> grpc_status{};       // 0 to 16.
  std::optional<std::string> agent_id{};  // Who acted, if several agents share a run.
  bool idempotent = false;                // True if repeating it is harmless.
  Json metadata{};                        // An object, or null.

  friend bool operator==(const Step&, const Step&) = default;
};

// JSON values of a step as bytes, for programs that have them as text or encode their own types: no
// tree is built, and what is read back is the same. Empty: none. The views must live for the call.
struct StepValues {
  enum class Format : std::uint8_t {
    json,  // JSON text (RFC 8259). Of several members with one name the last one counts.
    cbor,  // CBOR (RFC 8949): definite lengths, text keys; no byte strings, tags or undefined.
  };
  std::string_view tool_input{};
  std::string_view tool_output{};
  std::string_view metadata{};  // An object, or null.
  Format format = Format::json;
};

}  // namespace triage::inline v0_1
