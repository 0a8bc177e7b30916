// SPDX-License-Identifier: MIT
#pragma once
// A user's store may throw although its interface returns errors; inside the core it only returns.

#include "triage/result.hpp"

#include <exception>
#include <string>
#include <type_traits>

namespace triage::inline v0_1::detail {

// What is being thrown, in words. Only inside a catch block.
[[nodiscard]] inline std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
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
