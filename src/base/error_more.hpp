// SPDX-License-Identifier: MIT
#pragma once
// Rarely used parts of an error, kept separately so that a Result stays small.

#include "triage/failure.hpp"
#include "triage/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace triage::inline v0_1::detail {

struct ErrorMore {
  ErrorMore() = default;
  explicit ErrorMore(std::shared_ptr<const Suspension> waits) : suspension(std::move(waits)) {}
  explicit ErrorMore(Failure&& failure) noexcept : reported(std::move(failure)), is_report(true) {}

  std::shared_ptr<const Suspension> suspension{};
  Failure reported{};
  bool is_report = false;         // `reported` is set.
  bool finished = false;          // The run succeeded, but its end could not be stored …
  std::shared_ptr<void> value{};  // … with this value,
  const std::type_info* value_type = nullptr;  // … of this type.
  std::string advice{};
  std::string reason{};
  std::string doubted_effect{};
};

// Adds to an error; all else that it holds stays.
struct ErrorFacts {
  static void advise(Error& error, std::string advice);
  static void because(Error& error, std::string reason);
  static void doubt(Error& error, std::string key);
  static void failed(Error& error, std::shared_ptr<const FailureContext> failure) noexcept;
  // A copy for observers: all texts as `change` makes them, and without what is for the caller
  // alone, which is the token of a suspended run and what its agent returned or reported.
  [[nodiscard]] static Error told(const Error& error, std::shared_ptr<const FailureContext> failure,
                                  const std::function<std::string(std::string_view)>& change);
};

// The failure that a callable reports by returning this error: the one passed to Attempt::fail,
// with the error's text; otherwise made from the text and the code.
[[nodiscard]] std::shared_ptr<const Failure> reported_by(Error&& error);

}  // namespace triage::inline v0_1::detail
