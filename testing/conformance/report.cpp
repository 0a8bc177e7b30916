// SPDX-License-Identifier: MIT
// The conformance kit's results as text and as JSON.
#include "triage/testing/conformance.hpp"

#include <algorithm>
#include <map>

namespace triage::inline v0_1::testing {

std::string_view to_string(ClauseOutcome outcome) noexcept {
  switch (outcome) {
    case ClauseOutcome::passed: return "passed";
    case ClauseOutcome::failed: return "failed";
    case ClauseOutcome::not_required: return "not_required";
  }
  return "unknown";
}

std::string_view to_string(ConformanceLevel level) noexcept {
  switch (level) {
    case ConformanceLevel::none: return "NONE";
    case ConformanceLevel::base: return "BASE";
    case ConformanceLevel::full: return "FULL";
  }
  return "unknown";
}

std::size_t ConformanceReport::count(ClauseOutcome outcome) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(clauses.begin(), clauses.end(),
                    [&](const ClauseResult& clause) { return clause.outcome == outcome; }));
}

bool ConformanceReport::passed() const noexcept { return level() == ConformanceLevel::full; }

ConformanceLevel ConformanceReport::level() const noexcept {
  if (count(ClauseOutcome::passed) == 0) return ConformanceLevel::none;
  if (count(ClauseOutcome::failed) == 0) return ConformanceLevel::full;
  const bool sound = std::none_of(clauses.begin(), clauses.end(), [](const ClauseResult& clause) {
    const bool basic =
        clause.group == ClauseGroup::functional || clause.group == ClauseGroup::ordering ||
        clause.group == ClauseGroup::isolation || clause.group == ClauseGroup::ownership;
    return basic && clause.outcome == ClauseOutcome::failed;
  });
  return sound ? ConformanceLevel::base : ConformanceLevel::none;
}

std::string ConformanceReport::text(bool everything) const {
  struct Counts {
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t not_required = 0;
  };
  std::map<ClauseGroup, Counts> groups;
  for (const ClauseResult& clause : clauses) {
    Counts& counts = groups[clause.group];
    if (clause.outcome == ClauseOutcome::passed) ++counts.passed;
    if (clause.outcome == ClauseOutcome::failed) ++counts.failed;
    if (clause.outcome == ClauseOutcome::not_required) ++counts.not_required;
  }
  std::string out = store + ": " + std::string(to_string(level())) + ", durability " +
                    std::string(to_string(capabilities.durability)) + ", " +
                    std::to_string(count(ClauseOutcome::passed)) + " passed, " +
                    std::to_string(count(ClauseOutcome::failed)) + " failed, " +
                    std::to_string(count(ClauseOutcome::not_required)) + " not required\n";
  for (const auto& [group, counts] : groups) {
    out += "  " + std::string(to_string(group)) + ": " + std::to_string(counts.passed) +
           " passed, " + std::to_string(counts.failed) + " failed, " +
           std::to_string(counts.not_required) + " not required\n";
    for (const ClauseResult& clause : clauses) {
      if (clause.group != group) continue;
      if (!everything && clause.outcome != ClauseOutcome::failed) continue;
      out += "    " + std::string(to_string(clause.outcome)) + " " + clause.name + ": " +
             clause.sentence + (clause.detail.empty() ? "" : " [" + clause.detail + "]") + "\n";
    }
  }
  return out;
}

Json ConformanceReport::json() const {
  Json list = Json::array();
  for (const ClauseResult& clause : clauses) {
    list.push_back({{"group", to_string(clause.group)},
                    {"name", clause.name},
                    {"sentence", clause.sentence},
                    {"outcome", to_string(clause.outcome)},
                    {"detail", printable(clause.detail)}});
  }
  return {{"store", store},
          {"level", to_string(level())},
          {"durability", to_string(capabilities.durability)},
          {"shared_by_processes", capabilities.shared_by_processes},
          {"passed", count(ClauseOutcome::passed)},
          {"failed", count(ClauseOutcome::failed)},
          {"not_required", count(ClauseOutcome::not_required)},
          {"clauses", std::move(list)}};
}

}  // namespace triage::inline v0_1::testing
