// SPDX-License-Identifier: MIT
#include "other_names.hpp"

#include "classifier/text/char_kinds.hpp"
#include "classifier/text/lexicon.hpp"

#include <algorithm>
#include <map>

namespace triage::training {
namespace {

constexpr std::size_t least_letters = 4;

bool is_small(char c) { return detail::kind_of(c) == detail::CharKind::lower; }
bool is_capital(char c) { return detail::kind_of(c) == detail::CharKind::upper; }
bool is_in_name(char c) {
  return is_small(c) || is_capital(c) || detail::kind_of(c) == detail::CharKind::digit || c == '_';
}

// snake_case, without capitals: "fetch_orders", but not "_x", "x_" or "MAX_LENGTH".
bool is_name(std::string_view word) {
  const bool has_parts = word.find('_') != std::string_view::npos;
  return has_parts && is_small(word.front()) && word.back() != '_' &&
         std::none_of(word.begin(), word.end(), is_capital);
}

bool is_key(std::string_view rest) {
  return rest.starts_with("=") || rest.starts_with(":") || rest.starts_with("\":");
}

std::string capital(std::string_view word) {
  std::string changed(word);
  changed.front() = static_cast<char>(changed.front() - 'a' + 'A');
  return changed;
}

}  // namespace

OtherNames::OtherNames() {
  std::string_view left = detail::built_in_lexicon_table();
  while (!left.empty()) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.starts_with('#')) continue;
    line.remove_prefix(std::min(line.find('\t'), line.size()));
    while (!line.empty()) {
      line.remove_prefix(1);
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(word.size());
      if (word.size() >= least_letters && std::all_of(word.begin(), word.end(), is_small))
        words_.push_back(word);
    }
  }
}

std::string OtherNames::give(std::string_view text) {
  std::map<std::string_view, std::string> given;
  std::string changed;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_in_name(text[end])) ++end;
    const std::string_view word = text.substr(at, std::max<std::size_t>(end - at, 1));
    at += word.size();
    if (!is_name(word) || is_key(text.substr(at))) {
      changed += word;
      continue;
    }
    std::string& other = given[word];
    if (other.empty()) other = name();
    changed += other;
  }
  return changed;
}

std::string OtherNames::name() {
  const std::string first(word());
  const std::string_view second = word();
  switch (random_() % 6) {
    case 0: return first;
    case 1: return first + capital(second);
    case 2: return capital(first) + capital(second);
    case 3: return first + "-" + std::string(second);
    case 4: return first + "_" + std::string(second) + "_" + std::string(word());
    default: return first + "_" + std::string(second);
  }
}

}  // namespace triage::training
