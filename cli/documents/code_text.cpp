// SPDX-License-Identifier: MIT
#include "code_text.hpp"

#include <boost/algorithm/string.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace triage::inline v0_1::cli {
namespace {

// The text after the last `separator`; all of it if there is none.
std::string_view behind_last(std::string_view text, std::string_view separator) {
  const std::size_t at = text.rfind(separator);
  return at == std::string_view::npos ? text : text.substr(at + separator.size());
}

}  // namespace

std::optional<int> code_in(std::string_view text) {
  std::string given = boost::trim_copy(std::string(text));
  if (given.starts_with("HTTP")) given.erase(0, given.find(' ') + 1);
  int code = 0;
  const char* end = given.data() + given.size();
  const auto parsed = std::from_chars(given.data(), end, code);
  if (parsed.ec != std::errc{}) return std::nullopt;
  std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (rest.starts_with(".0")) {
    rest.remove_prefix(std::min(rest.find_first_not_of('0', 1), rest.size()));
  }
  const bool goes_on = !rest.empty() && (boost::is_alnum()(rest.front()) || rest.front() == '.');
  return goes_on ? std::nullopt : std::optional(code);
}

std::optional<int> grpc_status_in(std::string_view text) {
  static constexpr std::array<std::string_view, 17> names{
      "ok",       "cancelled",      "unknown",          "invalidargument",   "deadlineexceeded",
      "notfound", "alreadyexists",  "permissiondenied", "resourceexhausted", "failedprecondition",
      "aborted",  "outofrange",     "unimplemented",    "internal",          "unavailable",
      "dataloss", "unauthenticated"};
  if (const auto code = code_in(text)) return code;
  text = behind_last(text, "::");
  std::string name =
      boost::to_lower_copy(std::string(behind_last(text.substr(0, text.find(':')), ".")));
  std::erase_if(name, boost::is_any_of("_- \t\r\n"));
  if (name == "canceled") name = "cancelled";
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

}  // namespace triage::inline v0_1::cli
