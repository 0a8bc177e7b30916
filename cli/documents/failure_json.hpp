// SPDX-License-Identifier: MIT
#pragma once
// A failure as one line of JSON, and its classification as another.

#include "triage/classifier.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// The parsed contents of a line. Everything is optional.
struct ReportedFailure {
  Failure failure{};
  Trajectory trajectory{};
  std::string task{};
  AgentContract contract{};
  Json result{};                       // Null if the callable returned none.
  std::vector<std::string> remarks{};  // Sentences about parts that were not understood.
};

// The most recent contract: compiling schemas costs more than a classification, and related lines
// have the same one.
struct KnownContract {
  Json given{};
  AgentContract contract{};
};

// Reads the fields error, exception_type, http_status, json_rpc_code, grpc_status, headers, steps,
// task, contract and result of a JSON object; ignores others, and null counts as absent. Steps and
// contracts with none of their fields give a remark. Codes may be strings starting with the number,
// and a gRPC status may be a name. Bytes that are not UTF-8 and lone surrogates become U+FFFD.
// Errors: Errc::invalid_argument if it is not a JSON object, is nested deeper than max_json_depth,
// has none of these fields, a field has the wrong type, or the contract has a member that is not
// known; the text names the field.
[[nodiscard]] Result<ReportedFailure> read_reported_failure(std::string_view line,
                                                            KnownContract* known = nullptr);

// A line without its newline: type, reason, confidence, retry_after_s, critical_step, evidence.
[[nodiscard]] std::string classification_line(const Classification& classification);
// A line without its newline, for an input line that could not be read.
[[nodiscard]] std::string unreadable_line(std::size_t line_number, std::string_view why);

}  // namespace triage::inline v0_1::cli
