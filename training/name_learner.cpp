// SPDX-License-Identifier: MIT
#include "name_learner.hpp"

#include <algorithm>

namespace triage::training {

void NameLearner::read(std::string_view text, std::size_t origin) {
  for (const detail::WordsPair pair : detail::word_pairs_of(text)) {
    Met& met = met_.try_emplace(pair, Met{.origin = origin}).first->second;
    met.several = met.several || met.origin != origin;
  }
  for (const detail::WordsPair pair : detail::name_pairs_of(text)) met_.at(pair).in_name = true;
}

void NameLearner::read_grammar(std::string_view grammar, std::size_t origin) {
  while (!grammar.empty()) {
    std::string_view line = grammar.substr(0, grammar.find('\n'));
    grammar.remove_prefix(std::min(line.size() + 1, grammar.size()));
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string_view::npos) continue;  // A macro, or a comment.
    line.remove_prefix(tab + 1);
    std::string said;  // One alternative, with blanks for the brackets around others.
    for (std::size_t at = 0; at < line.size(); ++at) {
      const char c = line[at];
      const bool is_macro = c == '<' && line.find('>', at) != std::string_view::npos;
      if (c == '|' || is_macro) {
        read(said, origin);
        said.clear();
        if (is_macro) at = line.find('>', at);
      } else if (c == '\\' && at + 1 < line.size()) {
        said += line[++at] == 'n' || line[at] == 't' ? ' ' : line[at];
      } else {
        said += c == '[' || c == ']' ? ' ' : c;
      }
    }
    read(said, origin);
  }
}

void NameLearner::teach(std::string& filter) const {
  for (const auto& [pair, met] : met_) {
    if (met.several && met.in_name) detail::KnownNames::add(pair, filter);
  }
}

}  // namespace triage::training
