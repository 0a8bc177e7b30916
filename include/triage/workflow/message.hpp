// SPDX-License-Identifier: MIT
#pragma once
// What a workflow's executors send each other: a value with the name of its type.

#include "triage/json.hpp"

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

// A message as edges and stores see it. A value; copies share the JSON.
struct Message {
  std::string type{};                   // See type_name().
  std::shared_ptr<const Json> value{};  // Never null once delivered.

  [[nodiscard]] const Json& json() const { return *value; }
};

namespace detail {

template <class T>
constexpr std::string_view spelled() {
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  const std::size_t from = all.find("T = ") + 4;
  const std::size_t to = all.find_first_of(";]", from);
  return all.substr(from, to - from);
}
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace detail

// The name under which messages of type T are stored and matched with handlers: "string",
// "boolean", "integer", "number", "list" (any std::vector), "json"; else T::message_type if
// declared; else the C++ name. Declare a message_type in types that may be renamed.
template <class T>
[[nodiscard]] std::string type_name() {
  if constexpr (std::same_as<T, Json>) {
    return "json";
  } else if constexpr (requires { std::string(T::message_type); }) {
    return std::string(T::message_type);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return "string";
  } else if constexpr (std::same_as<T, bool>) {
    return "boolean";
  } else if constexpr (std::integral<T>) {
    return "integer";
  } else if constexpr (std::floating_point<T>) {
    return "number";
  } else if constexpr (detail::IsVector<T>::value) {
    return "list";
  } else {
    return std::string(detail::spelled<T>());
  }
}

template <class T>
[[nodiscard]] Message make_message(const T& value) {
  return {type_name<std::decay_t<T>>(), std::make_shared<const Json>(Json(value))};
}

}  // namespace triage::inline v0_1::workflow
