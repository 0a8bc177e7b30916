// SPDX-License-Identifier: MIT
#include "classifier/codes/text_codes.hpp"

#include "base/ascii.hpp"
#include "classifier/phrases/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>

namespace triage::inline v0_1::detail {
namespace {

using enum FailureType;

constexpr std::size_t most_codes = 16;
constexpr std::size_t longest_name = 64;
constexpr std::size_t exit_status_reach = 24;  // Bytes between "exit" and its number.

struct NamedCode {
  std::string_view name;
  CodeMeaning meaning;
};

// Sorted by name. Excludes names that are common in prose or have other meanings.
constexpr NamedCode named_codes[] = {
    {"ABORTED", {external_fault, "aborted", 0.4}},
    {"ACCESS_DENIED", {access_denied, "permission_denied", 0.85}},
    {"API_KEY_INVALID", {access_denied, "bad_credentials", 0.92}},
    {"DEADLINE_EXCEEDED", {timeout, "deadline_exceeded", 0.9}},
    {"EACCES", {access_denied, "permission_denied", 0.88}},
    {"EADDRINUSE", {external_fault, "resource_busy", 0.45}},
    {"EAGAIN", {external_fault, "resource_busy", 0.7}},
    {"EAI_AGAIN", {external_fault, "dns_failed", 0.9}},
    {"EBUSY", {external_fault, "resource_busy", 0.7}},
    {"ECONNABORTED", {external_fault, "connection_lost", 0.8}},
    {"ECONNREFUSED", {external_fault, "connection_refused", 0.9}},
    {"ECONNRESET", {external_fault, "connection_lost", 0.9}},
    {"EDQUOT", {quota_exhausted, "quota", 0.9}},
    {"EHOSTDOWN", {external_fault, "connection_lost", 0.88}},
    {"EHOSTUNREACH", {external_fault, "connection_lost", 0.88}},
    {"EMFILE", {external_fault, "resource_exhausted", 0.6}},
    {"ENETDOWN", {external_fault, "connection_lost", 0.88}},
    {"ENETUNREACH", {external_fault, "connection_lost", 0.88}},
    {"ENOTCONN", {external_fault, "connection_lost", 0.85}},
    {"ENOTFOUND", {external_fault, "dns_failed", 0.85}},
    {"EPERM", {access_denied, "permission_denied", 0.85}},
    {"EPIPE", {external_fault, "connection_lost", 0.88}},
    {"ESOCKETTIMEDOUT", {timeout, "timed_out", 0.9}},
    {"ETIMEDOUT", {timeout, "timed_out", 0.9}},
    {"FAILED_PRECONDITION", {schema_mismatch, "failed_precondition", 0.15}},
    {"INVALID_ARGUMENT", {schema_mismatch, "invalid_argument", 0.4}},
    {"METHOD_NOT_FOUND", {wrong_tool_called, "method_not_found", 0.9}},
    {"PERMISSION_DENIED", {access_denied, "permission_denied", 0.9}},
    {"RESOURCE_EXHAUSTED", {external_fault, "rate_limited", 0.6}},
    {"SIGABRT", {crashed, "aborted", 0.85}},
    {"SIGBUS", {crashed, "signal", 0.88}},
    {"SIGFPE", {crashed, "signal", 0.85}},
    {"SIGILL", {crashed, "signal", 0.85}},
    {"SIGKILL", {crashed, "killed", 0.7}},
    {"SIGSEGV", {crashed, "signal", 0.85}},
    {"UNAUTHENTICATED", {access_denied, "unauthenticated", 0.9}},
    {"UNIMPLEMENTED", {wrong_tool_called, "unimplemented", 0.85}},
    {"authentication_error", {access_denied, "bad_credentials", 0.92}},
    {"billing_hard_limit_reached", {quota_exhausted, "billing", 0.95}},
    {"billing_not_active", {quota_exhausted, "billing", 0.95}},
    {"content_filter", {refused, "content_policy", 0.8}},
    {"content_policy_violation", {refused, "content_policy", 0.95}},
    {"context_length_exceeded", {context_overflow, "context_length", 0.96}},
    {"insufficient_quota", {quota_exhausted, "insufficient_funds", 0.95}},
    {"invalid_api_key", {access_denied, "bad_credentials", 0.95}},
    {"invalid_function_parameters", {schema_mismatch, "schema_violation", 0.92}},
    {"invalid_json_schema", {schema_mismatch, "schema_violation", 0.9}},
    {"invalid_request_error", {schema_mismatch, "bad_request", 0.25}},
    {"json_validate_failed", {schema_mismatch, "output_format", 0.9}},
    {"model_not_found", {wrong_tool_called, "model_not_found", 0.95}},
    {"moderation_blocked", {refused, "content_policy", 0.95}},
    {"overloaded_error", {external_fault, "overloaded", 0.95}},
    {"permission_error", {access_denied, "permission_denied", 0.9}},
    {"rate_limit_error", {external_fault, "rate_limited", 0.85}},
    {"rate_limit_exceeded", {external_fault, "rate_limited", 0.85}},
    {"request_too_large", {context_overflow, "too_large", 0.9}},
    {"string_above_max_length", {context_overflow, "too_large", 0.8}},
    {"unsupported_country_region_territory", {access_denied, "region_blocked", 0.95}},
};
static_assert(std::is_sorted(std::begin(named_codes), std::end(named_codes),
                             [](const NamedCode& a, const NamedCode& b) {
                               return a.name < b.name;
                             }));

// Five-character states first, then classes.
constexpr NamedCode sqlstates[] = {
    {"40P01", {external_fault, "conflict", 0.9}},  // Deadlock.
    {"42501", {access_denied, "permission_denied", 0.9}},
    {"42883", {wrong_tool_called, "tool_not_found", 0.6}},  // Undefined function.
    {"53100", {unknown, "disk_full", 0.0}},
    {"53200", {external_fault, "resource_exhausted", 0.6}},
    {"53300", {external_fault, "resource_busy", 0.85}},  // Too many connections.
    {"53400", {quota_exhausted, "quota", 0.5}},
    {"55P03", {external_fault, "resource_busy", 0.6}},  // Lock not available.
    {"57014", {timeout, "time_limit", 0.6}},            // Cancelled, mostly by a timeout.
    {"57P01", {external_fault, "unavailable", 0.85}},   // Shut down by an administrator.
    {"57P03", {external_fault, "unavailable", 0.9}},    // Starting up.
    {"HYT00", {timeout, "timed_out", 0.88}},
    {"HYT01", {timeout, "timed_out", 0.88}},
    {"08", {external_fault, "connection_lost", 0.85}},
    {"22", {schema_mismatch, "invalid_argument", 0.6}},
    {"28", {access_denied, "bad_credentials", 0.9}},
    {"40", {external_fault, "conflict", 0.85}},
    {"42", {schema_mismatch, "parse_error", 0.6}},
    {"54", {context_overflow, "too_large", 0.3}},
    {"58", {external_fault, "server_error", 0.6}},
};

// What a byte is in a name; 0 if it ends one. A table: every byte of every text is looked at.
constexpr std::uint8_t plain_in_name = 1;
constexpr std::uint8_t underscore_in_name = 2;
constexpr std::array<std::uint8_t, 256> name_bytes = [] {
  std::array<std::uint8_t, 256> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    if (is_alnum(static_cast<char>(c))) bytes[c] = plain_in_name;
  }
  bytes['_'] = underscore_in_name;
  return bytes;
}();
std::uint8_t in_name(char c) { return name_bytes[static_cast<unsigned char>(c)]; }
bool is_state_byte(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); }

