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

// Longer texts are read at their beginning and their end only, this many bytes each.
inline constexpr std::size_t text_window_bytes = 32 * 1024;

enum class RuleKind : std::uint8_t {
  phrase,          // Found anywhere in a text.
  exception_type,  // Compared with the stem of an exception's type name.
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
  double confidence = 0.0;  // 0 to 1. Below 0.5 it supports others, and decides nothing alone.
};

// A rule that holds, and what it was seen in. `matched` points into the text.
struct RuleHit {
  const Rule* rule = nullptr;
  std::string_view matched{};
};

// Thread-safety: immutable after parse(); may be used by several threads at once.
class RuleBook {
 public:
  // Reads the table. Errors: Errc::invalid_argument, naming line and column. With the words of the
  // table's phrases (rules_table.hpp) no pattern is compiled, and so none is checked, before a text
  // asks for it.
  [[nodiscard]] static Result<RuleBook> parse(std::string_view table, std::string_view words = {});

  RuleBook(RuleBook&&) noexcept;
  RuleBook& operator=(RuleBook&&) noexcept;
  ~RuleBook();

  [[nodiscard]] const std::vector<Rule>& rules() const noexcept;
  // Appends the phrases and waits found in the windows of `text`, and the known exception types
  // that begin one of its lines ("openai.RateLimitError: …"). Linear in the length of the windows.
  void match_text(std::string_view text, std::vector<RuleHit>& hits) const;
  // The same for the rules alone that say how long to wait, or until when.
  void match_waits(std::string_view text, std::vector<RuleHit>& hits) const;
  // Appends what is known of an exception's type name: C++, Python, Java or bare.
  void match_exception_type(std::string_view name, std::vector<RuleHit>& hits) const;

 private:
  struct Compiled;
  explicit RuleBook(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// The table that the library was built with; compiled at first use.
[[nodiscard]] const RuleBook& built_in_rules();

// "openai.RateLimitError" -> "RateLimitError"; "boost::wrapexcept<std::bad_alloc>" -> "bad_alloc".
[[nodiscard]] std::string_view last_name_component(std::string_view type_name) noexcept;
// "RateLimitError", "rate_limit_exception" -> "ratelimit": lower-case letters and digits without
// the words that every exception's name ends with.
[[nodiscard]] std::string exception_stem(std::string_view last_component);

}  // namespace triage::inline v0_1::detail
