// SPDX-License-Identifier: MIT
#include "stored_keys.hpp"
#include "compatible.hpp"
#include "definition/halt.hpp"
#include "finished.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {
namespace {

bool is_text(const Json& value) { return value.is_string(); }
bool is_whole(const Json& value) { return value.is_number_integer(); }
bool is_object(const Json& value) { return value.is_object(); }

// Whether it is missing, or passes.
bool optional(const Json& object, const char* key, bool (*passes)(const Json&)) {
  const auto found = object.find(key);
  return found == object.end() || passes(*found);
}

bool is_request(const Json& value) {
  return value.is_object() && optional(value, "executor", is_text) &&
         optional(value, "port", is_text) && optional(value, "type", is_text) &&
         optional(value, "branch", is_text) && optional(value, "anew", is_text) &&
         optional(value, "expires_ms", is_whole);
}
bool is_answer(const Json& value) {
  return value.is_null() ||
         (value.is_object() && (value.contains("value") || value.contains("expired")));
}
bool is_migrated(const Json& value) {
  return value.is_null() ||
         (value.is_object() && value.contains("after") && value["after"].is_number_integer() &&
          value.contains("state") && value["state"].is_object() && value.contains("saved"));
}
bool is_stopped(const Json& value) {
  return value.is_null() ||
         (value.is_object() && optional(value, "how", is_text) && optional(value, "why", is_text));
}
bool is_edits(const Json& value) {
  return value.is_object() && optional(value, "effects", is_text) &&
         optional(value, "inputs", is_object) && optional(value, "state", is_object);
}
bool is_resources(const Json& value) {
  return value.is_null() ||
         (value.is_object() && std::all_of(value.begin(), value.end(), [](const Json& one) {
            return one.is_object() && optional(one, "digest", is_text) &&
                   optional(one, "kind", is_text);
          }));
}
bool is_parts(const Json& value) {
  return value.is_null() || (value.is_object() && std::all_of(value.begin(), value.end(), is_text));
}
bool is_rollbacks(const Json& value) {
  return value.is_object() && optional(value, "run", is_text) && optional(value, "count", is_whole);
}
bool is_joins(const Json& value) {
  const auto names = [](const Json& list) {
    return list.is_array() && std::all_of(list.begin(), list.end(), is_text);
  };
  return value.is_null() ||
         (value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& one) {
            return one.is_object() && optional(one, "executor", is_text) &&
                   optional(one, "from", names) && optional(one, "waits_for", names);
          }));
}
bool is_name(const Json& value) { return value.is_null() || value.is_string(); }
bool is_flag(const Json& value) { return value.is_null() || value.is_boolean(); }
bool is_number(const Json& value) { return value.is_null() || value.is_number_integer(); }

struct LibraryKey {
  std::string_view name{};
  bool begins = false;  // The name is the beginning of a group's.
  bool (*passes)(const Json&) = nullptr;
  std::string_view allowed{};
};

constexpr LibraryKey library_keys[] = {
    {request_prefix, true, is_request, "an object with \"executor\", \"port\" and \"type\""},
    {answer_prefix, true, is_answer, "an object with \"value\" or \"expired\""},
    {migrated_prefix, true, is_migrated, "an object with \"after\", \"saved\" and \"state\""},
    {withheld_prefix, true, is_number, "an occurrence"},
    {stopped_key, false, is_stopped, "an object with the texts \"how\" and \"why\""},
    {joins_key, false, is_joins, "a list of objects with \"executor\", \"from\" and \"waits_for\""},
    {edits_key, false, is_edits, "an object with \"effects\", \"inputs\" and \"state\""},
    {resources_key, false, is_resources, "an object of objects with \"kind\" and \"digest\""},
    {parts_key, false, is_parts, "an object of texts"},
    {timeline_key, false, is_name, "a text"},
    {root_key, false, is_name, "a text"},
    {retried_key, false, is_flag, "true"},
    {rolled_back_key, false, is_number, "a number of an attempt"},
    {rollbacks_key, false, is_rollbacks, "an object with \"run\" and \"count\""},
};

}  // namespace

Result<void> check_library_keys(const State& state) {
  if (state.empty()) return outcome::success();
  const State::Values& values = *state.values();
  for (const LibraryKey& known : library_keys) {
    for (auto one = values.lower_bound(known.name); one != values.end(); ++one) {
      const bool of_it =
          known.begins ? one->first.rfind(known.name, 0) == 0 : one->first == known.name;
      if (!of_it) break;
      if (known.passes(*one->second)) continue;
      return damaged_key(one->first, "it is " + show(*one->second).substr(0, 100) +
                                         "; allowed is " + std::string(known.allowed));
    }
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::workflow::detail
