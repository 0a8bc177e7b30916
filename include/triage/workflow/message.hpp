// SPDX-License-Identifier: MIT
#pragma once
// What a workflow's executors send each other: a value with the name of its type.

#include "triage/json.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
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

// Whether it has from_json, or to_json. Told in time, else the errors are those of its JSON
// library.
template <class T>
inline constexpr bool reads_json = requires(const Json& json) {
  { json.template get<T>() } -> std::convertible_to<T>;
};
template <class T>
inline constexpr bool writes_json = requires(const T& value) {
  Json(value);
};

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

namespace detail {

// Throw std::invalid_argument in words for people.
[[noreturn]] void no_number(const Json& json, const std::string& allowed);
[[noreturn]] void not_converted(const std::string& what, const std::string& why);

// Like get<T>(), which would cut 1.5 to 1, take true for 1, and wrap what is too large. Throws
// std::exception.
template <class T>
[[nodiscard]] T exactly(const Json& json) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    using Limits = std::numeric_limits<T>;
    const auto fits = [](std::int64_t whole) {
      return whole < 0
                 ? std::signed_integral<T> && whole >= static_cast<std::int64_t>(Limits::min())
                 : static_cast<std::uint64_t>(whole) <= static_cast<std::uint64_t>(Limits::max());
    };
    if (json.is_number_unsigned()) {
      const auto whole = json.template get<std::uint64_t>();
      if (whole <= static_cast<std::uint64_t>(Limits::max())) return static_cast<T>(whole);
    } else if (json.is_number_integer()) {
      const auto whole = json.template get<std::int64_t>();
      if (fits(whole)) return static_cast<T>(whole);
    } else if (json.is_number_float()) {
      constexpr double exact = 9'007'199'254'740'992.0;  // Whole numbers below it are themselves.
      const auto number = json.template get<double>();
      const bool whole = std::abs(number) < exact && std::trunc(number) == number;
      if (whole && fits(static_cast<std::int64_t>(number))) return static_cast<T>(number);
    }
    no_number(json, "a whole number from " + std::to_string(Limits::min()) + " to " +
                        std::to_string(Limits::max()));
  } else if constexpr (std::floating_point<T>) {
    if (!json.is_number()) no_number(json, "a number");
    return json.template get<T>();
  } else if constexpr (reads_json<T>) {
    return json.template get<T>();
  } else {
    static_assert(reads_json<T>,
                  "triage: a message travels as JSON: give its type to_json and from_json");
    not_converted({}, {});  // Avoids follow-up diagnostics.
  }
}

// The same, of what is called `what` in the exception's text.
template <class T>
[[nodiscard]] T exactly(const Json& json, const std::string& what) {
  try {
    return exactly<T>(json);
  } catch (const std::exception& e) {
    not_converted(what, e.what());
  }
}
[[nodiscard]] std::string named(const char* kind, std::string_view name);  // `input "topic"`

}  // namespace detail

template <class T>
[[nodiscard]] Message make_message(const T& value) {
  if constexpr (detail::writes_json<T>) {
    return {type_name<std::decay_t<T>>(), std::make_shared<const Json>(Json(value))};
  } else {
    static_assert(detail::writes_json<T>,
                  "triage: a message travels as JSON: give its type to_json and from_json");
    return {};  // Avoids follow-up diagnostics.
  }
}

}  // namespace triage::inline v0_1::workflow