std::string_view take_name(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && in_name(text[end]) != 0) ++end;
  return text.substr(at, end - at);
}

class Scan {
 public:
  Scan(std::string_view text, std::vector<TextCode>& codes) : text_(text), codes_(codes) {}

  void run() {
    const std::string_view text = text_;  // A local: the compiler need not reload it.
    std::size_t at = 0;
    while (at < text.size()) {
      if (in_name(text[at]) == 0) {
        ++at;
        continue;
      }
      const std::size_t begin = at;
      unsigned seen = 0;
      for (unsigned kind = 0; at < text.size() && (kind = in_name(text[at])) != 0; ++at) {
        seen |= kind;
      }
      const std::size_t size = at - begin;
      if (size < 4 || size > longest_name) continue;
      if (codes_.size() >= most_codes) return;
      look_at(text.substr(begin, size), begin, (seen & underscore_in_name) != 0);
    }
  }

 private:
  void look_at(std::string_view name, std::size_t at, bool has_underscore) {
    if (name == "SQLSTATE") {
      sqlstate(at + name.size());
    } else if (has_underscore || is_upper(name[1])) {
      if (const auto meaning = named_code_meaning(name)) add("name", name, *meaning);
    } else if (name == "exit" || name == "exited" || name == "Exit" || name == "exitcode" ||
               name == "status") {
      exit_status(at + name.size());
    }
  }

