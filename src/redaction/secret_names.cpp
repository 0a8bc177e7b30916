// SPDX-License-Identifier: MIT
// Names that mark their value as a secret.
#include "base/ascii.hpp"
#include "redaction/secret_spans.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

bool joins(char c) { return c == '-' || c == '_' || c == '.' || c == ' '; }

// The words of "maxTokens", "MAX_TOKENS" and "max-tokens", in lower case, without digits behind.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool hump = i > 0 && is_upper(name[i]) && !is_upper(name[i - 1]);
    if ((joins(name[i]) || hump) && !words.back().empty()) words.emplace_back();
    if (!joins(name[i])) words.back() += lower(name[i]);
  }
  for (std::string& word : words) {
    while (!word.empty() && is_digit(word.back())) word.pop_back();
  }
  std::erase(words, "");
  return words;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// "…token" after one of these words is a language model's token or a page cursor, not a secret.
constexpr std::array<std::string_view, 22> harmless_tokens{
    "page",  "next",   "stop",         "eos",   "bos",    "pad",       "unk",     "sep",
    "cls",   "mask",   "continuation", "sync",  "cursor", "max",       "special", "per",
    "input", "output", "prompt",       "first", "last",   "unexpected"};
// Words before "key" that make the key a secret.
constexpr std::array<std::string_view, 19> secret_keys{
    "api",     "access",  "secret", "private", "signing",      "encryption", "master",
    "account", "auth",    "shared", "session", "subscription", "functions",  "storage",
    "deploy",  "service", "role",   "license", "webhook"};

}  // namespace

std::string flat_name(std::string_view name) {
  std::string flat;
  for (const char c : name) {
    if (!joins(c)) flat += lower(c);
  }
  return flat;
}

bool is_password_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> endings{"password", "passwd",   "passphrase",
                                                    "pwd",      "passcode", "passwort"};
  const std::vector<std::string> words = words_of(name);
  if (words.empty()) return false;
  const std::string& last = words.back();
  return last == "pass" || last == "pw" ||
         std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return last.ends_with(ending); });
}

bool is_secret_name(std::string_view name) {
  constexpr std::size_t longest = 64;
  constexpr std::array<std::string_view, 17> last_words{
      "secret",    "secrets", "credential", "credentials", "authorization", "cookie",
      "jwt",       "sid",     "auth",       "sig",         "signature",     "otp",
      "sessionid", "apikey",  "secretkey",  "accesskey",   "privatekey"};
  if (name.size() > longest) return false;
  if (is_password_name(name)) return true;
  const std::vector<std::string> words = words_of(name);
  if (words.empty()) return false;
  const std::string& last = words.back();
  const std::string_view before = words.size() > 1 ? words[words.size() - 2] : std::string_view();
  if (is_one_of(last_words, last)) return true;
  if (last == "id") return before == "session";
  if (last == "hash") return is_password_name(before);
  if (last == "base") return before == "key";
  if (last.ends_with("token")) return !is_one_of(harmless_tokens, before);
  if (last != "key") return last.ends_with("apikey") || last.ends_with("secret");
  // An environment variable such as OPENAI_KEY.
  const bool variable =
      std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_one_of(secret_keys, before) ||
         (variable && words.size() > 1 && before != "primary" && before != "foreign" &&
          before != "public" && before != "sort" && before != "cache");
}

}  // namespace triage::inline v0_1::detail
