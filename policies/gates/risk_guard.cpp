// SPDX-License-Identifier: MIT
#include "triage/policies/risk_guard.hpp"

#include "base/ascii.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t most_bytes = 256U << 10U;

using detail::is_digit;
using detail::is_lower;
using detail::is_upper;
using Words = std::set<std::string, std::less<>>;

// Bytes beyond ASCII count as letters, so words of other scripts stay whole.
bool is_word(char c) { return detail::is_alnum(c) || static_cast<unsigned char>(c) >= 0x80U; }

// True if a word ends before text[i]: in "aB", before the B of "ABc", between a letter and a digit.
bool ends_before(std::string_view text, std::size_t i) {
  const char before = text[i - 1];
  const char here = text[i];
  if (is_digit(before) != is_digit(here)) return true;
  if (is_lower(before) && is_upper(here)) return true;
  return is_upper(before) && is_upper(here) && i + 1 < text.size() && is_lower(text[i + 1]);
}

void add_words(std::string_view text, Words& words) {
  std::string word;
  std::string joined;  // Identifiers also as a whole: "rm", "droptable" for "dropTable".
  const auto finish = [&](std::string& one) {
    if (!one.empty()) words.insert(std::exchange(one, {}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_word(text[i])) {
      finish(word);
      finish(joined);
      continue;
    }
    if (!word.empty() && ends_before(text, i)) finish(word);
    word += detail::lower(text[i]);
    joined += detail::lower(text[i]);
  }
  finish(word);
  finish(joined);
}

// Collects the words of all keys and texts, without recursion; false if there are too many.
bool add_json_words(const Json& input, Words& words) {
  std::size_t bytes = 0;
  std::deque<Json> texts;  // Parsed from text; kept alive, and where they are, while in use.
  std::vector<const Json*> open{&input};
  while (!open.empty()) {
    const Json& value = *open.back();
    open.pop_back();
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      bytes += text.size();
      if (bytes > most_bytes) return false;
      add_words(text, words);
      const auto first = text.find_first_not_of(" \t\r\n");
      const bool may_be_json = first != std::string::npos &&
                               (text[first] == '{' || text[first] == '[' || text[first] == '"');
      if (!may_be_json) continue;
      Json inner = Json::parse(text, nullptr, false);
      if (inner.is_discarded()) continue;
      texts.push_back(std::move(inner));
      open.push_back(&texts.back());
    } else if (value.is_structured()) {
      for (const auto& [key, element] : value.items()) {
        if (value.is_object()) {
          bytes += key.size();
          if (bytes > most_bytes) return false;
          add_words(key, words);
        }
        open.push_back(&element);
      }
    }
  }
  return true;
}

std::string problem_of(const RiskRules& rules) {
  const auto within = [](double value) { return value >= 0.0 && value <= 1.0; };
  if (!within(rules.ask_at) || !within(rules.deny_at) || rules.ask_at <= 0.0 ||
      rules.ask_at > rules.deny_at) {
    return "ask_at is " + std::to_string(rules.ask_at) + " and deny_at is " +
           std::to_string(rules.deny_at) + "; allowed is 0 < ask_at <= deny_at <= 1";
  }
  std::set<std::string> names;
  for (const RiskRule& rule : rules.rules) {
    const std::string which = "rule \"" + printable(rule.name) + "\"";
    if (rule.name.empty() || !names.insert(rule.name).second) {
      return which + " needs a name of its own";
    }
    if (!within(rule.risk)) {
      return which + " has risk " + std::to_string(rule.risk) + "; allowed is 0 to 1";
    }
    if (rule.words.empty()) return which + " has no words; allowed is at least one";
    for (const std::string& word : rule.words) {
      const bool whole = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return is_word(c) && !is_upper(c);
      });
      if (!whole) {
        return which + " has the word \"" + printable(word) +
               "\"; allowed are lower-case letters and digits";
      }
    }
  }
  return {};
}

class RiskGuard final : public StepGuard {
 public:
  explicit RiskGuard(RiskRules rules) : rules_(std::move(rules)), problem_(problem_of(rules_)) {}

  [[nodiscard]] GuardVerdict judge(const Step& step) const override {
    if (!problem_.empty()) {
      return {.kind = GuardVerdict::Kind::deny, .risk = 1.0, .reason = problem_};
    }
    Words tool;
    Words input;
    add_words(step.tool_called.value_or(step.action), tool);
    const bool all = add_json_words(step.tool_input, input);
    double safe = 1.0;
    std::string names;
    for (const RiskRule& rule : rules_.rules) {
      if (!fits(rule, tool, input)) continue;
      safe *= 1.0 - rule.risk;
      names += (names.empty() ? "" : ", ") + rule.name;
    }
    return verdict(1.0 - safe, names, all);
  }

