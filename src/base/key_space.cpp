// SPDX-License-Identifier: MIT
#include "triage/key_space.hpp"

#include "triage/detail/reserved.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace triage::inline v0_1 {
namespace {

// In an array of our own, so that no other string in the process can share a name's address.
constexpr std::size_t longest_name = 24;
using Name = std::array<char, longest_name>;
constexpr std::array<Name, 6> names = {{{"triage/suspensions"},
                                        {"triage/signals"},
                                        {"triage/forks"},
                                        {"triage/breakers"},
                                        {"triage/limiters"},
                                        {"triage/retry_budgets"}}};

}  // namespace

std::string_view detail::own_space(OwnSpace space) noexcept {
  return names.at(static_cast<std::size_t>(space)).data();
}

Result<void> check_space(std::string_view space) {
  const bool known = std::any_of(names.begin(), names.end(), [&](const Name& name) {
    return std::equal_to<>()(space.data(), name.data()) && space == name.data();
  });
  if (known || !detail::is_reserved(space)) return outcome::success();
  return Error{Errc::invalid_argument, "space \"" + printable(space) +
                                           "\" is the library's own; choose a name that does not "
                                           "begin with \"triage/\""};
}

}  // namespace triage::inline v0_1
