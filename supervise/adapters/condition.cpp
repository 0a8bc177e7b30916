// SPDX-License-Identifier: MIT
#include "supervise/adapters/condition.hpp"

#include <algorithm>
#include <charconv>

namespace triage::inline v0_1::supervise {

Path parse_path(std::string_view text) {
  Path path;
  while (!text.empty()) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    path.emplace_back(text.substr(0, dot));
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return path;
}

const Json* find(const Json& value, const Path& path) {
  const Json* at = &value;
  for (const std::string& key : path) {
    if (at->is_object()) {
      const auto found = at->find(key);
      if (found == at->end()) return nullptr;
      at = &*found;
    } else if (at->is_array()) {
      std::size_t index = 0;
      const auto read = std::from_chars(key.data(), key.data() + key.size(), index);
      if (read.ptr != key.data() + key.size() || index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

namespace {

bool contains_one(const Json& value, const std::vector<Json>& parts) {
  if (value.is_array()) {
    return std::any_of(value.begin(), value.end(), [&parts](const Json& element) {
      return element.is_string() && contains_one(element, parts);
    });
  }
  return value.is_string() && std::any_of(parts.begin(), parts.end(), [&value](const Json& part) {
           return part.is_string() && value.get_ref<const std::string&>().find(
                                          part.get_ref<const std::string&>()) != std::string::npos;
         });
}

}  // namespace

bool holds(const Condition& condition, const Json& value) {
  const Json* found = find(value, condition.path);
  const bool there = found != nullptr && !found->is_null();
  const auto is_named = [&] {
    return there && std::find(condition.values.begin(), condition.values.end(), *found) !=
                        condition.values.end();
  };
  switch (condition.kind) {
    case Condition::Kind::one_of: return is_named();
    case Condition::Kind::none_of: return !is_named();
    case Condition::Kind::has: return there && contains_one(*found, condition.values);
    case Condition::Kind::present: return there;
    case Condition::Kind::absent: return !there;
  }
  return false;
}

bool all_hold(const std::vector<Condition>& conditions, const Json& value) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&value](const Condition& one) { return holds(one, value); });
}

}  // namespace triage::inline v0_1::supervise