 private:
  static bool fits(const RiskRule& rule, const Words& tool, const Words& input) {
    return std::all_of(rule.words.begin(), rule.words.end(), [&](const std::string& word) {
      return (rule.where != RiskRule::Where::input && tool.contains(word)) ||
             (rule.where != RiskRule::Where::tool && input.contains(word));
    });
  }

  GuardVerdict verdict(double risk, const std::string& names, bool all) const {
    char text[32];
    std::snprintf(text, sizeof text, "risk %.2f", risk);
    GuardVerdict found{.risk = risk, .reason = text};
    if (!names.empty()) found.reason += " (" + names + ")";
    // Ratios are added, so the last digit may be off.
    constexpr double rounding = 1e-9;
    if (risk + rounding >= rules_.deny_at) {
      found.kind = GuardVerdict::Kind::deny;
    } else if (risk + rounding >= rules_.ask_at) {
      found.kind = GuardVerdict::Kind::ask;
    } else if (!all) {
      found.kind = GuardVerdict::Kind::ask;
      found.reason += "; its input is too long to be read";
    }
    return found;
  }

  RiskRules rules_;
  std::string problem_;
};

}  // namespace

const RiskRules& default_risk_rules() {
  using Where = RiskRule::Where;
  static const RiskRules rules{.rules = {
                                   {"deletes", Where::tool, {"delete"}, 0.6},
                                   {"removes", Where::tool, {"remove"}, 0.5},
                                   {"drops", Where::tool, {"drop"}, 0.6},
                                   {"destroys", Where::any, {"destroy"}, 0.6},
                                   {"erases", Where::tool, {"erase"}, 0.6},
                                   {"wipes", Where::any, {"wipe"}, 0.6},
                                   {"purges", Where::any, {"purge"}, 0.6},
                                   {"terminates", Where::tool, {"terminate"}, 0.5},
                                   {"overwrites", Where::any, {"overwrite"}, 0.5},
                                   {"pays", Where::tool, {"pay"}, 0.6},
                                   {"makes a payment", Where::tool, {"payment"}, 0.6},
                                   {"charges", Where::tool, {"charge"}, 0.6},
                                   {"transfers", Where::tool, {"transfer"}, 0.6},
                                   {"refunds", Where::tool, {"refund"}, 0.6},
                                   {"buys", Where::tool, {"purchase"}, 0.6},
                                   {"sends", Where::tool, {"send"}, 0.5},
                                   {"publishes", Where::tool, {"publish"}, 0.5},
                                   {"deploys", Where::tool, {"deploy"}, 0.5},
                                   {"runs a shell", Where::tool, {"shell"}, 0.5},
                                   {"runs bash", Where::tool, {"bash"}, 0.5},
                                   {"executes", Where::tool, {"exec"}, 0.5},
                                   {"executes code", Where::tool, {"execute"}, 0.3},
                                   {"evaluates code", Where::tool, {"eval"}, 0.5},
                                   {"becomes root", Where::any, {"sudo"}, 0.6},
                                   {"grants rights", Where::tool, {"grant"}, 0.5},
                                   {"changes rights", Where::any, {"chmod"}, 0.5},
                                   {"deletes files", Where::input, {"rm", "rf"}, 0.9},
                                   {"drops tables", Where::input, {"drop", "table"}, 0.9},
                                   {"drops databases", Where::input, {"drop", "database"}, 0.9},
                                   {"deletes rows", Where::input, {"delete", "from"}, 0.6},
                                   {"truncates tables", Where::input, {"truncate", "table"}, 0.9},
                                   {"forces a push", Where::input, {"push", "force"}, 0.6},
                                   {"formats disks", Where::any, {"mkfs"}, 0.9},
                                   {"writes to disks", Where::input, {"dd", "of", "dev"}, 0.9},
                                   {"everything at once", Where::input, {"all", "true"}, 0.2},
                                   {"uses a password", Where::input, {"password"}, 0.3},
                                   {"uses a private key", Where::input, {"private", "key"}, 0.3},
                               }};
  return rules;
}

std::shared_ptr<const StepGuard> risk_guard(RiskRules rules) {
  return std::make_shared<RiskGuard>(std::move(rules));
}

}  // namespace triage::inline v0_1