  // After "SQLSTATE": the next five capitals and digits.
  void sqlstate(std::size_t at) {
    std::size_t begin = at;
    while (begin < text_.size() && begin - at < 6 && !is_state_byte(text_[begin])) ++begin;
    const std::string_view state = take_name(text_, begin);
    if (state.size() != 5 || !std::all_of(state.begin(), state.end(), is_state_byte)) return;
    if (const auto meaning = sqlstate_meaning(state)) add("sqlstate", state, *meaning);
  }

  // After "exit": "code 137", "status: 139", "(code=exited, status=137)".
  void exit_status(std::size_t at) {
    const std::string_view near = text_.substr(at, exit_status_reach);
    for (const std::string_view word : {"code", "status", "="}) {
      const std::size_t found = near.find(word);
      if (found == std::string_view::npos) continue;
      std::size_t begin = found + word.size();
      while (begin < near.size() &&
             (near[begin] == ' ' || near[begin] == '=' || near[begin] == ':'))
        ++begin;
      int status = 0;
      const auto parsed = std::from_chars(near.data() + begin, near.data() + near.size(), status);
      if (parsed.ec != std::errc{}) continue;
      const auto meaning = exit_status_meaning(status);
      if (!meaning) return;
      const auto length = static_cast<std::size_t>(parsed.ptr - near.data()) - begin;
      add("exit_status", near.substr(begin, length), *meaning);
      return;
    }
  }

  void add(std::string_view kind, std::string_view found, const CodeMeaning& meaning) {
    if (meaning.confidence == 0) return;
    for (const TextCode& code : codes_) {
      if (code.found == found) return;
    }
    codes_.push_back({kind, found, meaning});
  }

  std::string_view text_;
  std::vector<TextCode>& codes_;
};

}  // namespace

std::optional<CodeMeaning> named_code_meaning(std::string_view name) noexcept {
  const auto found = std::lower_bound(
      std::begin(named_codes), std::end(named_codes), name,
      [](const NamedCode& code, std::string_view wanted) { return code.name < wanted; });
  if (found == std::end(named_codes) || found->name != name) return std::nullopt;
  return found->meaning;
}

std::optional<CodeMeaning> sqlstate_meaning(std::string_view state) noexcept {
  if (state.size() != 5) return std::nullopt;
  for (const NamedCode& known : sqlstates) {
    if (state.starts_with(known.name)) return known.meaning;
  }
  return std::nullopt;
}

std::optional<CodeMeaning> exit_status_meaning(int status) noexcept {
  switch (status) {
    case 124: return CodeMeaning{timeout, "time_limit", 0.6};
    case 126: return CodeMeaning{access_denied, "permission_denied", 0.45};
    case 127: return CodeMeaning{wrong_tool_called, "command_not_found", 0.7};
    case 134: return CodeMeaning{crashed, "aborted", 0.85};
    case 135: return CodeMeaning{crashed, "signal", 0.8};
    case 136: return CodeMeaning{crashed, "signal", 0.8};
    case 137: return CodeMeaning{crashed, "killed", 0.85};
    case 139: return CodeMeaning{crashed, "signal", 0.9};
    default: return std::nullopt;
  }
}

void find_text_codes(std::string_view text, std::vector<TextCode>& codes) {
  if (text.size() <= 2 * text_window_bytes) {
    Scan(text, codes).run();
    return;
  }
  Scan(text.substr(0, text_window_bytes), codes).run();
  Scan(text.substr(text.size() - text_window_bytes), codes).run();
}

}  // namespace triage::inline v0_1::detail
