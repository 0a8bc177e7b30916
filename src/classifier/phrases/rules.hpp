// SPDX-License-Identifier: MIT
#pragma once
// The table of phrases and exception type names (data/rules.tsv) and its matcher. Private.

#include "triage/result.hpp"
#include "triage/taxonomy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Of longer texts, only this many bytes at either end are read.
inline constexpr std::size_t text_window_bytes = 32 * 1024;

enum class RuleKind : std::uint8_t {
  phrase,          // Found anywhere in a text.
  exception_type,  // Matched against the stem of an exception's type name.
  wait,            // Says how long to wait, or until when; suggests no type.
  until,           // Says until when.
};
[[nodiscard]] constexpr bool is_wait(RuleKind kind) noexcept {
  return kind == RuleKind::wait || kind == RuleKind::until;
}

// One row of the table.
struct Rule {
  std::string id{};
  RuleKind kind = RuleKind::phrase;
  FailureType type = FailureType::unknown;
  std::string reason{};
  double confidence = 0.0;  // 0 to 1. Below 0.5 it supports others but decides nothing alone.
};

// A rule that matched, and where. `matched` points into the text.
struct RuleHit {
  const Rule* rule = nullptr;
  std::string_view matched{};
};

// Thread-safety: immutable after parse(); may be used by several threads at once.
class RuleBook {
 public:
  // Reads the table. Errors: Errc::invalid_argument, naming line and column. Given the words of its
  // phrases (rules_table.hpp), patterns are compiled, and thereby checked, only when a text needs
  // them.
  [[nodiscard]] static Result<RuleBook> parse(std::string_view table, std::string_view words = {});

  RuleBook(RuleBook&&) noexcept;
  RuleBook& operator=(RuleBook&&) noexcept;
  ~RuleBook();

  [[nodiscard]] const std::vector<Rule>& rules() const noexcept;
  // Appends the phrases and waits found in the windows of `text`, and the known exception types at
  // the start of a line ("openai.RateLimitError: …"). Linear in the length of the windows.
  void match_text(std::string_view text, std::vector<RuleHit>& hits) const;
  // The same, but only for rules that say how long or until when to wait.
  void match_waits(std::string_view text, std::vector<RuleHit>& hits) const;
  // Appends what is known of an exception's type name: C++, Python, Java or bare.
  void match_exception_type(std::string_view name, std::vector<RuleHit>& hits) const;

 private:
  struct Compiled;
  explicit RuleBook(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// The built-in table; compiled on first use.
[[nodiscard]] const RuleBook& built_in_rules();

// "openai.RateLimitError" -> "RateLimitError"; "boost::wrapexcept<std::bad_alloc>" -> "bad_alloc".
[[nodiscard]] std::string_view last_name_component(std::string_view type_name) noexcept;
// "RateLimitError", "rate_limit_exception" -> "ratelimit": lower-case letters and digits without
// the usual endings of exception names.
[[nodiscard]] std::string exception_stem(std::string_view last_component);

}  // namespace triage::inline v0_1::detail
