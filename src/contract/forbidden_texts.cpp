// SPDX-License-Identifier: MIT
#include "contract/forbidden_texts.hpp"

#include "base/ascii.hpp"
#include "search/find_text.hpp"
#include "search/word_finder.hpp"

#include <algorithm>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_bytes_read = 4U << 20U;
constexpr std::size_t longest_shown = 64;
constexpr std::size_t least_long_text = 64U << 10U;
constexpr std::size_t most_bytes_of_table = 16U << 10U;

struct Forbidden {
  bool phrase = true;  // Otherwise a pattern.
  std::string_view text{};
};

// The index of the first constraint found in a long text, searching for all in one pass; their
// number if none occurs. Empty if the text is short or the search table would be too large.
std::optional<std::size_t> first_in_long_text(const std::vector<std::string>& constraints,
                                              std::string_view said) {
  std::size_t bytes = 0;
  for (const std::string& constraint : constraints) bytes += constraint.size();
  if (constraints.size() < 2 || said.size() < least_long_text || bytes > most_bytes_of_table) {
    return std::nullopt;
  }
  std::vector<std::string> words = constraints;
  for (std::string& word : words) std::transform(word.begin(), word.end(), word.begin(), lower);
  const WordFinder finder(words);
  std::size_t first = words.size();
  WordFinder::State state = 0;
  for (std::size_t at = 0; at < said.size() && first > 0;) {
    at = finder.scan(said, at, state);
    if (!finder.found(state)) break;
    for (const int word : finder.words(state)) first = std::min(first, std::size_t(word));
  }
  return first;
}

// The first constraint of the contract that occurs in `said`.
std::optional<Forbidden> forbidden_in(const AgentContract& contract, std::string_view said) {
  const auto first = first_in_long_text(contract.constraints, said);
  if (first && *first < contract.constraints.size()) {
    return Forbidden{true, contract.constraints[*first]};
  }
  for (const std::string& constraint : contract.constraints) {
    if (first) break;  // None of them occurs.
    if (constraint.empty() || constraint.size() > said.size()) continue;
    if (TextFinder(constraint, TextFinder::Case::ignored).is_in(said)) {
      return Forbidden{true, constraint};
    }
  }
  for (const ForbiddenPattern& pattern : contract.forbidden_patterns) {
    if (pattern.matches(said)) return Forbidden{false, pattern.text()};
  }
  return std::nullopt;
}

Finding said_by(std::string_view who, const Forbidden& forbidden) {
  const std::string shown = printable(forbidden.text.substr(0, longest_shown));
  const std::string_view how =
      forbidden.phrase ? " contains the forbidden text \"" : " matches the forbidden pattern \"";
  return {.kind = FindingKind::contract,
          .reason = forbidden.phrase ? "forbidden_text" : "forbidden_pattern",
          .evidence = {.source = "contract",
                       .suggests = FailureType::constraint_ignored,
                       .detail = std::string(who).append(how).append(shown) + "\"",
                       .confidence = 0.95,
                       .facts = {{forbidden.phrase ? "phrase" : "pattern", shown}}}};
}

}  // namespace

bool forbids_texts(const AgentContract& contract) noexcept {
  return !contract.constraints.empty() || !contract.forbidden_patterns.empty();
}

std::optional<Finding> forbidden_output(const AgentContract& contract, std::string_view output) {
  const auto forbidden = forbidden_in(contract, output);
  if (!forbidden) return std::nullopt;
  return said_by("The model's output", *forbidden);
}

void check_result_texts(const ClassifierInput& input, Findings& findings) {
  if (input.result == nullptr || !forbids_texts(*input.contract)) return;
  std::size_t bytes_left = most_bytes_read;
  const auto said = [&](std::string_view text) {
    text = text.substr(0, bytes_left);
    bytes_left -= text.size();
    const auto forbidden = forbidden_in(*input.contract, text);
    if (forbidden) findings.list.push_back(said_by("The result", *forbidden));
    return forbidden.has_value();
  };
  struct Level {
    const Json* value;
    Json::const_iterator next;
  };
  std::vector<Level> open;  // An explicit stack: a value may be nested too deeply for the thread's.
  const auto visit = [&](const Json& value) {
    if (value.is_structured()) open.push_back({&value, value.begin()});
    return value.is_string() && said(value.get_ref<const std::string&>());
  };
  if (visit(*input.result)) return;
  while (!open.empty() && bytes_left > 0) {
    Level& level = open.back();
    if (level.next == level.value->end()) {
      open.pop_back();
      continue;
    }
    const Json::const_iterator member = level.next++;
    if ((level.value->is_object() && said(member.key())) || visit(*member)) return;
  }
}

}  // namespace triage::inline v0_1::detail
