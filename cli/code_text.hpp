// SPDX-License-Identifier: MIT
#pragma once
// Codes of failures that callers give as texts instead of numbers.

#include <optional>
#include <string_view>

namespace triage::inline v0_1::cli {

// The whole number that a text begins with: "14", " 429 Too Many Requests", "HTTP/1.1 503",
// "404.0". Empty if there is none, or it does not fit an int.
[[nodiscard]] std::optional<int> code_in(std::string_view text);

// The same, or the number of a gRPC status by its name, as the libraries of most languages write
// it: "UNAVAILABLE", "ResourceExhausted", "StatusCode.INTERNAL", "Code::Aborted", "Deadline
// Exceeded", whatever stands behind a colon. Source: google.rpc.Code.
[[nodiscard]] std::optional<int> grpc_status_in(std::string_view text);

}  // namespace triage::inline v0_1::cli
