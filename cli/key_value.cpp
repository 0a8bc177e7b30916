// SPDX-License-Identifier: MIT
#include "key_value.hpp"

#include <utility>

namespace triage::inline v0_1::cli {

Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

Result<Json> object_of(const std::vector<std::string>& pairs) {
  Json object = Json::object();
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{Errc::invalid_argument,
                   "\"" + printable(pair) + "\" is not of the form KEY=VALUE"};
    }
    object[pair.substr(0, equals)] = value_of(pair.substr(equals + 1));
  }
  return outcome::success(std::move(object));
}

}  // namespace triage::inline v0_1::cli
