// SPDX-License-Identifier: MIT
#pragma once
// A failure as one line of JSON, and its classification as another.

#include "triage/classifier.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// What a line says, owned. Everything may be absent.
struct ReportedFailure {
  Failure failure{};
  Trajectory trajectory{};
  std::string task{};
  AgentContract contract{};
  Json result{};                       // Null if the callable returned none.
  std::vector<std::string> remarks{};  // Parts that were not understood, in sentences.
};

// The contract that was read last. Compiling schemas costs more than a classification, and lines
// that belong together have the same ones.
struct KnownContract {
  Json given{};
  AgentContract contract{};
};

// Reads the fields error, exception_type, http_status, json_rpc_code, grpc_status, headers, steps,
// task, contract and result of one JSON object; others are ignored, and null counts as absent.
// Steps and contracts with none of their fields give a remark.
// Codes may be strings that begin with the number, a gRPC status its name. Bytes that are not UTF-8
// and halves of surrogate pairs become U+FFFD. Errors: Errc::invalid_argument for what is not
// a JSON object, is nested deeper than max_json_depth, has none of the fields but others, or has a
// field of the wrong type; the text names the field.
[[nodiscard]] Result<ReportedFailure> read_reported_failure(std::string_view line,
                                                            KnownContract* known = nullptr);

// The contract of an agent, as the field `contract` has it. Errors: Errc::invalid_argument.
[[nodiscard]] Result<AgentContract> read_contract_text(const std::string& text);

// One line without its end: type, reason, confidence, retry_after_s, critical_step, evidence.
[[nodiscard]] std::string classification_line(const Classification& classification);
// One line without its end for an input line that could not be read.
[[nodiscard]] std::string unreadable_line(std::size_t line_number, std::string_view why);

}  // namespace triage::inline v0_1::cli
