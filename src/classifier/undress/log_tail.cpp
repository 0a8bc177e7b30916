// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/log_items.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr int most_tails = 6;
constexpr std::size_t longest_tail = 400;

// Keys written with spaces: "request id", "took", "trace id".
std::string_view spelt_key(std::string_view text) {
  constexpr std::array<std::string_view, 26> keys{
      "request id",  "request-id",    "request_id", "requestid", "req id",  "req",
      "trace id",    "trace-id",      "trace_id",   "traceid",   "span id", "correlation id",
      "session id",  "reference id",  "error id",   "event id",  "log id",  "ray id",
      "duration",    "elapsed",       "took",       "ref",       "id",      "trace",
      "incident id", "correlation-id"};
  for (const std::string_view key : keys) {
    if (text.size() > key.size() && same_word(text.substr(0, key.size()), key) &&
        !is_word(text[key.size()])) {
      return text.substr(0, key.size());
    }
  }
  return {};
}

constexpr bool is_equals(char c) { return c == '=' || c == ':'; }

// One part of a tail: "trace_id=4f…", "Request ID: 4f…", "took 120ms", "attempt 2", "120ms".
bool is_request_detail(std::string_view part) {
  part = trimmed(part);
  if (part.empty() || part.size() > 140) return false;
  const std::size_t equals = first_where(part, is_equals);
  if (equals != std::string_view::npos && equals > 0) {
    const std::string_view key = trimmed(part.substr(0, equals));
    const std::string_view value = trimmed(part.substr(equals + 1));
    const bool one_word = value.find(' ') == std::string_view::npos || is_duration(value);
    const bool metadata = is_metadata_key(key);
    if (metadata && one_word && !value.empty()) return true;
    return false;
  }
  if (const std::string_view key = spelt_key(part); !key.empty()) {
    const std::string_view value = trimmed(part.substr(key.size()));
    return is_id(value.starts_with("#") ? value.substr(1) : value) || is_duration(value);
  }
  Reader reader{part};
  for (const std::string_view word : {"in ", "after ", "attempt ", "try ", "at ", "pid ", "#"}) {
    if (!reader.take(word)) continue;
    const std::string_view value = reader.rest();
    if (word == "at ") {
      Reader time{value};
      return take_timestamp(time) && time.done();
    }
    const bool count = value.find_first_not_of("0123456789/ of") == std::string_view::npos;
    return count && !value.empty() && word != "in " && word != "after ";
  }
  return false;
}

// A duration. By itself it may be what failed: "no answer (30 s)".
bool is_time_taken(std::string_view part) {
  part = trimmed(part);
  for (const std::string_view word : {"in ", "after "}) {
    if (part.starts_with(word)) part.remove_prefix(word.size());
  }
  return is_duration(part);
}
bool is_exact_time(std::string_view part) {
  return is_time_taken(part) && (part.ends_with("ms") || part.find('.') != std::string_view::npos);
}

// Whether all parts separated by commas, bars or spaces are metadata.
bool is_all_metadata(std::string_view inside) {
  inside = trimmed(inside);
  if (is_request_detail(inside)) return true;
  for (const char mark : {',', ';', '|'}) {
    if (inside.find(mark) == std::string_view::npos) continue;
    std::size_t parts = 0;
    while (!inside.empty()) {
      const std::size_t end = std::min(inside.find(mark), inside.size());
      const std::string_view part = trimmed(inside.substr(0, end));
      if (!part.empty() && !is_time_taken(part)) {
        if (!is_all_metadata(part)) return false;
        ++parts;
      }
      inside.remove_prefix(std::min(end + 1, inside.size()));
    }
    return parts > 0;
  }
  std::size_t pairs = 0;
  while (!inside.empty()) {
    const std::size_t end = std::min(inside.find(' '), inside.size());
    if (end > 0) {
      if (inside.substr(0, end).find('=') == std::string_view::npos ||
          !is_request_detail(inside.substr(0, end))) {
        return false;
      }
      ++pairs;
    }
    inside.remove_prefix(std::min(end + 1, inside.size()));
  }
  return pairs > 0;
}

