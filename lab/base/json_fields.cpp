// SPDX-License-Identifier: MIT
#include "lab/base/json_fields.hpp"

#include "triage/detail/nearest.hpp"
#include "triage/detail/problems.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

bool is_yes_or_no(const Json& json) { return json.is_boolean(); }
bool is_text(const Json& json) { return json.is_string(); }
bool is_number(const Json& json) { return json.is_number(); }
bool is_count(const Json& json) {
  return json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
}
bool is_texts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), is_text);
}
bool is_counts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), is_count);
}
bool is_duration(const Json& json) { return json.is_string() || json.is_number(); }

std::string range_text(std::uint64_t least, std::uint64_t most) {
  const std::string from = std::to_string(least);
  return most == JsonFields::no_limit ? from + " or more" : from + " to " + std::to_string(most);
}

}  // namespace

std::string shown(const Json& value) {
  constexpr std::size_t longest = 80;
  std::string text = show(value);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return printable(text);
}

bool set_at(Json& object, std::string_view path, const Json& value) {
  Json* place = &object;
  for (bool last = false; !last;) {
    if (place->is_null()) *place = Json::object();
    if (!place->is_object()) return false;
    const std::size_t dot = std::min(path.find('.'), path.size());
    last = dot == path.size();
    place = &(*place)[std::string(path.substr(0, dot))];
    path.remove_prefix(last ? dot : dot + 1);
  }
  *place = value;
  return true;
}

JsonFields::JsonFields(const Json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object.is_object()) refuse({}, " is " + shown(object) + "; it must be an object");
}

const Json* JsonFields::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(std::string(key));
  return found == object_.end() ? nullptr : &*found;
}

const Json* JsonFields::typed(std::string_view key, bool (*fits)(const Json&),
                              std::string_view wanted) {
  const Json* found = find(key);
  if (found == nullptr || fits(*found)) return found;
  refuse(key, " is " + shown(*found) + "; allowed is " + std::string(wanted));
  return nullptr;
}

void JsonFields::read(std::string_view key, std::string& value) {
  if (const Json* found = typed(key, is_text, "a text")) value = found->get<std::string>();
}

void JsonFields::read(std::string_view key, double& value) {
  if (const Json* found = typed(key, is_number, "a number")) value = found->get<double>();
}

void JsonFields::read(std::string_view key, std::uint64_t& value, std::uint64_t least,
                      std::uint64_t most) {
  const std::string range = range_text(least, most);
  const Json* found = typed(key, is_count, "a whole number, " + range);
  if (found == nullptr) return;
  value = found->get<std::uint64_t>();
  if (value < least || value > most) refuse(key, " is " + show(*found) + "; allowed is " + range);
}

void JsonFields::read(std::string_view key, std::vector<std::string>& value) {
  if (const Json* found = typed(key, is_texts, "a list of texts")) {
    value = found->get<std::vector<std::string>>();
  }
}

void JsonFields::read(std::string_view key, std::vector<std::uint64_t>& value) {
  if (const Json* found = typed(key, is_counts, "a list of whole numbers, 1 or more")) {
    value = found->get<std::vector<std::uint64_t>>();
  }
}

void JsonFields::read(std::string_view key, bool& value) {
  if (const Json* found = typed(key, is_yes_or_no, "true or false")) value = found->get<bool>();
}

void JsonFields::read(std::string_view key, Duration& value) {
  const Json* found = typed(key, is_duration, "a duration such as \"2s\", or a number of seconds");
  if (found == nullptr) return;
  bool negative = false;
  Result<Duration> parsed = outcome::success(Duration(0));
  if (found->is_string()) {
    const auto text = found->get<std::string>();
    negative = text.starts_with('-');
    parsed = parse_duration(std::string_view(text).substr(negative ? 1 : 0));
  } else {
    const double seconds = found->get<double>();
    negative = seconds < 0;
    parsed = duration_from_seconds(std::abs(seconds));
  }
  if (!parsed) return refuse(key, ": " + parsed.error().detail);
  value = negative ? -parsed.value() : parsed.value();
}

void JsonFields::refuse(std::string_view key, const std::string& what) {
  if (!object_.is_object() && !problems_.empty()) return;
  constexpr std::size_t most_refused = 50;
  if (std::find(refused_.begin(), refused_.end(), key) != refused_.end()) return;
  if (refused_.size() == most_refused) {
    ++others_;
    return;
  }
  refused_.emplace_back(key);
  const std::string where = key.empty() ? path_ : path_ + "." + std::string(key);
  add({Errc::invalid_argument, (where.empty() ? "the document" : where) + what});
}

void JsonFields::add(const Error& error) { triage::detail::add_problems(problems_, error.detail); }

void JsonFields::refuse_name(std::string_view key, std::string_view name,
                             const std::vector<std::string>& allowed) {
  refuse(key, " is \"" + printable(name) + "\"" + triage::detail::allowed_names(name, allowed));
}

Result<void> JsonFields::finish() {
  if (object_.is_object()) {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      refuse(key, " is not known" + triage::detail::allowed_names(key, asked_));
    }
  }
  if (others_ > 0) triage::detail::add_problems(problems_, triage::detail::left_out_line(others_));
  if (!problems_.empty()) return Error{Errc::invalid_argument, problems_};
  return outcome::success();
}

}  // namespace triage::inline v0_1::lab::detail
