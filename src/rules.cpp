// SPDX-License-Identifier: MIT
#include "rules.hpp"

#include "triage/detail/try.hpp"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace triage::inline v0_1::detail {

extern const std::string_view rules_text;  // data/rules.tsv; made by cmake/EmbedText.cmake.

namespace {

constexpr std::size_t guard_reach_bytes = 48;   // How far a guard looks to either side.
constexpr int most_places_per_rule = 16;        // Guarded matches looked at before giving up.
constexpr std::size_t longest_type_name = 256;  // Longer names are no type names.
constexpr int most_leading_types = 16;          // Lines of a text that begin with a type name.
constexpr std::int64_t set_memory_bytes = 16 << 20;

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // Any bytes, one at a time.
  options.set_log_errors(false);
  return options;
}

// Rules ignore case unless they begin with (?-i).
std::string ignoring_case(std::string_view pattern) { return "(?i)" + std::string(pattern); }

struct Row {
  Rule rule{};
  std::string pattern{};
  std::string guard{};  // Empty: none.
};

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(separator, begin);
    parts.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

Error bad_line(std::size_t line, const std::string& what) {
  return {Errc::invalid_argument, "rules, line " + std::to_string(line) + ": " + what};
}

class TableReader {
 public:
  Result<std::vector<Row>> read(std::string_view table) {
    std::vector<Row> rows;
    for (const std::string_view line : split(table, '\n')) {
      ++line_;
      if (line.empty() || line.front() == '#') continue;
      const auto columns = split(line, '\t');
      if (columns.front() == "let") {
        TRIAGE_TRYV(define(columns));
        continue;
      }
      TRIAGE_TRY(row, read_row(columns));
      for (const Row& other : rows) {
        if (other.rule.id == row.rule.id) return bad_line(line_, "the id is taken: " + row.rule.id);
      }
      rows.push_back(std::move(row));
    }
    return outcome::success(std::move(rows));
  }

 private:
  Result<void> define(const std::vector<std::string_view>& columns) {
    if (columns.size() != 3) return bad_line(line_, "let takes a name and a pattern");
    TRIAGE_TRY(pattern, expand(columns[2]));
    names_.insert_or_assign(std::string(columns[1]), "(?:" + pattern + ")");
    return outcome::success();
  }

  Result<Row> read_row(const std::vector<std::string_view>& columns) {
    if (columns.size() != 6 && columns.size() != 7) {
      return bad_line(line_, "6 or 7 columns are needed, not " + std::to_string(columns.size()));
    }
    Row row;
    row.rule.id = columns[1];
    TRIAGE_TRYV(read_kind(columns[0], row.rule));
    if (row.rule.kind != RuleKind::wait) {
      const auto type = parse_failure_type(columns[2]);
      if (!type) return bad_line(line_, "no failure type: " + std::string(columns[2]));
      row.rule.type = *type;
    }
    row.rule.reason = columns[3];
    const std::string_view number = columns[4];
    const auto parsed =
        std::from_chars(number.data(), number.data() + number.size(), row.rule.confidence);
    if (parsed.ec != std::errc{} || row.rule.confidence < 0 || row.rule.confidence > 1) {
      return bad_line(line_, "the confidence is no number from 0 to 1: " + std::string(number));
    }
    TRIAGE_TRY(pattern, expand(columns[5]));
    row.pattern = std::move(pattern);
    if (columns.size() == 7) {
      TRIAGE_TRY(guard, expand(columns[6]));
      row.guard = std::move(guard);
    }
    return outcome::success(std::move(row));
  }

  Result<void> read_kind(std::string_view name, Rule& rule) const {
    if (name == "phrase") {
      rule.kind = RuleKind::phrase;
    } else if (name == "type") {
      rule.kind = RuleKind::exception_type;
    } else if (name == "wait") {
      rule.kind = RuleKind::wait;
    } else {
      return bad_line(line_, "no kind of rule: " + std::string(name));
    }
    return outcome::success();
  }

  Result<std::string> expand(std::string_view pattern) const {
    std::string expanded;
    for (;;) {
      const std::size_t begin = pattern.find("{{");
      expanded += pattern.substr(0, begin);
      if (begin == std::string_view::npos) return outcome::success(std::move(expanded));
      const std::size_t end = pattern.find("}}", begin);
      const std::string name(pattern.substr(begin + 2, end - begin - 2));
      const auto found = names_.find(name);
      if (end == std::string_view::npos || found == names_.end()) {
        return bad_line(line_, "no let before it defines " + name);
      }
      expanded += found->second;
      pattern.remove_prefix(end + 2);
    }
  }

  std::size_t line_ = 0;
  std::map<std::string, std::string> names_{};
};

// The first and last window of a long text; the whole of a short one.
std::array<std::string_view, 2> windows_of(std::string_view text) {
  if (text.size() <= 2 * text_window_bytes) return {text, {}};
  return {text.substr(0, text_window_bytes), text.substr(text.size() - text_window_bytes)};
}

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || c == '$';
}

// The type name that a line begins with: "openai.RateLimitError: …", "Caused by: java.io.X: …".
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
  // A single word that no colon follows is prose, however it is spelt.
  if (!colon && end != line.size() && line[end] == ' ') return {};
  return name;
}

}  // namespace

struct RuleBook::Compiled {
  struct Entry {
    std::unique_ptr<RE2> pattern{};
    std::unique_ptr<RE2> guard{};
  };

  std::vector<Rule> rules{};
  std::vector<Entry> entries{};  // One a rule.
  // One pass over a text finds which rules are worth a closer look.
  std::unique_ptr<RE2::Set> phrases{};
  std::unique_ptr<RE2::Set> types{};
  std::vector<std::size_t> phrase_rules{};  // Index in the set -> index of the rule.
  std::vector<std::size_t> type_rules{};

