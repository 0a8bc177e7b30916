// SPDX-License-Identifier: MIT
#include "key_value.hpp"

#include "supervise/protocol/protocol_records.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::cli {

Result<Json> value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return Json(text);
  const std::string_view number = supervise::integer_beyond_64_bits(text);
  if (!number.empty()) return supervise::too_large(number);
  return value;
}

Result<Json> object_of(std::string_view option, const std::vector<std::string>& pairs) {
  Json object = Json::object();
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{Errc::invalid_argument,
                   "\"" + printable(pair) + "\" is not of the form KEY=VALUE"};
    }
    const std::string key = pair.substr(0, equals);
    if (object.contains(key)) {
      return Error{Errc::invalid_argument, std::string(option) + " has \"" + printable(key) +
                                               "\" twice; allowed is each once"};
    }
    TRIAGE_TRY(value, value_of(pair.substr(equals + 1)));
    object[key] = std::move(value);
  }
  return outcome::success(std::move(object));
}

std::vector<std::string> pairs_of(const Json& object) {
  std::vector<std::string> pairs;
  if (!object.is_object()) return pairs;
  for (const auto& [key, value] : object.items()) pairs.push_back(key + "=" + show(value));
  return pairs;
}

}  // namespace triage::inline v0_1::cli
