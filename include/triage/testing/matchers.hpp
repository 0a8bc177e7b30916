// SPDX-License-Identifier: MIT
#pragma once
// Matchers for CHECK_THAT and REQUIRE_THAT of Catch2, version 2 or 3. They do not depend on Catch2,
// so they cannot be joined with && or negated with !.
//   CHECK_THAT(agent.run("task"), FailsWith(Errc::escalated, FailureType::timeout));

#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/result.hpp"
#include "triage/testing/golden.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace triage::inline v0_1::testing {

namespace detail {
// The problem found becomes part of the failing check's output.
inline std::string found_text(const std::string& wanted, const std::string& found) {
  return found.empty() ? wanted : wanted + "\n  but " + found;
}
inline std::string error_text(const Error& error) {
  std::string text = "it is " + std::string(to_string(error.code));
  if (error.failure()) text += " (" + std::string(to_string(error.failure()->type())) + ")";
  return text + ": " + printable(error.detail);
}
}  // namespace detail

// A Result that has a value.
class Succeeds {
 public:
  template <class T>
  bool match(const Result<T>& result) const {
    if (!result) found_ = detail::error_text(result.error());
    return result.has_value();
  }
  [[nodiscard]] std::string toString() const { return detail::found_text("succeeds", found_); }

 private:
  mutable std::string found_{};
};

// A Result with this error and, if given, a failure of this type.
class FailsWith {
 public:
  explicit FailsWith(Errc code, std::optional<FailureType> type = {}) : code_(code), type_(type) {}
  template <class T>
  bool match(const Result<T>& result) const {
    if (result) {
      found_ = "it succeeds";
      return false;
    }
    const Error& error = result.error();
    const bool fits =
        error.code == code_ && (!type_ || (error.failure() && error.failure()->type() == *type_));
    if (!fits) found_ = detail::error_text(error);
    return fits;
  }
  [[nodiscard]] std::string toString() const {
    std::string wanted = "fails with " + std::string(to_string(code_));
    if (type_) wanted += " (" + std::string(to_string(*type_)) + ")";
    return detail::found_text(wanted, found_);
  }

 private:
  Errc code_;
  std::optional<FailureType> type_;
  mutable std::string found_{};
};

// A FailurePolicy that decides on this action for a context.
class Decides {
 public:
  Decides(FailureContext context, RecoveryAction::Kind action)
      : context_(std::move(context)), action_(action) {}
  bool match(const FailurePolicy& policy) const {
    const RecoveryAction decided = policy.decide(context_);
    if (decided.kind != action_) found_ = "it decides to " + describe(decided);
    return decided.kind == action_;
  }
  [[nodiscard]] std::string toString() const {
    return detail::found_text("decides to " + std::string(to_string(action_)) + " on " +
                                  std::string(to_string(context_.type())),
                              found_);
  }

 private:
  FailureContext context_;
  RecoveryAction::Kind action_;
  mutable std::string found_{};
};

// A text equal to a golden file's: see compare_golden.
class MatchesGolden {
 public:
  explicit MatchesGolden(std::filesystem::path file) : file_(std::move(file)) {}
  bool match(const std::string& text) const {
    found_ = compare_golden(file_, text);
    return found_.empty();
  }
  [[nodiscard]] std::string toString() const {
    return detail::found_text("is the text of " + file_.string(), found_);
  }

 private:
  std::filesystem::path file_;
  mutable std::string found_{};
};

}  // namespace triage::inline v0_1::testing
