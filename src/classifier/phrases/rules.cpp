// SPDX-License-Identifier: MIT
#include "classifier/phrases/rules.hpp"

#include "classifier/phrases/phrase_filter.hpp"
#include "classifier/phrases/rules_table.hpp"

#include "triage/detail/try.hpp"
#include "triage/record.hpp"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

namespace triage::inline v0_1::detail {

extern const std::string_view rules_text;   // data/rules.tsv; made by cmake/EmbedText.cmake.
extern const std::string_view rules_words;  // data/rules_words.tsv.

namespace {

constexpr std::size_t guard_reach_bytes = 48;   // How far a guard looks to either side.
constexpr int most_places_per_rule = 16;        // Guarded matches tried before giving up.
constexpr std::size_t longest_type_name = 256;  // Longer names are not type names.
constexpr int most_leading_types = 16;          // Lines starting with a type name, per text.
constexpr int least_word_bytes = 3;             // Shorter words are too common.

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // Any bytes, one at a time.
  options.set_log_errors(false);
  return options;
}

// Rules ignore case unless they begin with (?-i).
std::string ignoring_case(std::string_view pattern) { return "(?i)" + std::string(pattern); }

// The first and last window of a long text; the whole of a short one.
std::array<std::string_view, 2> windows_of(std::string_view text) {
  if (text.size() <= 2 * text_window_bytes) return {text, {}};
  return {text.substr(0, text_window_bytes), text.substr(text.size() - text_window_bytes)};
}

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || c == '$';
}

// The type name at the start of a line: "openai.RateLimitError: …", "Caused by: java.io.X: …".
std::string_view leading_type_name(std::string_view line) {
  constexpr std::string_view chained = "Caused by: ";
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  if (line.starts_with(chained)) line.remove_prefix(chained.size());
  std::size_t end = 0;
  while (end < line.size() && end <= longest_type_name && is_name_byte(line[end])) ++end;
  const bool ended = end == line.size() || line[end] == ' ' || line[end] == '\r' ||
                     line[end] == '(' || line[end] == '\n';
  std::string_view name = line.substr(0, end);
  if (!ended || name.empty()) return {};
  const bool colon = name.back() == ':';
  while (!name.empty() && (name.back() == ':' || name.back() == '.')) name.remove_suffix(1);
  // A single word without a colon is prose, however it is spelt.
  if (!colon && end != line.size() && line[end] == ' ') return {};
  return name;
}

// Most patterns are never needed in a process, so each is compiled on first use.
class LazyPattern {
 public:
  explicit LazyPattern(std::string pattern) : pattern_(std::move(pattern)) {}
  [[nodiscard]] const RE2& get() const {
    std::call_once(once_, [this] { compiled_.emplace(pattern_, pattern_options()); });
    return *compiled_;
  }
  [[nodiscard]] const std::string& text() const { return pattern_; }

 private:
  std::string pattern_;
  mutable std::once_flag once_{};
  mutable std::optional<RE2> compiled_{};
};

// Patterns, and the filter that selects the ones worth trying.
struct PatternGroup {
  std::vector<std::unique_ptr<LazyPattern>> patterns{};
  std::vector<std::size_t> rules{};  // Index in `patterns` -> index of the rule.
  PhraseFilter filter{};
};

}  // namespace

struct RuleBook::Compiled {
  std::vector<Rule> rules{};
  std::vector<std::unique_ptr<LazyPattern>> guards{};  // One per rule; null: none.
  PatternGroup phrases{};
  PatternGroup types{};
  PhraseFilter waits{};                     // Of the phrases that tell how long to wait …
  std::vector<std::size_t> wait_phrases{};  // … and their indexes, by number in the filter.
  std::vector<WrittenWords> known{};        // Words of patterns, computed beforehand, in order.
  std::size_t next_known = 0;

  // Patterns are compiled only to validate them; those with known words are valid.
  Result<void> add(RuleRow row) {
    const bool is_type = row.rule.kind == RuleKind::exception_type;
    auto pattern = std::make_unique<LazyPattern>(ignoring_case(row.pattern));
    std::unique_ptr<LazyPattern> guard;
    if (!row.guard.empty()) guard = std::make_unique<LazyPattern>(ignoring_case(row.guard));
    if (known.empty()) {
      for (const LazyPattern* each : {pattern.get(), guard.get()}) {
        if (each != nullptr && !each->get().ok()) return bad_pattern(row, each->get().error());
      }
    }
    TRIAGE_TRYV(add_to(is_type ? types : phrases, row, std::move(pattern)));
    rules.push_back(std::move(row.rule));
    guards.push_back(std::move(guard));
    return outcome::success();
  }

  static Error bad_pattern(const RuleRow& row, const std::string& problem) {
    return {Errc::invalid_argument, "rule " + row.rule.id + ": " + problem};
  }

  Result<void> add_to(PatternGroup& group, const RuleRow& row,
                      std::unique_ptr<LazyPattern> pattern) {
    if (group.patterns.size() == PhraseFilter::most_phrases) {
      return bad_pattern(row, "too many rules of its kind");
    }
    std::optional<PhraseWords> words;
    if (next_known < known.size() && known[next_known].id == row.rule.id &&
        known[next_known].checksum == crc32c(pattern->text())) {
      words = std::move(known[next_known++].words);
    } else {
      words = words_of_pattern(pattern->text());
    }
    if (!words) return bad_pattern(row, "every alternative needs a word of 3 bytes or more");
    if (is_wait(row.rule.kind)) {
      waits.add(*words);
      wait_phrases.push_back(group.patterns.size());
    }
    group.filter.add(std::move(*words));
    group.patterns.push_back(std::move(pattern));
    group.rules.push_back(rules.size());
    return outcome::success();
  }

