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
    const std::size_t first = line.find('\t');
    const std::size_t second = first == line.npos ? line.npos : line.find('\t', first + 1);
    if (line.starts_with('#') || second == line.npos) continue;  // A comment, or a macro.
    line.remove_prefix(second + 1);
    std::string said;  // One alternative, with blanks for the brackets around others.
    for (std::size_t at = 0; at < line.size(); ++at) {
      const char c = line[at];
      const std::size_t end = c == '<' ? line.find('>', at) : line.npos;
      if (c == '|' || end != line.npos) {
        read(said, origin);
        said.clear();
        if (c == '<') at = end;
      } else if (c == '\\' && at + 1 < line.size()) {
        said += line[++at] == 'n' || line[at] == 't' ? ' ' : line[at];
      } else {
        said += c == '[' || c == ']' ? ' ' : c;
      }
    }
    read(said, origin);
  }
}

void NameLearner::read(const Failure& failure, std::size_t origin) {
  read(failure.text, origin);
  for (const Cause& cause : failure.causes) read(cause.text, origin);
}

void NameLearner::teach(std::string& filter) const {
  if (filter.empty()) return;
  for (const auto& [pair, met] : met_) {
    if (met.several && met.in_name) detail::KnownNames::add(pair, filter);
  }
}

}  // namespace triage::training
