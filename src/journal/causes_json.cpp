// SPDX-License-Identifier: MIT
#include "journal/causes_json.hpp"

#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_kept = 4;
constexpr std::size_t longest_text = 4'000;

}  // namespace

Json causes_json(const std::vector<Cause>& causes) {
  Json all = Json::array();
  for (std::size_t i = causes.size() - std::min(causes.size(), most_kept); i < causes.size(); ++i) {
    const Cause& cause = causes[i];
    if (cause.exception_type.empty() && cause.text.empty()) continue;
    all.push_back(
        {{"exception_type", cause.exception_type}, {"text", cause.text.substr(0, longest_text)}});
  }
  return all;
}

std::vector<Cause> parse_causes(const Json& json) {
  std::vector<Cause> causes;
  if (!json.is_array()) return causes;
  for (const Json& one : json) {
    if (!one.is_object()) continue;
    Cause cause{.exception_type = text_field(one, "exception_type"),
                .text = text_field(one, "text")};
    if (!cause.exception_type.empty() || !cause.text.empty()) causes.push_back(std::move(cause));
  }
  if (causes.size() > most_kept) causes.erase(causes.begin(), causes.end() - most_kept);
  return causes;
}

}  // namespace triage::inline v0_1::detail
