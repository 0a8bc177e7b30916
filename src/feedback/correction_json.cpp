// SPDX-License-Identifier: MIT
#include "feedback/correction_json.hpp"

#include "journal/causes_json.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/detail/utc_text.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_origin = 64;
constexpr std::size_t longest_quote = 60;

Error wrong(std::string detail) { return {Errc::invalid_argument, std::move(detail)}; }

std::string in_quotes(std::string_view text) {
  return "\"" + printable(text.substr(0, longest_quote)) + "\"";
}

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::optional<WallTime> parse_seconds(const std::string& text) {
  std::tm utc{};
  char end = '\0';
  const int read = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%c", &utc.tm_year, &utc.tm_mon,
                               &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &end);
  if (read != 7 || end != 'Z') return std::nullopt;
  const auto within = [](int value, int least, int most) {
    return value >= least && value <= most;
  };
  if (!within(utc.tm_year, 1970, 2200) || !within(utc.tm_mon, 1, 12) ||
      !within(utc.tm_mday, 1, 31) || !within(utc.tm_hour, 0, 23) || !within(utc.tm_min, 0, 59) ||
      !within(utc.tm_sec, 0, 60)) {
    return std::nullopt;
  }
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  return std::chrono::time_point_cast<WallTime::duration>(
      std::chrono::system_clock::from_time_t(::timegm(&utc)));
}

Json codes_json(const Failure& failure) {
  Json codes = Json::object();
  if (!failure.exception_type.empty()) codes["exception_type"] = failure.exception_type;
  if (failure.http_status) codes["http_status"] = *failure.http_status;
  if (failure.json_rpc_code) codes["json_rpc_code"] = *failure.json_rpc_code;
  if (failure.grpc_status) codes["grpc_status"] = *failure.grpc_status;
  Json headers = Json::object();
  for (const auto& [name, value] : failure.headers) headers[name] = value;
  if (!headers.empty()) codes["headers"] = std::move(headers);
  return codes;
}

// Empty if the field is absent or null.
Result<std::string> text_of(const Json& row, const char* name) {
  const auto found = row.find(name);
  if (found == row.end() || found->is_null()) return outcome::success(std::string());
  if (found->is_string()) return outcome::success(found->get<std::string>());
  return wrong(std::string(name) + " is " + in_quotes(show(*found)) + "; allowed is a text");
}

Result<std::optional<int>> code_of(const Json& codes, const char* name) {
  const auto found = codes.find(name);
  if (found == codes.end() || found->is_null()) return outcome::success(std::optional<int>{});
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  const bool huge = found->is_number_unsigned() && found->get<std::uint64_t>() > most;
  if (found->is_number_integer() && !huge) {
    const auto code = found->get<std::int64_t>();
    if (code >= std::numeric_limits<int>::min() && code <= std::numeric_limits<int>::max()) {
      return outcome::success(std::optional<int>{static_cast<int>(code)});
    }
  }
  return wrong("codes." + std::string(name) + " is " + in_quotes(show(*found)) +
               "; allowed is a whole number");
}

Result<FailureType> type_of(const Json& row, const char* name) {
  TRIAGE_TRY(text, text_of(row, name));
  if (const auto type = parse_failure_type(text)) return outcome::success(*type);
  return wrong((text.empty() ? "has no " + std::string(name)
                             : std::string(name) + " is " + in_quotes(text)) +
               "; allowed are " + joined(all_failure_types));
}

Result<void> read_codes(const Json& row, Failure& failure) {
  const auto found = row.find("codes");
  if (found == row.end() || found->is_null()) return outcome::success();
  if (!found->is_object()) return wrong("codes is not an object");
  TRIAGE_TRY(exception_type, text_of(*found, "exception_type"));
  TRIAGE_TRY(http, code_of(*found, "http_status"));
  TRIAGE_TRY(json_rpc, code_of(*found, "json_rpc_code"));
  TRIAGE_TRY(grpc, code_of(*found, "grpc_status"));
  failure.exception_type = exception_type;
  failure.http_status = http;
  failure.json_rpc_code = json_rpc;
  failure.grpc_status = grpc;
  const auto headers = found->find("headers");
  if (headers == found->end() || headers->is_null()) return outcome::success();
  if (!headers->is_object()) return wrong("codes.headers is not an object");
  for (const auto& [name, value] : headers->items()) {
    failure.headers.emplace_back(name, value.is_string() ? value.get<std::string>() : show(value));
  }
  return outcome::success();
}