  Result<void> finish() {
    if (!phrases.filter.finish() || !types.filter.finish() || !waits.finish()) {
      return Error{Errc::invalid_argument, "rules: too many words"};
    }
    known = {};
    return outcome::success();
  }

  // True if the guard forbids the match. It sees "before <<match>> after".
  static bool forbidden(const LazyPattern* guard, std::string_view text, std::string_view match) {
    if (guard == nullptr) return false;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    const std::size_t from = begin - std::min(begin, guard_reach_bytes);
    std::string seen(text.substr(from, begin - from));
    seen.append("<<").append(match.substr(0, 4 * guard_reach_bytes)).append(">>");
    seen += text.substr(end, guard_reach_bytes);
    return RE2::PartialMatch(seen, guard->get());
  }

  // The first place in `line` where the phrase holds.
  [[nodiscard]] std::optional<std::string_view> find(std::size_t phrase, const LazyPattern* guard,
                                                     std::string_view line) const {
    const RE2& pattern = phrases.patterns[phrase]->get();
    const re2::StringPiece whole(line.data(), line.size());  // Newer RE2 uses Abseil's view.
    std::size_t from = 0;
    for (int place = 0; place < most_places_per_rule && from <= line.size(); ++place) {
      re2::StringPiece found;
      if (!pattern.Match(whole, from, whole.size(), RE2::UNANCHORED, &found, 1)) return {};
      const std::string_view match(found.data(), found.size());
      if (!forbidden(guard, line, match)) return match;
      from = static_cast<std::size_t>(match.data() - line.data()) +
             std::max<std::size_t>(1, match.size());
    }
    return {};
  }

  void match_phrase(std::size_t phrase, std::string_view line, std::vector<RuleHit>& hits) const {
    const std::size_t rule = phrases.rules[phrase];
    // One hit per rule suffices, and bounds the work on repetitive texts.
    if (std::any_of(hits.begin(), hits.end(),
                    [&](const RuleHit& hit) { return hit.rule == &rules[rule]; }))
      return;
    const auto match = find(phrase, guards[rule].get(), line);
    if (match) hits.push_back({&rules[rule], *match});
  }

  void match_type(std::string_view name, std::vector<RuleHit>& hits) const {
    if (name.empty() || name.size() > longest_type_name) return;
    const std::string_view last = last_name_component(name);
    std::string key = exception_stem(last);
    if (key.empty()) return;
    key.append(" ").append(last);  // Patterns are anchored on "stem Name".
    types.filter.for_each_candidate(key, [&](std::size_t candidate) {
      if (!RE2::FullMatch(key, types.patterns[candidate]->get())) return;
      hits.push_back({&rules[types.rules[candidate]], name});
    });
  }

  // Line by line, because most lines of a long text contain no relevant word.
  void match_window(std::string_view text, std::vector<RuleHit>& hits) const {
    int types_left = most_leading_types;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      phrases.filter.for_each_candidate(
          line, [&](std::size_t phrase) { match_phrase(phrase, line, hits); });
      if (const auto name = leading_type_name(line); !name.empty() && types_left > 0) {
        match_type(name, hits);
        --types_left;
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void match_waits(std::string_view text, std::vector<RuleHit>& hits) const {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      waits.for_each_candidate(
          line, [&](std::size_t wait) { match_phrase(wait_phrases[wait], line, hits); });
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
};

RuleBook::RuleBook(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
RuleBook::RuleBook(RuleBook&&) noexcept = default;
RuleBook& RuleBook::operator=(RuleBook&&) noexcept = default;
RuleBook::~RuleBook() = default;

Result<RuleBook> RuleBook::parse(std::string_view table, std::string_view words) {
  TRIAGE_TRY(rows, read_rule_table(table));
  auto compiled = std::make_unique<Compiled>();
  TRIAGE_TRY(read, read_words(words));
  compiled->known = std::move(read);
  for (RuleRow& row : rows) {
    TRIAGE_TRYV(compiled->add(std::move(row)));
  }
  TRIAGE_TRYV(compiled->finish());
  return outcome::success(RuleBook(std::move(compiled)));
}

const std::vector<Rule>& RuleBook::rules() const noexcept { return compiled_->rules; }

void RuleBook::match_text(std::string_view text, std::vector<RuleHit>& hits) const {
  for (const std::string_view window : windows_of(text)) {
    if (window.empty()) continue;
    compiled_->match_window(window, hits);
  }
}

void RuleBook::match_waits(std::string_view text, std::vector<RuleHit>& hits) const {
  for (const std::string_view window : windows_of(text)) compiled_->match_waits(window, hits);
}

void RuleBook::match_exception_type(std::string_view name, std::vector<RuleHit>& hits) const {
  compiled_->match_type(name, hits);
}

std::optional<PhraseWords> words_of_pattern(const std::string& pattern) {
  re2::FilteredRE2 phrase(least_word_bytes);
  int id = 0;
  if (phrase.Add(pattern, pattern_options(), &id) != RE2::NoError) return std::nullopt;
  return words_needed(phrase);
}

std::string written_words(const std::vector<RuleRow>& rows) {
  std::string lines;
  for (const RuleRow& row : rows) {
    const std::string pattern = ignoring_case(row.pattern);
    if (auto words = words_of_pattern(pattern)) {
      lines += show_words({row.rule.id, crc32c(pattern), std::move(*words)}) + '\n';
    }
  }
  return lines;
}

const RuleBook& built_in_rules() {
  static const RuleBook rules = RuleBook::parse(rules_text, rules_words).value();
  return rules;
}

}  // namespace triage::inline v0_1::detail
