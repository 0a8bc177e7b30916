// SPDX-License-Identifier: MIT
#pragma once
// Assertions on results that print the error instead of "false".

#include "support/catch.hpp"
#include "triage/result.hpp"

namespace triage::test {

template <class T>
std::string explain(const Result<T>& result) {
  if (result.has_value()) return "ok";
  return std::string(to_string(result.error().code)) + ": " + result.error().detail;
}

}  // namespace triage::test

#define REQUIRE_OK(...)                                                       \
  do {                                                                        \
    const auto& require_ok_result = (__VA_ARGS__);                            \
    INFO(#__VA_ARGS__ << " is " << triage::test::explain(require_ok_result)); \
    REQUIRE(require_ok_result.has_value());                                   \
  } while (false)

#define CHECK_ERRC(expected, ...)                                             \
  do {                                                                        \
    const auto& check_errc_result = (__VA_ARGS__);                            \
    INFO(#__VA_ARGS__ << " is " << triage::test::explain(check_errc_result)); \
    REQUIRE(check_errc_result.has_error());                                   \
    CHECK(check_errc_result.error().code == (expected));                      \
  } while (false)
