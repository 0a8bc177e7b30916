// SPDX-License-Identifier: MIT
#pragma once
// What few errors carry, apart from them so that a Result stays small.

#include "triage/failure.hpp"
#include "triage/result.hpp"

#include <memory>
#include <typeinfo>
#include <utility>

namespace triage::inline v0_1::detail {

struct ErrorMore {
  ErrorMore() = default;
  explicit ErrorMore(std::shared_ptr<const Suspension> waits) : suspension(std::move(waits)) {}
  explicit ErrorMore(Failure&& failure) noexcept : reported(std::move(failure)), is_report(true) {}

  std::shared_ptr<const Suspension> suspension{};
  Failure reported{};
  bool is_report = false;         // `reported` is what the error reports.
  bool finished = false;          // The run came to a good end that could not be stored …
  std::shared_ptr<void> value{};  // … with this value,
  const std::type_info* value_type = nullptr;  // which is one of these.
};

// The failure that a callable reports by returning this error: what Attempt::fail was given, under
// the error's text, else the text and the code.
[[nodiscard]] std::shared_ptr<const Failure> reported_by(Error&& error);

}  // namespace triage::inline v0_1::detail
