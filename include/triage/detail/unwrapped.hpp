// SPDX-License-Identifier: MIT
#pragma once
// What is known of a user's function: the value it returns, alone or in a Result, and whether it is
// null. Not public API.

#include "triage/result.hpp"

namespace triage::inline v0_1::detail {

template <class R>
struct Unwrapped {
  using type = R;
  static constexpr bool is_result = false;
};
template <class T>
struct Unwrapped<Result<T>> {
  using type = T;
  static constexpr bool is_result = true;
};

template <class F>
[[nodiscard]] bool is_null_function(const F& function) {
  if constexpr (requires { function == nullptr; }) {
    return function == nullptr;
  } else {
    return false;
  }
}

}  // namespace triage::inline v0_1::detail
