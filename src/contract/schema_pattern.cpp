// SPDX-License-Identifier: MIT
#include "contract/schema_pattern.hpp"

#include "triage/json.hpp"

#include <re2/re2.h>

namespace triage::inline v0_1::detail {
namespace {

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string in_re2_spelling(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (rest.size() >= 6 && rest.substr(0, 2) == "\\u" && is_hex(rest.substr(2, 4))) {
      out += "\\x{" + std::string(rest.substr(2, 4)) + '}';
      i += 5;
    } else if (rest.size() >= 2 && rest.front() == '\\') {
      out += rest.substr(0, 2);
      ++i;
    } else if (rest.size() > 3 && rest.substr(0, 3) == "(?<" && rest[3] != '=' && rest[3] != '!') {
      out += "(?P<";
      i += 2;
    } else {
      out += rest.front();
    }
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern,
                                                        bool ignore_case) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!ignore_case);
  auto compiled = std::make_shared<const re2::RE2>(in_re2_spelling(pattern), options);
  if (compiled->ok()) return outcome::success(std::move(compiled));
  return Error{Errc::invalid_argument, "the pattern \"" + printable(pattern.substr(0, 200)) +
                                           "\" is not an RE2 expression (" +
                                           printable(compiled->error()) +
                                           "); look-around and back-references are not allowed"};
}

bool found_in(const re2::RE2& pattern, std::string_view text) {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

}  // namespace triage::inline v0_1::detail
