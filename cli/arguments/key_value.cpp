// SPDX-License-Identifier: MIT
#include "key_value.hpp"

#include "exact_json.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::cli {
namespace {

// JSON holds no other texts.
bool is_utf8(const std::string& text) { return Json::parse(show(Json(text))) == text; }

}  // namespace

Result<Json> value_of(const std::string& text) {
  TRIAGE_TRY(value, exact_json(text));
  return value ? *std::move(value) : Json(text);
}

Result<Json> object_of(std::string_view option, const std::vector<std::string>& pairs) {
  Json object = Json::object();
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{Errc::invalid_argument,
                   "\"" + printable(pair) + "\" is not of the form KEY=VALUE"};
    }
    if (!is_utf8(pair)) {
      return Error{Errc::invalid_argument,
                   "\"" + printable(pair) + "\" is not UTF-8, and would be kept as another text"};
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
