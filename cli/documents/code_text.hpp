// SPDX-License-Identifier: MIT
#pragma once
// Failure codes given as text instead of numbers.

#include <optional>
#include <string_view>

namespace triage::inline v0_1::cli {

// The integer at the start of a text: "14", " 429 Too Many Requests", "HTTP/1.1 503", "404.0".
// Empty if there is none, or it does not fit an int.
[[nodiscard]] std::optional<int> code_in(std::string_view text);

// The same, or the number of a gRPC status name as libraries of most languages write it:
// "UNAVAILABLE", "ResourceExhausted", "StatusCode.INTERNAL", "Code::Aborted", "Deadline Exceeded",
// ignoring anything after a colon. Source: google.rpc.Code.
[[nodiscard]] std::optional<int> grpc_status_in(std::string_view text);

}  // namespace triage::inline v0_1::cli
