// SPDX-License-Identifier: MIT
#include "triage/reference_store.hpp"

#include <algorithm>
#include <cmath>

namespace triage::inline v0_1::detail {

Result<Json> parse_reference(const std::string& id, const char* what, std::string_view text) {
  const auto corrupt = [&](const std::string& why) {
    return Error{Errc::corrupt,
                 std::string("the ") + what + " of checkpoint \"" + printable(id) + "\" " + why};
  };
  Json value = Json::parse(text, nullptr, false);
  // Python also writes NaN and Infinity, and halves of characters.
  if (value.is_discarded()) return corrupt("is not JSON: it is cut off, or holds NaN or Infinity");
  if (const auto kept = check_json(value, "it"); !kept) return corrupt(kept.error().detail);
  return outcome::success(std::move(value));
}

Result<void> check_reference(const ReferenceCheckpoint& checkpoint) {
  const Json& steps = checkpoint.trajectory;
  const bool fits =
      checkpoint.state.is_object() && steps.is_array() && std::isfinite(checkpoint.timestamp) &&
      std::all_of(steps.begin(), steps.end(), [](const Json& step) { return step.is_object(); });
  if (fits) return outcome::success();
  return Error{Errc::corrupt, "checkpoint \"" + printable(checkpoint.id) +
                                  "\" has another shape than a time, a state that is an object, "
                                  "and a trajectory of objects"};
}

bool same_reference(const ReferenceCheckpoint& one, const ReferenceCheckpoint& other) {
  return one.id == other.id && one.timestamp == other.timestamp && one.run == other.run &&
         reference_text(one.state) == reference_text(other.state) &&
         reference_text(one.trajectory) == reference_text(other.trajectory);
}

std::string reference_text(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace triage::inline v0_1::detail
