// SPDX-License-Identifier: MIT
#include "command_status.hpp"

#include "triage/json.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

ExitStatus exit_status(Errc code) noexcept {
  switch (code) {
    case Errc::not_found: return ExitStatus::not_found;
    case Errc::corrupt: return ExitStatus::corrupt;
    case Errc::escalated:
    case Errc::in_doubt:  // A person must find out.
    case Errc::cancelled: return ExitStatus::escalated;
    case Errc::aborted: return ExitStatus::aborted;
    case Errc::suspended: return ExitStatus::suspended;
    case Errc::busy:
    case Errc::fenced: return ExitStatus::busy;
    case Errc::io:
    case Errc::unsupported: return ExitStatus::failed;
    case Errc::invalid_argument:
    case Errc::conflict:
    case Errc::exhausted: break;
  }
  return ExitStatus::misuse;
}

bool asked_for_json(std::span<char* const> words) {
  static const bool asked = [words] {
    const auto is = [](std::string_view name) {
      return [name](const char* word) { return word == name; };
    };
    const auto dashes = std::find_if(words.begin(), words.end(), is("--"));
    return std::any_of(words.begin(), dashes, is("--json"));
  }();
  return asked;
}

void tell_error(std::string_view code, const std::string& message, ExitStatus status) {
  const Json line{{"event", "error"},
                  {"code", code},
                  {"message", message},
                  {"exit_status", static_cast<int>(status)}};
  std::fprintf(stderr, "%s\n", show(line).c_str());
}

namespace {

ExitStatus report_as(ExitStatus status, const Error& error) {
  if (asked_for_json()) {
    tell_error(to_string(error.code), error.message(), status);
    return status;
  }
  // Some details have several lines; what they quote may hold anything else.
  std::string text = "triage: ";
  const std::string message = error.message();
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    text += printable(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    text += '\n';
    rest.remove_prefix(end + 1);
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  return status;
}

}  // namespace

ExitStatus report(const Error& error) { return report_as(exit_status(error.code), error); }

ExitStatus report_no_program(const Error& error) {
  return report_as(static_cast<ExitStatus>(error.code == Errc::not_found ? 127 : 126), error);
}

const char* exit_status_help() noexcept {
  return "Exit status: 0 done, 1 not found, 2 misuse, 3 corrupt, 4 part of the input was\n"
         "             unreadable, 5 escalated, 6 aborted, 7 suspended, 8 busy, 9 failed.";
}

}  // namespace triage::inline v0_1::cli
