// SPDX-License-Identifier: MIT
#include "supervise/spec/redaction.hpp"

#include <algorithm>
#include <utility>

#include <re2/re2.h>
#include <unistd.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t least_known = 8;  // "true" and "basic" are not a variable's secrets.

// A variable read from a file may end with its newline, which nobody prints with the secret.
std::string_view trimmed(std::string_view value) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = std::min(value.find_first_not_of(blanks), value.size());
  value.remove_prefix(begin);
  return value.substr(0, value.find_last_not_of(blanks) + 1);
}

// A key in base 64 may begin with a slash, too.
bool is_path(std::string_view value) {
  constexpr std::string_view base_64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  return value.front() == '/' && (value.find_first_not_of(base_64) != std::string_view::npos ||
                                  ::access(std::string(value).c_str(), F_OK) == 0);
}

using Pattern = std::shared_ptr<const re2::RE2>;

Result<Pattern> compile(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const re2::RE2>(pattern, options);
  if (compiled->ok()) return outcome::success(Pattern(std::move(compiled)));
  return Error{Errc::invalid_argument, "the pattern of secrets \"" + printable(pattern) +
                                           "\" is not an RE2 expression: " + compiled->error()};
}

// If a pattern has a group, removes the group's text, else the whole match.
std::string without_matches(std::string_view text, const re2::RE2& pattern) {
  const re2::StringPiece all(text.data(), text.size());
  const std::size_t meant = pattern.NumberOfCapturingGroups() > 0 ? 1 : 0;
  std::string left;
  std::size_t done = 0;
  for (std::size_t from = 0; from <= text.size();) {
    re2::StringPiece found[2];
    if (!pattern.Match(all, from, text.size(), re2::RE2::UNANCHORED, found, 2)) break;
    const std::size_t end = static_cast<std::size_t>(found[0].data() - text.data()) +
                            static_cast<std::size_t>(found[0].size());
    if (found[meant].data() != nullptr && !found[meant].empty()) {
      const auto begin = static_cast<std::size_t>(found[meant].data() - text.data());
      left += text.substr(done, begin - done);
      left += redacted_mark;
      done = begin + static_cast<std::size_t>(found[meant].size());
    }
    from = std::max(end, from + 1);
  }
  left += text.substr(done);
  return left;
}

}  // namespace

struct RunRedactor::Rules {
  bool common = true;
  std::vector<Pattern> patterns{};
};

std::vector<std::string> secrets_of_environment() {
  const auto common = common_secrets();
  std::vector<std::string> found;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable = *one;
    const std::size_t equals = std::min(variable.find('='), variable.size());
    const std::string_view value = trimmed(variable.substr(std::min(equals + 1, variable.size())));
    if (value.size() < least_known || is_path(value)) continue;
    if (common->names_secret(variable.substr(0, equals))) found.emplace_back(value);
  }
  return found;
}

RunRedactor::RunRedactor(std::vector<std::string> known)
    : common_(common_secrets({.known = std::move(known)})),
      rules_(std::make_shared<const Rules>()) {}
RunRedactor::~RunRedactor() = default;

Result<void> RunRedactor::set(const RunSpec& spec) {
  auto rules = std::make_shared<Rules>();
  rules->common = spec.redact != "none";
  for (const std::string& pattern : spec.redact_patterns) {
    auto compiled = compile(pattern);
    if (!compiled) return compiled.error();
    rules->patterns.push_back(std::move(compiled).value());
  }
  const std::scoped_lock lock(mutex_);
  rules_ = std::move(rules);
  return outcome::success();
}

std::shared_ptr<const RunRedactor::Rules> RunRedactor::rules() const {
  const std::scoped_lock lock(mutex_);
  return rules_;
}

std::string RunRedactor::text(std::string_view text) const {
  const auto now = rules();
  std::string left = now->common ? common_->text(text) : std::string(text);
  for (const Pattern& pattern : now->patterns) left = without_matches(left, *pattern);
  return left;
}

bool RunRedactor::names_secret(std::string_view name) const {
  return rules()->common && common_->names_secret(name);
}

std::vector<std::string> without_secrets(const std::vector<std::string>& command,
                                         const Redactor& redactor) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    std::string left = redactor.text(word);
    if (left == word && i > 0 && command[i - 1].starts_with('-')) {
      // Two words may form a secret together: "--token X", "curl -u NAME:PASSWORD".
      const std::string before = command.front() + " " + command[i - 1] + " ";
      const std::string both = redactor.text(before + word);
      if (both != before + word) {
        left = both.starts_with(before) ? both.substr(before.size()) : std::string(redacted_mark);
      }
    }
    shown.push_back(std::move(left));
  }
  return shown;
}

std::shared_ptr<const Redactor> redactor_of(const Json& task) {
  const auto spec = spec_from_json(task);
  if (!spec) return nullptr;
  auto redactor = std::make_shared<RunRedactor>();
  static_cast<void>(redactor->set(spec.value()));  // An invalid pattern removes nothing.
  return redactor;
}

Json without_secrets(Json task, const std::shared_ptr<const Redactor>& redactor) {
  if (redactor == nullptr) return task;
  const bool words = task.is_object() && task.contains("command") && task["command"].is_array();
  std::vector<std::string> command;
  if (words) {
    for (const Json& word : task["command"]) {
      if (word.is_string()) command.push_back(word.get<std::string>());
    }
    task["command"] = without_secrets(command, *redactor);
  }
  redact(task, *redactor);
  return task;
}

}  // namespace triage::inline v0_1::supervise