Result<void> read_causes(const Json& row, Failure& failure) {
  const auto found = row.find("causes");
  if (found == row.end() || found->is_null()) return outcome::success();
  if (!found->is_array()) {
    return wrong("causes is " + in_quotes(show(*found)) +
                 "; allowed is a list of objects with exception_type and text");
  }
  failure.causes = parse_causes(*found);
  return outcome::success();
}

}  // namespace

Result<void> check_correction(const Correction& correction) {
  const Failure& failure = correction.failure;
  if (failure.text.find_first_not_of(" \t\r\n") == std::string::npos &&
      failure.exception_type.empty() && !failure.http_status && !failure.json_rpc_code &&
      !failure.grpc_status && failure.causes.empty()) {
    return wrong(
        "the failure has neither a text nor an exception type, a code or a cause, so nothing can "
        "be learned from it");
  }
  const std::string& origin = correction.origin;
  const bool allowed =
      !origin.empty() && origin.size() <= longest_origin && letter_or_digit(origin.front()) &&
      std::all_of(origin.begin(), origin.end(),
                  [](char c) { return letter_or_digit(c) || c == '+' || c == '.' || c == '-'; });
  if (!allowed) {
    return wrong("origin is " + in_quotes(origin) +
                 "; allowed are 1 to 64 of a-z 0-9 + . -, beginning with a letter or digit");
  }
  return outcome::success();
}

std::string origin_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (letter_or_digit(lower)) {
      name += lower;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() == longest_origin) break;
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "agent" : name;
}

std::string correction_line(const Correction& correction) {
  Json row{{"text", correction.failure.text},
           {"origin", correction.origin},
           {"label", to_string(correction.type)},
           {"reason", correction.reason},
           {"codes", codes_json(correction.failure)},
           {"kind", "correction"},
           {"given", to_string(correction.given)},
           {"when", utc_text(correction.when, "%Y-%m-%dT%H:%M:%SZ")}};
  if (Json causes = causes_json(correction.failure.causes); !causes.empty()) {
    row["causes"] = std::move(causes);
  }
  if (!correction.who.empty()) row["who"] = correction.who;
  if (!correction.run.empty()) row["run"] = correction.run;
  return row.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Correction> parse_correction(std::string_view line) {
  // Only a row's headers nest, and not deeper than this.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 8; };
  const Json row = Json::parse(line.begin(), line.end(), shallow, false);
  if (row.is_discarded()) return wrong("is not valid JSON");
  if (!row.is_object()) return wrong("is not a JSON object");
  Correction correction;
  TRIAGE_TRY(type, type_of(row, "label"));
  correction.type = type;
  if (row.contains("given")) {
    TRIAGE_TRY(given, type_of(row, "given"));
    correction.given = given;
  }
  TRIAGE_TRY(text, text_of(row, "text"));
  TRIAGE_TRY(origin, text_of(row, "origin"));
  TRIAGE_TRY(reason, text_of(row, "reason"));
  TRIAGE_TRY(who, text_of(row, "who"));
  TRIAGE_TRY(run, text_of(row, "run"));
  TRIAGE_TRY(when, text_of(row, "when"));
  correction.failure.text = std::move(text);
  correction.origin = std::move(origin);
  correction.reason = std::move(reason);
  correction.who = std::move(who);
  correction.run = std::move(run);
  correction.when = parse_seconds(when).value_or(WallTime{});
  TRIAGE_TRYV(read_codes(row, correction.failure));
  TRIAGE_TRYV(read_causes(row, correction.failure));
  TRIAGE_TRYV(check_correction(correction));
  return outcome::success(std::move(correction));
}

}  // namespace triage::inline v0_1::detail
