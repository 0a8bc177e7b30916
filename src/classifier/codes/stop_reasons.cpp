// SPDX-License-Identifier: MIT
#include "classifier/codes/stop_reasons.hpp"

#include "base/ascii.hpp"
#include "classifier/phrases/rules.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace triage::inline v0_1::detail {
namespace {

using enum FailureType;

constexpr std::size_t most_reasons = 16;
constexpr std::size_t longest_reason = 48;
constexpr std::size_t least_key_bytes = 7;
constexpr std::size_t most_marks = 24;  // Between the name and the reason: `": {"reason": "`.

constexpr CodeMeaning cut_off{plan_incomplete, "output_cut_off", 0.9};
constexpr CodeMeaning out_of_steps{plan_incomplete, "step_limit", 0.92};
constexpr CodeMeaning blocked{refused, "content_policy", 0.9};

struct Reason {
  std::string_view name;  // In lower case, without separators.
  CodeMeaning meaning;
};

// Sorted by name. Sources: the API references of OpenAI, Anthropic, Google, AWS Bedrock, Mistral,
// Cohere, DeepSeek, Ollama and the Model Context Protocol; the results of agent frameworks.
constexpr Reason reasons[] = {
    {"blocklist", blocked},
    {"contentfilter", blocked},
    {"contentfiltered", blocked},
    {"contextwindowexceeded", {context_overflow, "context_length", 0.9}},
    {"errormaxbudgetusd", {quota_exhausted, "quota", 0.9}},
    {"errormaxstructuredoutputretries", {schema_mismatch, "output_format", 0.88}},
    {"errormaxturns", out_of_steps},
    {"errortoxic", blocked},
    {"guardrailintervened", blocked},
    {"imagesafety", blocked},
    {"insufficientsystemresource", {external_fault, "overloaded", 0.9}},
    {"iterationlimit", out_of_steps},
    {"length", cut_off},
    {"malformedfunctioncall", {schema_mismatch, "tool_arguments", 0.88}},
    {"maxcompletiontokens", cut_off},
    {"maxiterations", out_of_steps},
    {"maxlength", cut_off},
    {"maxmessages", out_of_steps},
    {"maxnewtokens", cut_off},
    {"maxoutputtokens", cut_off},
    {"maxrounds", out_of_steps},
    {"maxsteps", out_of_steps},
    {"maxtokens", cut_off},
    {"maxturnrequests", out_of_steps},
    {"maxturns", out_of_steps},
    {"maxturnsexceeded", out_of_steps},
    {"maxturnsreached", out_of_steps},
    {"modelcontextwindowexceeded", {context_overflow, "context_length", 0.9}},
    {"modellength", cut_off},
    {"overloaded", {external_fault, "overloaded", 0.88}},
    {"prohibitedcontent", blocked},
    {"recursionlimit", out_of_steps},
    {"refusal", {refused, "model_refusal", 0.9}},
    {"safety", blocked},
    {"spii", blocked},
    {"steplimit", out_of_steps},
    {"tokenlimit", cut_off},
    {"turnlimit", out_of_steps},
    {"unexpectedtoolcall", {wrong_tool_called, "tool_not_found", 0.85}},
};
static_assert(std::is_sorted(std::begin(reasons), std::end(reasons),
                             [](const Reason& a, const Reason& b) { return a.name < b.name; }));

// Names before a reason, in lower case, without separators.
constexpr std::array<std::string_view, 11> keys{
    "finishreason",      "stopreason",        "donereason",      "incompletedetails",
    "terminationreason", "completionreason",  "finishdetails",   "nativefinishreason",
    "stoptype",          "reasonforstopping", "incompletereason"};

// A table: every byte of every text is looked at.
constexpr std::array<bool, 256> reason_bytes = [] {
  std::array<bool, 256> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    const char byte = static_cast<char>(c);
    bytes[c] = is_letter(byte) || byte == '_' || byte == '-';
  }
  return bytes;
}();
bool is_reason_byte(char c) { return reason_bytes[static_cast<unsigned char>(c)]; }

// A word in lower case without separators; empty if it is too long.
class Folded {
 public:
  explicit Folded(std::string_view word) {
    if (word.size() > longest_reason) return;
    for (const char c : word) {
      if (is_letter(c)) bytes_[size_++] = lower(c);
    }
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, longest_reason> bytes_{};
  std::size_t size_ = 0;
};

bool is_key(std::string_view word) {
  return std::find(keys.begin(), keys.end(), Folded(word).view()) != keys.end();
}

// Most words end in another letter. Separators may follow the last one.
constexpr std::array<bool, 256> key_ends = [] {
  std::array<bool, 256> ends{};
  for (std::size_t c = 0; c < ends.size(); ++c) {
    const char byte = static_cast<char>(c);
    ends[c] = !is_letter(byte) || std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
      return key.back() == lower(byte);
    });
  }
  return ends;
}();
bool may_end_key(char last) { return key_ends[static_cast<unsigned char>(last)]; }

std::string_view take_word(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_reason_byte(text[end])) ++end;
  return text.substr(at, end - at);
}

// Words that may be between a name and its reason: `{"reason": …`, `is`, `FinishReason.`.
bool leads_on(std::string_view word) {
  constexpr std::array<std::string_view, 6> words{"reason",       "is",   "was",
                                                  "finishreason", "type", "stopreason"};
  return std::find(words.begin(), words.end(), Folded(word).view()) != words.end();
}

class Search {
 public:
  Search(std::string_view text, std::vector<TextCode>& codes) : text_(text), codes_(codes) {}

  void run() {
    const std::string_view text = text_;  // A local: the compiler need not reload it.
    std::size_t begin = 0;
    while (begin + least_key_bytes <= text.size()) {
      // Most words are too short, which shows soonest from behind.
      std::size_t last = begin + least_key_bytes;
      while (last > begin && is_reason_byte(text[last - 1])) --last;
      if (last > begin) {
        begin = last;
        continue;
      }
      const std::string_view word = take_word(text, begin);
      begin += word.size();
      if (codes_.size() >= most_reasons) return;
      if (word.size() > least_key_bytes && may_end_key(word.back()) && is_key(word)) {
        look_behind_key(begin);
      }
      if (word == "subtype") look_behind_key(begin);  // Of an agent's result.
    }
  }

 private:
  void look_behind_key(std::size_t at) {
    const std::size_t limit = at + most_marks;
    std::string_view word;
    for (; at < text_.size() && at < limit; at += std::max<std::size_t>(1, word.size())) {
      if (text_[at] == '\n' || text_[at] == ';') return;
      word = take_word(text_, at);
      if (word.empty() || leads_on(word)) continue;
      const auto meaning = stop_reason_meaning(word);
      if (meaning) codes_.push_back({"stop_reason", word, *meaning});
      return;
    }
  }

  std::string_view text_;
  std::vector<TextCode>& codes_;
};

}  // namespace

std::optional<CodeMeaning> stop_reason_meaning(std::string_view reason) noexcept {
  const Folded folded(reason);
  const auto found = std::lower_bound(
      std::begin(reasons), std::end(reasons), folded.view(),
      [](const Reason& known, std::string_view name) { return known.name < name; });
  if (found == std::end(reasons) || found->name != folded.view()) return std::nullopt;
  return found->meaning;
}

void find_stop_reasons(std::string_view text, std::vector<TextCode>& codes) {
  if (text.size() <= 2 * text_window_bytes) {
    Search(text, codes).run();
    return;
  }
  Search(text.substr(0, text_window_bytes), codes).run();
  Search(text.substr(text.size() - text_window_bytes), codes).run();
}

}  // namespace triage::inline v0_1::detail
