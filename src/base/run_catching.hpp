// SPDX-License-Identifier: MIT
#pragma once
// Turns exceptions of a user's code into errors and texts.

#include "triage/result.hpp"

#include <exception>
#include <string>
#include <system_error>
#include <type_traits>

namespace triage::inline v0_1::detail {

// A text may be missing.
[[nodiscard]] inline std::string what_of(const std::exception& exception) {
  const char* text = exception.what();
  return text != nullptr ? text : "an exception without a text";
}

// A category of the user's own may throw.
[[nodiscard]] inline std::string message_of(const std::error_code& code) {
  try {
    return code.message();
  } catch (...) {
    return "an error code whose message() threw";
  }
}

// Describes the exception in flight. Only inside a catch block.
[[nodiscard]] inline std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    return what_of(e);
  } catch (const Error& error) {
    return error.message();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text != nullptr ? text : "an exception without a text";
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// Calls the store, which should return its errors but may throw; an exception becomes Errc::io.
template <class Call>
[[nodiscard]] std::invoke_result_t<Call&> run_catching(Call&& call) {
  try {
    return call();
  } catch (...) {
    return Error{Errc::io, "the store threw: " + current_exception_text()};
  }
}

}  // namespace triage::inline v0_1::detail