  Result<void> add(Row row) {
    Entry entry;
    TRIAGE_TRYV(compile(row, row.pattern, entry.pattern));
    if (!row.guard.empty()) {
      TRIAGE_TRYV(compile(row, row.guard, entry.guard));
    }
    const bool is_type = row.rule.kind == RuleKind::exception_type;
    (is_type ? types : phrases)->Add(ignoring_case(row.pattern), nullptr);
    (is_type ? type_rules : phrase_rules).push_back(rules.size());
    rules.push_back(std::move(row.rule));
    entries.push_back(std::move(entry));
    return outcome::success();
  }

  static Result<void> compile(const Row& row, std::string_view text, std::unique_ptr<RE2>& out) {
    out = std::make_unique<RE2>(ignoring_case(text), pattern_options());
    if (out->ok()) return outcome::success();
    return Error{Errc::invalid_argument, "rule " + row.rule.id + ": " + out->error()};
  }

  // True if the guard forbids the match. It sees "before <<match>> after".
  static bool forbidden(const Entry& entry, std::string_view text, std::string_view match) {
    if (!entry.guard) return false;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    const std::size_t from = begin - std::min(begin, guard_reach_bytes);
    std::string seen(text.substr(from, begin - from));
    seen.append("<<").append(match.substr(0, 4 * guard_reach_bytes)).append(">>");
    seen += text.substr(end, guard_reach_bytes);
    return RE2::PartialMatch(seen, *entry.guard);
  }

  // The first place in `text` where the rule holds.
  [[nodiscard]] std::optional<std::string_view> find(std::size_t rule,
                                                     std::string_view text) const {
    std::size_t from = 0;
    for (int place = 0; place < most_places_per_rule && from <= text.size(); ++place) {
      re2::StringPiece found;
      const Entry& entry = entries[rule];
      if (!entry.pattern->Match(text, from, text.size(), RE2::UNANCHORED, &found, 1)) return {};
      const std::string_view match(found.data(), found.size());
      if (!forbidden(entry, text, match)) return match;
      from = static_cast<std::size_t>(match.data() - text.data()) +
             std::max<std::size_t>(1, match.size());
    }
    return {};
  }

  void match_phrases(std::string_view text, std::vector<RuleHit>& hits) const {
    std::vector<int> candidates;
    RE2::Set::ErrorInfo problem{};
    if (!phrases->Match(text, &candidates, &problem)) {
      if (problem.kind == RE2::Set::kNoError) return;
      // Out of memory for states: ask every rule by itself.
      for (std::size_t i = 0; i < phrase_rules.size(); ++i)
        candidates.push_back(static_cast<int>(i));
    }
    std::sort(candidates.begin(), candidates.end());
    for (const int candidate : candidates) {
      const std::size_t rule = phrase_rules[static_cast<std::size_t>(candidate)];
      if (const auto match = find(rule, text)) hits.push_back({&rules[rule], *match});
    }
  }

  void match_type(std::string_view name, std::vector<RuleHit>& hits) const {
    if (name.empty() || name.size() > longest_type_name) return;
    const std::string_view last = last_name_component(name);
    std::string key = exception_stem(last);
    if (key.empty()) return;
    key.append(" ").append(last);  // Patterns are anchored on "stem Name".
    std::vector<int> found;
    if (!types->Match(key, &found)) return;
    std::sort(found.begin(), found.end());
    for (const int i : found)
      hits.push_back({&rules[type_rules[static_cast<std::size_t>(i)]], name});
  }

  void match_leading_types(std::string_view text, std::vector<RuleHit>& hits) const {
    int types_left = most_leading_types;
    while (!text.empty() && types_left > 0) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (const auto name = leading_type_name(text.substr(0, end)); !name.empty()) {
        match_type(name, hits);
        --types_left;
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
};

RuleBook::RuleBook(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
RuleBook::RuleBook(RuleBook&&) noexcept = default;
RuleBook& RuleBook::operator=(RuleBook&&) noexcept = default;
RuleBook::~RuleBook() = default;

Result<RuleBook> RuleBook::parse(std::string_view table) {
  TableReader reader;
  TRIAGE_TRY(rows, reader.read(table));
  auto compiled = std::make_unique<Compiled>();
  RE2::Options options = pattern_options();
  options.set_max_mem(set_memory_bytes);
  compiled->phrases = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
  compiled->types = std::make_unique<RE2::Set>(options, RE2::ANCHOR_BOTH);
  for (Row& row : rows) {
    TRIAGE_TRYV(compiled->add(std::move(row)));
  }
  if (!compiled->phrases->Compile() || !compiled->types->Compile()) {
    return Error{Errc::invalid_argument, "rules: together they need too much memory"};
  }
  return outcome::success(RuleBook(std::move(compiled)));
}

const std::vector<Rule>& RuleBook::rules() const noexcept { return compiled_->rules; }

void RuleBook::match_text(std::string_view text, std::vector<RuleHit>& hits) const {
  for (const std::string_view window : windows_of(text)) {
    if (window.empty()) continue;
    compiled_->match_phrases(window, hits);
    compiled_->match_leading_types(window, hits);
  }
}

void RuleBook::match_exception_type(std::string_view name, std::vector<RuleHit>& hits) const {
  compiled_->match_type(name, hits);
}

const RuleBook& built_in_rules() {
  static const RuleBook rules = RuleBook::parse(rules_text).value();
  return rules;
}

}  // namespace triage::inline v0_1::detail
