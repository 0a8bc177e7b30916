// SPDX-License-Identifier: MIT
#include "classifier/phrases/rules_table.hpp"

#include "triage/detail/try.hpp"

#include <charconv>
#include <map>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

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
  Result<std::vector<RuleRow>> read(std::string_view table) {
    std::vector<RuleRow> rows;
    for (const std::string_view line : split(table, '\n')) {
      ++line_;
      if (line.empty() || line.front() == '#') continue;
      const auto columns = split(line, '\t');
      if (columns.front() == "let") {
        TRIAGE_TRYV(define(columns));
        continue;
      }
      TRIAGE_TRY(row, read_row(columns));
      for (const RuleRow& other : rows) {
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

  Result<RuleRow> read_row(const std::vector<std::string_view>& columns) {
    if (columns.size() != 6 && columns.size() != 7) {
      return bad_line(line_, "6 or 7 columns are needed, not " + std::to_string(columns.size()));
    }
    RuleRow row;
    row.rule.id = columns[1];
    TRIAGE_TRYV(read_kind(columns[0], row.rule));
    if (row.rule.kind != RuleKind::wait && row.rule.kind != RuleKind::until) {
      const auto type = parse_failure_type(columns[2]);
      if (!type) return bad_line(line_, "no failure type: " + std::string(columns[2]));
      row.rule.type = *type;
    }
    row.rule.reason = columns[3];
    const std::string_view number = columns[4];
    const auto parsed =
        std::from_chars(number.data(), number.data() + number.size(), row.rule.confidence);
    if (parsed.ec != std::errc{} || !(row.rule.confidence >= 0 && row.rule.confidence <= 1)) {
      return bad_line(line_, "the confidence is not a number from 0 to 1: " + std::string(number));
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
    } else if (name == "until") {
      rule.kind = RuleKind::until;
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

}  // namespace

Result<std::vector<RuleRow>> read_rule_table(std::string_view table) {
  return TableReader{}.read(table);
}

}  // namespace triage::inline v0_1::detail
