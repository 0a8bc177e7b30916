// SPDX-License-Identifier: MIT
#pragma once
// Turns exceptions of a user's store into errors: its interface returns errors, but it may throw.

#include "triage/result.hpp"

#include <exception>
#include <string>
#include <type_traits>

namespace triage::inline v0_1::detail {

// A text may be missing.
[[nodiscard]] inline std::string what_of(const std::exception& exception) {
  const char* text = exception.what();
  return text != nullptr ? text : "an exception without a text";
}

// Describes the exception in flight. Only inside a catch block.
[[nodiscard]] inline std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    return what_of(e);
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// Calls the store; an exception becomes Errc::io.
template <class Call>
[[nodiscard]] std::invoke_result_t<Call&> run_catching(Call&& call) {
  try {
    return call();
  } catch (...) {
    return Error{Errc::io, "the store threw: " + current_exception_text()};
  }
}

}  // namespace triage::inline v0_1::detail
