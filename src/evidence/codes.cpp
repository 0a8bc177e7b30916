// SPDX-License-Identifier: MIT
#include "evidence/codes.hpp"

#include "triage/exit_status.hpp"
#include "triage/result.hpp"

namespace triage::inline v0_1::detail {
namespace {

template <class Code>
struct CodeRow {
  Code code;
  CodeRule rule;
};

using enum FailureType;

// The types that words may claim beside a code.
constexpr TypeSet anything{wrong_tool_called, schema_mismatch, context_overflow,   plan_incomplete,
                           external_fault,    timeout,         access_denied,      quota_exhausted,
                           refused,           crashed,         constraint_ignored, loop_detected};
// The request is at fault: no outage, no timeout, no crash.
constexpr TypeSet faults_of_requests{wrong_tool_called, schema_mismatch,    context_overflow,
                                     plan_incomplete,   access_denied,      quota_exhausted,
                                     refused,           constraint_ignored, loop_detected};
// The server failed internally and the words say how. It did not refuse the caller; other codes
// mean that.
constexpr TypeSet faults_inside{wrong_tool_called, schema_mismatch,    context_overflow,
                                plan_incomplete,   external_fault,     timeout,
                                crashed,           constraint_ignored, loop_detected};
constexpr std::string_view as_rate_limit = "rate_limited";

// Source: RFC 9110 and RFC 6585; 529 and 52x as Anthropic and Cloudflare document them.
constexpr CodeRow<int> http_rows[] = {
    {400, {{schema_mismatch, "bad_request", 0.25}, anything}},
    {401, {{access_denied, "unauthenticated", 0.9}, {quota_exhausted}}},
    {402, {{quota_exhausted, "payment_required", 0.9}, {}}},
    {403,
     {{access_denied, "forbidden", 0.88},
      {quota_exhausted, refused, context_overflow, external_fault},
      as_rate_limit}},
    {404, {{wrong_tool_called, "not_found", 0.3}, faults_of_requests}},
    {405, {{wrong_tool_called, "method_not_allowed", 0.3}, faults_of_requests}},
    {407, {{access_denied, "proxy_authentication", 0.9}, {}}},
    {408, {{timeout, "request_timeout", 0.9}, {}}},
    {409, {{external_fault, "conflict", 0.25}, anything}},
    {413, {{context_overflow, "too_large", 0.45}, faults_of_requests}},
    {422, {{schema_mismatch, "unprocessable", 0.4}, faults_of_requests}},
    {425, {{external_fault, "too_early", 0.6}, anything}},
    {429, {{external_fault, "rate_limited", 0.92}, {quota_exhausted, context_overflow}}},
    {451, {{access_denied, "legal_reasons", 0.85}, {refused}}},
    {500, {{external_fault, "server_error", 0.9}, faults_inside}},
    {502, {{external_fault, "bad_gateway", 0.92}, {timeout}}},
    {503, {{external_fault, "unavailable", 0.92}, {timeout}}},
    {504, {{timeout, "gateway_timeout", 0.9}, {}}},
    {507, {{external_fault, "server_error", 0.7}, anything}},
    {520, {{external_fault, "bad_gateway", 0.85}, {timeout}}},
    {521, {{external_fault, "unavailable", 0.85}, {timeout}}},
    {522, {{timeout, "connect_timeout", 0.85}, {}}},
    {523, {{external_fault, "unavailable", 0.85}, {timeout}}},
    {524, {{timeout, "gateway_timeout", 0.85}, {}}},
    {529, {{external_fault, "overloaded", 0.92}, {}}},
};

// Source: the JSON-RPC 2.0 specification, section 5.1. -32600 and -32602 name no type because
// servers use them both for lost sessions and for unknown tools; the meaning of -32000 to -32099 is
// up to the server.
constexpr CodeRow<int> json_rpc_rows[] = {
    {-32700, {{schema_mismatch, "parse_error", 0.9}, {}}},
    {-32600, {{}, anything}},
    {-32602, {{}, faults_of_requests}},
    {-32603, {{external_fault, "internal_error", 0.75}, anything}},
    {-32601, {{wrong_tool_called, "method_not_found", 0.92}, {}}},
};

// Source: grpc.io, "Status codes and their use in gRPC". 0, 1 and 2 do not determine a type.
constexpr CodeRow<int> grpc_rows[] = {
    {3, {{schema_mismatch, "invalid_argument", 0.35}, faults_of_requests}},
    {4, {{timeout, "deadline_exceeded", 0.9}, {}}},
    {5, {{wrong_tool_called, "not_found", 0.3}, faults_of_requests}},
    {7,
     {{access_denied, "permission_denied", 0.9},
      {quota_exhausted, refused, context_overflow, external_fault},
      as_rate_limit}},
    {8,
     {{external_fault, "resource_exhausted", 0.8},
      {external_fault, quota_exhausted, context_overflow, crashed}}},
    {9, {{schema_mismatch, "failed_precondition", 0.15}, anything}},
    {10, {{external_fault, "aborted", 0.4}, anything}},
    {11, {{schema_mismatch, "out_of_range", 0.25}, faults_of_requests}},
    {12, {{wrong_tool_called, "unimplemented", 0.85}, {}}},
    {13, {{external_fault, "internal_error", 0.55}, faults_inside}},
    {14, {{external_fault, "unavailable", 0.92}, {timeout}}},
    {16, {{access_denied, "unauthenticated", 0.9}, {quota_exhausted}}},
};

constexpr CodeRule late{{timeout, "timed_out", 0.88}, {external_fault}};
constexpr CodeRule lost{{external_fault, "connection_lost", 0.88}, {timeout}};
constexpr CodeRule starved{{external_fault, "resource_exhausted", 0.6}, anything};
constexpr CodeRule denied{{access_denied, "permission_denied", 0.85}, {}};
constexpr CodeRow<std::errc> errno_rows[] = {
    {std::errc::timed_out, late},
    {std::errc::stream_timeout, {{timeout, "timed_out", 0.85}, {external_fault}}},
    {std::errc::connection_refused, lost},
    {std::errc::connection_reset, lost},
    {std::errc::connection_aborted, lost},
    {std::errc::not_connected, lost},
    {std::errc::broken_pipe, lost},
    {std::errc::network_down, lost},
    {std::errc::network_reset, lost},
    {std::errc::network_unreachable, lost},
    {std::errc::host_unreachable, lost},
    {std::errc::no_link, lost},
    {std::errc::permission_denied, denied},
    {std::errc::operation_not_permitted, denied},
    {std::errc::resource_unavailable_try_again, starved},
    {std::errc::device_or_resource_busy, starved},
    {std::errc::too_many_files_open, starved},
    {std::errc::too_many_files_open_in_system, starved},
    {std::errc::not_enough_memory, starved},
    {std::errc::no_buffer_space, starved},
    {std::errc::bad_message, {{schema_mismatch, "bad_message", 0.4}, anything}},
    {std::errc::message_size, {{context_overflow, "too_large", 0.35}, anything}},
};

// Exit statuses set by the shell, by the kernel and by `timeout`. All others are up to the program.
constexpr CodeRow<int> exit_rows[] = {
    {124, {{timeout, "time_limit", 0.6}, anything}},
    {126, {{access_denied, "permission_denied", 0.6}, anything}},
    {127, {{wrong_tool_called, "command_not_found", 0.85}, anything}},
    {134, {{crashed, "aborted", 0.88}, anything}},
    {135, {{crashed, "signal", 0.88}, anything}},
    {136, {{crashed, "signal", 0.88}, anything}},
    {137, {{crashed, "killed", 0.88}, anything}},
    {139, {{crashed, "signal", 0.9}, anything}},
};

// Errors of another agent or of a store that a callable passes on. The other codes say what the
// caller should do, not what went wrong.
constexpr CodeRow<Errc> triage_rows[] = {
    {Errc::busy, {{external_fault, "busy", 0.88}}},
    {Errc::exhausted, {{quota_exhausted, "budget_spent", 0.88}}},
};

template <class Code, std::size_t size>
std::optional<CodeRule> look_up(const CodeRow<Code> (&rows)[size], Code code) noexcept {
  for (const CodeRow<Code>& row : rows) {
    if (row.code == code) return row.rule;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CodeRule> http_rule(int status) noexcept { return look_up(http_rows, status); }

std::optional<CodeRule> json_rpc_rule(int code) noexcept { return look_up(json_rpc_rows, code); }

std::optional<CodeRule> grpc_rule(int status) noexcept { return look_up(grpc_rows, status); }

std::optional<CodeRule> error_code_rule(const std::error_code& code) noexcept {
  if (!code) return std::nullopt;
  if (code.category() == make_error_code(Errc::busy).category()) {
    return look_up(triage_rows, static_cast<Errc>(code.value()));
  }
  if (code.category() == exit_status_category()) return look_up(exit_rows, code.value());
  // System codes, and codes of categories that map to a portable condition.
  const std::error_condition condition = code.default_error_condition();
  if (condition.category() != std::generic_category()) return std::nullopt;
  return look_up(errno_rows, static_cast<std::errc>(condition.value()));
}

std::optional<CodeMeaning> error_code_meaning(const std::error_code& code) noexcept {
  const auto rule = error_code_rule(code);
  if (!rule || rule->meaning.confidence == 0) return std::nullopt;
  return rule->meaning;
}

}  // namespace triage::inline v0_1::detail