// Where a trailing group in brackets begins, if it is metadata.
std::size_t bracketed_tail(std::string_view text) {
  const char close = text.back();
  const char open = close == ')' ? '(' : close == ']' ? '[' : close == '}' ? '{' : '\0';
  if (open == '\0') return text.size();
  const std::size_t begin = text.rfind(open);
  if (begin == std::string_view::npos || begin == 0 || text.size() - begin > longest_tail) {
    return text.size();
  }
  const std::string_view inside = text.substr(begin + 1, text.size() - begin - 2);
  return is_all_metadata(inside) || is_exact_time(inside) ? begin : text.size();
}

// "… trace_id=4f… attempt=2": pairs after the message.
std::size_t paired_tail(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t end = begin;
    while (end > 0 && (is_blank(text[end - 1]) || text[end - 1] == ',' || text[end - 1] == ';'))
      --end;
    const std::size_t start = last_where(text.substr(0, end), is_space) + 1;  // 0 if none.
    const std::string_view pair = text.substr(start, end - start);
    if (start == 0 || pair.find('=') == std::string_view::npos || !is_request_detail(pair)) break;
    begin = start;
  }
  return begin;
}

// The last occurrence of a mark, found by its rarest character, which most texts lack.
struct TailMark {
  std::string_view text;
  std::size_t rarest;
};
std::size_t last_place_of(const TailMark& mark, std::string_view text) {
  const char rare = mark.text[mark.rarest];
  std::string_view before = text;
  while (const void* found = ::memrchr(before.data(), rare, before.size())) {
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    if (at >= mark.rarest && text.substr(at - mark.rarest).starts_with(mark.text)) {
      return at - mark.rarest;
    }
    before = text.substr(0, at);
  }
  return std::string_view::npos;
}

// "… | request id 4f…", "… - took 120ms", "…; trace: 4f…", "…. Request ID: 4f…"
std::size_t marked_tail(std::string_view text) {
  const std::string_view near = text.substr(text.size() - std::min(text.size(), longest_tail));
  const std::size_t before = text.size() - near.size();
  constexpr TailMark marks[] = {{" | ", 1}, {" - ", 1}, {" -- ", 1}, {"; ", 0},
                                {". ", 0},  {", ", 0},  {"\n", 0},   {" \xE2\x80\x94 ", 1}};
  for (const TailMark& mark : marks) {
    const std::size_t found = last_place_of(mark, near);
    if (found == std::string_view::npos || before + found == 0) continue;
    const std::string_view part = near.substr(found + mark.text.size());
    const auto tells = [](char c) { return is_equals(c) || is_digit(c); };
    if (std::any_of(part.begin(), part.end(), tells) && is_all_metadata(part))
      return before + found + (mark.text == ". " ? 1 : 0);
  }
  return text.size();
}

}  // namespace

bool cut_log_tails(std::string& text) {
  std::string_view rest = trimmed(text);
  bool changed = false;
  for (int i = 0; i < most_tails && !rest.empty(); ++i) {
    std::string_view whole = rest;
    if (whole.back() == '.') whole.remove_suffix(1);
    if (whole.empty()) break;
    const std::size_t begin =
        std::min({bracketed_tail(whole), paired_tail(whole), marked_tail(whole)});
    if (begin >= whole.size()) break;
    const std::string_view words = trimmed(whole.substr(0, begin));
    if (!has_letter(words)) break;
    rest = words;
    while (!rest.empty() && (rest.back() == '|' || rest.back() == '-' || rest.back() == ',' ||
                             is_space(rest.back()))) {
      rest.remove_suffix(1);
    }
    changed = true;
  }
  if (!changed || !has_letter(rest)) return false;
  text = std::string(rest);
  return true;
}

}  // namespace triage::inline v0_1::detail
