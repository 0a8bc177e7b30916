// SPDX-License-Identifier: MIT
#include "grammar.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>

namespace triage::training {
namespace {

constexpr std::size_t deepest_macro = 30;
constexpr std::size_t tries_a_wording = 3;  // Until a pattern counts as exhausted.

struct Pattern {
  FailureType label = FailureType::unknown;
  std::string_view reason{};
  std::string_view text{};
  std::size_t line = 0;
};

using Macros = std::map<std::string_view, std::string_view, std::less<>>;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The byte that stands for `escaped` behind a backslash.
char meant_by(char escaped) { return escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped; }

// The end of the alternative at `at`: its "|", the closing "]", or the end.
std::size_t end_of_alternative(std::string_view text, std::size_t at) {
  std::size_t open = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;
    } else if (c == '[') {
      ++open;
    } else if (c == ']') {
      if (open-- == 0) return at;
    } else if (c == '|' && open == 0) {
      return at;
    }
  }
  return text.size();
}

// Generates one wording of a pattern.
class Expansion {
 public:
  Expansion(const Macros& macros, std::mt19937& random) : macros_(macros), random_(random) {}

  // What is wrong with the pattern; empty if it is valid.
  std::string run(std::string_view pattern) {
    text.clear();
    problem_.clear();
    sequence(pattern, 0);
    return problem_;
  }

  std::string text{};

 private:
  void sequence(std::string_view pattern, std::size_t depth) {
    std::size_t at = 0;
    while (at < pattern.size() && problem_.empty()) {
      const char c = pattern[at];
      if (c == '\\' && at + 1 < pattern.size()) {
        text += meant_by(pattern[at + 1]);
        at += 2;
      } else if (c == '[') {
        at = choice(pattern, at + 1, depth);
      } else if (c == '<') {
        at = macro(pattern, at, depth);
      } else if (c == ']') {
        problem_ = "has a ] without its [";
      } else {
        text += c;
        ++at;
      }
    }
  }

  std::size_t choice(std::string_view pattern, std::size_t begin, std::size_t depth) {
    std::vector<std::string_view> alternatives;
    std::size_t at = begin;
    while (true) {
      const std::size_t end = end_of_alternative(pattern, at);
      alternatives.push_back(pattern.substr(at, end - at));
      at = end + 1;
      if (end == pattern.size()) {
        problem_ = "has a [ without its ]";
        return at;
      }
      if (pattern[end] == ']') break;
    }
    sequence(alternatives[random_() % alternatives.size()], depth);
    return at;
  }

  std::size_t macro(std::string_view pattern, std::size_t begin, std::size_t depth) {
    const std::size_t end = std::min(pattern.find('>', begin), pattern.size());
    const std::string_view name = pattern.substr(begin + 1, end - begin - 1);
    const auto found = macros_.find(name);
    if (end == pattern.size() || found == macros_.end()) {
      problem_ = "uses <" + std::string(name.substr(0, 40)) + ">, which is no macro of this file";
    } else if (depth == deepest_macro) {
      problem_ = "uses <" + std::string(name) + ">, which uses itself";
    } else {
      choice(found->second, 0, depth + 1);
    }
    return end + 1;
  }

  const Macros& macros_;
  std::mt19937& random_;
  std::string problem_{};
};

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<void> read(std::string_view grammar) {
    for (std::size_t number = 1; !grammar.empty(); ++number) {
      const std::size_t end = std::min(grammar.find('\n'), grammar.size());
      std::string_view line = grammar.substr(0, end);
      grammar.remove_prefix(std::min(end + 1, grammar.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (trimmed(line).empty() || line.front() == '#') continue;
      const std::string problem = add(line, number);
      if (!problem.empty()) return bad(number, problem);
    }
    return outcome::success();
  }

  [[nodiscard]] Error bad(std::size_t line, const std::string& problem) const {
    return {Errc::invalid_argument,
            std::string(name_) + ":" + std::to_string(line) + ": " + problem};
  }

  std::vector<Pattern> patterns{};
  Macros macros{};

 private:
  std::string add(std::string_view line, std::size_t number) {
    const std::size_t first = line.find('\t');
    const std::size_t second = first == line.npos ? line.npos : line.find('\t', first + 1);
    if (second != line.npos) {
      const std::string_view label = trimmed(line.substr(0, first));
      const auto type = parse_failure_type(label);
      if (!type) return "has the unknown label \"" + std::string(label) + "\"";
      patterns.push_back({.label = *type,
                          .reason = trimmed(line.substr(first + 1, second - first - 1)),
                          .text = line.substr(second + 1),
                          .line = number});
      return {};
    }
    const std::size_t equals = line.find('=');
    const std::string_view macro = trimmed(line.substr(0, std::min(equals, line.size())));
    if (equals == line.npos || macro.empty() || macro.find_first_of(" \t[<|") != macro.npos) {
      return "is neither \"name = alternatives\" nor label, reason and pattern between tabs";
    }
    // A choice includes its closing bracket.
    brackets_.push_back(std::make_unique<std::string>(trimmed(line.substr(equals + 1))));
    brackets_.back()->push_back(']');
    macros[macro] = *brackets_.back();
    return {};
  }

  std::string_view name_;
  std::vector<std::unique_ptr<std::string>> brackets_{};
};

void add_texts_between_macros(std::string_view pattern, std::vector<std::string>& texts) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    const std::size_t macro_end = c == '<' ? pattern.find('>', at) : pattern.npos;
    if (c == '|' || macro_end != pattern.npos) {
      texts.push_back(std::exchange(text, {}));
      if (c == '<') at = macro_end;
    } else if (c == '\\' && at + 1 < pattern.size()) {
      ++at;
      text += meant_by(pattern[at]);
    } else {
      text += c == '[' || c == ']' ? ' ' : c;
    }
  }
  texts.push_back(std::move(text));
}

}  // namespace

Result<std::vector<Wording>> expand_grammar(std::string_view grammar, std::string_view name,
                                            std::size_t count) {
  Reader reader(name);
  if (const auto read = reader.read(grammar); !read) return read.error();
  std::vector<Wording> wordings;
  std::mt19937 random(1);
  Expansion expansion(reader.macros, random);
  for (const Pattern& pattern : reader.patterns) {
    const auto first = static_cast<std::ptrdiff_t>(wordings.size());
    for (std::size_t tried = 0; tried < tries_a_wording * count; ++tried) {
      const std::string problem = expansion.run(pattern.text);
      if (!problem.empty()) return reader.bad(pattern.line, problem);
      const bool known = std::any_of(wordings.begin() + first, wordings.end(),
                                     [&](const Wording& w) { return w.text == expansion.text; });
      if (known) continue;
      wordings.push_back(
          {expansion.text, pattern.label, std::string(pattern.reason), pattern.line});
      if (wordings.size() - static_cast<std::size_t>(first) == count) break;
    }
  }
  return outcome::success(std::move(wordings));
}

Result<std::vector<std::string>> texts_between_macros(std::string_view grammar,
                                                      std::string_view name) {
  Reader reader(name);
  if (const auto read = reader.read(grammar); !read) return read.error();
  std::vector<std::string> texts;
  for (const Pattern& pattern : reader.patterns) add_texts_between_macros(pattern.text, texts);
  return outcome::success(std::move(texts));
}

}  // namespace triage::training
