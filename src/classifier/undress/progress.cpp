// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"
#include "search/word_set.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr int most_prefixes = 4;
constexpr std::size_t longest_prefix = 140;
constexpr std::size_t most_words = 20;

constexpr WordSet work_nouns(std::to_array<std::string_view>(
    {"step",    "steps",   "stage",    "phase",    "task", "subtask",  "job",
     "attempt", "try",     "item",     "run",      "node", "worker",   "agent",
     "batch",   "round",   "workflow", "pipeline", "flow", "activity", "graph",
     "chain",   "episode", "chapter",  "iteration"}));
constexpr WordSet failing_verbs(std::to_array<std::string_view>(
    {"failed", "errored", "crashed", "raised", "threw", "broke", "died", "failure", "failing",
     "fails", "error", "errors", "unsuccessful"}));
// Then the work continues, or the words say more than where it failed.
constexpr WordSet other_words(std::to_array<std::string_view>({"retry", "retrying", "retried",
                                                               "again", "ignored", "ignoring",
                                                               "skipped", "skipping", "continuing",
                                                               "recovered", "not", "no"}));

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

struct Prefix {
  std::array<std::string_view, most_words> words{};
  std::size_t count = 0;
  bool whole = true;  // No words were left out.

  explicit Prefix(std::string_view text) {
    Reader reader{text};
    while (!reader.done()) {
      reader.take_while([](char c) { return !is_word(c) && !is_high(c); });
      const std::string_view word = reader.take_while(
          [](char c) { return is_word(c) || is_high(c) || c == '-' || c == '.' || c == '\''; });
      if (word.empty()) continue;
      if (count == words.size()) {
        whole = false;
        return;
      }
      words[count++] = word;
    }
  }
  template <class Is>
  [[nodiscard]] std::size_t find(Is is) const {
    std::size_t i = 0;
    while (i < count && !is(words[i])) ++i;
    return i;
  }
};

// "Step 4 of 7 failed while sending", "Task mailer failed", "[3/7] build: error in job 12"
bool tells_progress(const Prefix& prefix) {
  if (!prefix.whole || prefix.count < 2) return false;
  const std::size_t verb = prefix.find([](auto w) { return failing_verbs.contains(w); });
  if (verb == prefix.count) return false;
  const std::size_t noun = prefix.find([](auto w) { return work_nouns.contains(w); });
  if (noun == prefix.count) return false;
  if (prefix.find([](auto w) { return other_words.contains(w); }) < prefix.count) return false;
  constexpr std::size_t near = 5;
  // The work itself failed, or an error occurred in it; details follow.
  return noun <= near && verb <= noun + near &&
         (noun < verb || prefix.find(is_number) < prefix.count || prefix.count <= 4);
}

// "Giving up after 3 attempts"
bool tells_attempts(const Prefix& prefix) {
  const std::size_t up = prefix.find([](auto w) { return same_word(w, "up"); });
  if (up == 0 || up >= prefix.count || prefix.count > 6) return false;
  const std::string_view verb = prefix.words[up - 1];
  return same_word(verb, "giving") || same_word(verb, "gave") || same_word(verb, "given");
}

// "[3/7] ", "(3/7) ", "3/7: ", "[step 3] "
std::size_t counter_at_start(std::string_view text) {
  Reader reader{text};
  const bool bracket = reader.take('[') || reader.take('(');
  if (bracket) {
    reader.take_while(is_letter);
    reader.take_while([](char c) { return is_blank(c) || c == '#'; });
  }
  if (!reader.digits(1, 6)) return 0;
  const bool of = reader.take('/') || reader.take(" of ");
  if (of && !reader.digits(1, 6)) return 0;
  if (bracket ? !(reader.take(']') || reader.take(')')) : !of) return 0;
  if (bracket && !of && text.find_first_of("0123456789") == 1) return 0;  // A code: "[13] …".
  const bool colon = reader.take(':');
  if (!bracket && !colon) return 0;  // "2 of 5 parts are done" is part of the message.
  if (!is_blank(reader.next())) return 0;
  return reader.at + 1;
}

// Crosses, warning signs, other pictographs and bullets.
std::size_t picture_at_start(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && end < 12) {
    const auto byte = static_cast<unsigned char>(text[end]);
    const auto second = end + 1 < text.size() ? static_cast<unsigned char>(text[end + 1]) : 0U;
    if (byte == 0xF0 && second == 0x9F) {
      end += 4;
    } else if (byte == 0xE2 && second >= 0x94 && second <= 0xAF) {
      end += 3;
    } else if (byte == 0xEF && second == 0xB8) {
      end += 3;
    } else if (byte == 0xC3 && second == 0x97) {
      end += 2;
    } else {
      break;
    }
  }
  if (end == 0 && text.size() > 2 && (text[0] == '>' || text[0] == '*' || text[0] == '-')) end = 1;
  if (end == 0 || end >= text.size() || !is_blank(text[end])) return 0;
  return end + 1;
}

std::size_t words_in(std::string_view text) {
  return Prefix(text.substr(0, 2 * longest_prefix)).count;
}

// The length of the prefix before the message; 0 if there is none.
std::size_t prefix_of(std::string_view text) {
  if (const std::size_t picture = picture_at_start(text)) return picture;
  if (const std::size_t counter = counter_at_start(text)) return counter;
  if (const std::size_t name = exception_name_at_start(text);
      name != 0 && name + 1 < text.size() && is_common_exception(text.substr(0, name))) {
    return name + 1;
  }
  const std::string_view line = text.substr(0, std::min(text.find('\n'), longest_prefix));
  std::size_t from = 0;
  for (int colons = 0; colons < 3; ++colons) {
    std::size_t colon = line.find(':', from);
    if (colon == std::string_view::npos) break;
    from = colon + 1;
    const bool ends = from >= text.size() || is_space(text[from]);
    if (!ends) continue;
    const std::string_view prefix = line.substr(0, colon);
    const auto opens = [](char c) { return c == '{' || c == '<' || c == '"'; };
    if (std::any_of(prefix.begin(), prefix.end(), opens)) break;
    const Prefix words(prefix);
    if (tells_progress(words) || tells_attempts(words)) return from;
    if (colons == 0 && words.count > 1 && says_little(prefix)) return from;
  }
  return 0;
}

}  // namespace

bool cut_progress(std::string& text) {
  std::string_view rest = trimmed(text);
  bool changed = false;
  for (int i = 0; i < most_prefixes; ++i) {
    const std::size_t length = prefix_of(rest);
    if (length == 0) break;
    const std::string_view words = trimmed(rest.substr(length));
    if (words_in(words) < 2 || !has_letter(words) || says_little(words)) break;
    rest = words;
    changed = true;
  }
  if (!changed) return false;
  text = std::string(rest);
  return true;
}

}  // namespace triage::inline v0_1::detail
