// SPDX-License-Identifier: MIT
// Secrets recognised by their shape.
#include "base/ascii.hpp"
#include "redaction/secret_spans.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

bool is_word(char c) { return is_alnum(c) || c == '_' || c == '-'; }
bool is_dotted(char c) { return is_word(c) || c == '.'; }
bool is_base64(char c) {
  return is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '_' || c == '-';
}
bool is_header_token(char c) { return is_base64(c) || c == '.' || c == '~' || c == ':'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

using Allowed = bool (*)(char);

std::size_t run_end(std::string_view text, std::size_t at, Allowed allowed) {
  while (at < text.size() && allowed(text[at])) ++at;
  return at;
}

// The prefix of an issuer's tokens, and the least number of bytes after it.
struct Shape {
  std::string_view start;
  std::size_t least = 0;
  Allowed allowed = &is_word;
};
// Sources: the issuers' documentation of their formats, as of 2026.
constexpr std::array shapes{
    Shape{"sk-", 20},
    Shape{"sk_live_", 10},
    Shape{"sk_test_", 10},
    Shape{"rk_live_", 10},
    Shape{"rk_test_", 10},
    Shape{"whsec_", 16, &is_base64},
    Shape{"ghp_", 20},
    Shape{"gho_", 20},
    Shape{"ghu_", 20},
    Shape{"ghs_", 20},
    Shape{"ghr_", 20},
    Shape{"github_pat_", 20},
    Shape{"glpat-", 16},
    Shape{"gldt-", 16},
    Shape{"glrt-", 16},
    Shape{"xoxb-", 10},
    Shape{"xoxp-", 10},
    Shape{"xoxa-", 10},
    Shape{"xoxr-", 10},
    Shape{"xoxs-", 10},
    Shape{"xapp-", 10},
    Shape{"AKIA", 16},
    Shape{"ASIA", 16},
    Shape{"AIza", 30},
    Shape{"ya29.", 20, &is_dotted},
    Shape{"GOCSPX-", 20},
    Shape{"1//0", 30},
    Shape{"npm_", 30},
    Shape{"pypi-", 40},
    Shape{"rubygems_", 30},
    Shape{"SG.", 30, &is_dotted},
    Shape{"hf_", 20},
    Shape{"gsk_", 20},
    Shape{"r8_", 20},
    Shape{"xai-", 20},
    Shape{"pplx-", 20},
    Shape{"nvapi-", 20},
    Shape{"dop_v1_", 20},
    Shape{"doo_v1_", 20},
    Shape{"shpat_", 20},
    Shape{"shpca_", 20},
    Shape{"shppa_", 20},
    Shape{"shpss_", 20},
    Shape{"lin_api_", 20},
    Shape{"ntn_", 30},
    Shape{"secret_", 40},
    Shape{"figd_", 20},
    Shape{"PMAK-", 24},
    Shape{"NRAK-", 20},
    Shape{"dapi", 32},
    Shape{"AGE-SECRET-KEY-1", 20},
    Shape{"hvs.", 20},
    Shape{"hvb.", 20},
    Shape{"tskey-", 16},
    Shape{"dckr_pat_", 20},
    Shape{"glsa_", 20},
    Shape{"sq0atp-", 16},
    Shape{"sq0csp-", 16},
    Shape{"ATATT3", 24, &is_base64},
    Shape{"EAACEdEose0cBA", 10},
    Shape{"sntrys_", 20, &is_base64},
    Shape{"pul-", 32},
    Shape{"AccountKey=", 20, &is_base64},
    Shape{"key-", 32},
    Shape{"sbp_", 32},
    Shape{"CCIPAT_", 20},
    Shape{"vercel_", 20},
};

void find_tokens(std::string_view text, Spans& found) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_word(text, at)) continue;
    for (const Shape& shape : shapes) {
      if (text[at] != shape.start.front() || !text.substr(at).starts_with(shape.start)) continue;
      const std::size_t end = run_end(text, at + shape.start.size(), shape.allowed);
      if (end - at - shape.start.size() < shape.least) continue;
      found.push_back({at, end});
      at = end - 1;  // Never scanned again, so the search stays linear.
      break;
    }
  }
}

// "eyJ…": three base64 parts separated by dots; the last may be empty.
void find_web_tokens(std::string_view text, Spans& found) {
  constexpr std::size_t least = 30;
  std::size_t end = 0;
  for (std::size_t at = text.find("eyJ"); at != std::string_view::npos;
       at = text.find("eyJ", std::max(end, at + 3))) {
    if (!begins_word(text, at)) continue;
    end = run_end(text, at, &is_dotted);
    const std::string_view token = text.substr(at, end - at);
    if (token.size() >= least && std::count(token.begin(), token.end(), '.') >= 2) {
      found.push_back({at, end});
    }
  }
}

// "SK" and 32 hexadecimal digits.
void find_hex_keys(std::string_view text, Spans& found) {
  constexpr std::size_t digits = 32;
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (std::size_t at = text.find("SK"); at != std::string_view::npos;
       at = text.find("SK", at + 1)) {
    if (!begins_word(text, at)) continue;
    const std::size_t end = run_end(text, at + 2, hex);
    if (end - at - 2 == digits) found.push_back({at, end});
  }
}

// "123456789:AA…": a bot token.
void find_bot_tokens(std::string_view text, Spans& found) {
  constexpr std::size_t least_number = 8;
  constexpr std::size_t length = 35;
  for (std::size_t at = text.find(":AA"); at != std::string_view::npos;
       at = text.find(":AA", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    const std::size_t end = run_end(text, at + 1, &is_word);
    if (at - begin >= least_number && end - at - 1 >= length) found.push_back({begin, end});
  }
}

void find_private_keys(std::string_view text, Spans& found) {
  constexpr std::string_view begins = "-----BEGIN ";
  constexpr std::string_view ends = "-----END ";
  for (std::size_t at = text.find(begins); at != std::string_view::npos;
       at = text.find(begins, at + begins.size())) {
    const std::size_t name = at + begins.size();
    const std::size_t dashes = text.find("-----", name);
    if (dashes == std::string_view::npos) return;
    if (text.substr(name, dashes - name).find("PRIVATE KEY") == std::string_view::npos) continue;
    const std::size_t end = std::min(text.find(ends, dashes), text.size());
    found.push_back({dashes + 5, end});
    if (end == text.size()) return;  // The key was cut off.
    at = end;
  }
}

// Where the base 64 begins that ends before `end`: a part of a line, and the whole lines above it.
std::size_t body_begin(std::string_view text, std::size_t end) {
  const auto is_body = [](char c) { return is_base64(c) || c == '\\' || c == '\r'; };
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t at = end;
  const auto go_back = [&](auto allowed) {
    while (at > 0 && allowed(text[at - 1])) --at;
  };
  go_back(is_body);
  std::size_t begin = at;
  for (;;) {
    go_back(is_blank);
    if (at > 0 && text[at - 1] != '\n') return begin;
    begin = at;
    if (at < 2 || !is_body(text[at - 2])) return begin;
    --at;
    go_back(is_body);
  }
}

// The ends of keys whose beginnings are lost.
void find_private_key_ends(std::string_view text, Spans& found) {
  constexpr std::string_view ends = "-----END ";
  std::size_t done = 0;
  for (std::size_t at = text.find(ends); at != std::string_view::npos; at = text.find(ends, done)) {
    const std::string_view before = text.substr(done, at - done);
    const std::size_t name = at + ends.size();
    done = name;
    const std::string_view line = text.substr(name, text.find_first_of("\r\n", name) - name);
    if (line.substr(0, line.find("-----")).find("PRIVATE KEY") == std::string_view::npos ||
        before.find("-----BEGIN ") != std::string_view::npos) {
      continue;
    }
    const std::size_t begin = body_begin(text, at);
    if (begin < at) found.push_back({begin, at});
  }
}

// "scheme://user:password@host". A name alone is a secret if it is long enough to be a token.
void find_in_urls(std::string_view text, Spans& found) {
  constexpr std::string_view ends = "/?#\"'<>`";
  constexpr std::size_t token = 20;
  for (std::size_t at = text.find("://"); at != std::string_view::npos;
       at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    std::size_t end = begin;
    while (end < text.size() && !is_space(text[end]) &&
           ends.find(text[end]) == std::string_view::npos) {
      ++end;
    }
    const std::string_view authority = text.substr(begin, end - begin);
    const std::size_t user_end = authority.rfind('@');
    if (user_end == std::string_view::npos) continue;
    const std::size_t colon = authority.find(':');
    if (colon < user_end) {
      found.push_back({begin + colon + 1, begin + user_end});
    } else if (user_end >= token) {
      found.push_back({begin, begin + user_end});
    }
  }
}

bool looks_random(std::string_view text) {
  const auto has = [text](Allowed one) { return std::any_of(text.begin(), text.end(), one); };
  const bool digit = has([](char c) { return c >= '0' && c <= '9'; });
  const bool small = has([](char c) { return c >= 'a' && c <= 'z'; });
  const bool capital = has([](char c) { return c >= 'A' && c <= 'Z'; });
  return digit || (small && capital) || text.ends_with('=');
}

// "Bearer TOKEN", "Basic BASE64", in headers and outside of them.
void find_schemes(std::string_view text, Spans& found) {
  constexpr std::array<std::string_view, 2> schemes{"bearer ", "basic "};
  constexpr std::size_t least = 8;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_word(text, at)) continue;
    for (const std::string_view scheme : schemes) {
      const auto same = [](char given, char known) { return lower(given) == known; };
      if (text.size() - at <= scheme.size() ||
          !std::equal(scheme.begin(), scheme.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                      [&](char known, char given) { return same(given, known); })) {
        continue;
      }
      const std::size_t begin = at + scheme.size();
      const std::size_t end = run_end(text, begin, &is_header_token);
      const std::string_view token = text.substr(begin, end - begin);
      if (token.size() >= least && looks_random(token)) found.push_back({begin, end});
    }
  }
}

// URLs that are secrets themselves: anyone who knows one can post there.
void find_hooks(std::string_view text, Spans& found) {
  constexpr std::array<std::string_view, 3> hooks{
      "hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"};
  for (const std::string_view hook : hooks) {
    for (std::size_t at = text.find(hook); at != std::string_view::npos;
         at = text.find(hook, at + 1)) {
      const std::size_t begin = at + hook.size();
      const std::size_t end = run_end(text, begin, &is_base64);
      if (end > begin) found.push_back({begin, end});
    }
  }
}

}  // namespace

bool is_behind_escape(std::string_view text, std::size_t at) {
  constexpr std::size_t longest_colour = 24;
  const auto hex = [](char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); };
  if (at < 2 || at > text.size()) return false;
  const char last = text[at - 1];
  if (text[at - 2] == '\\') return is_letter(last);
  if (at >= 3 && text[at - 3] == '%') return hex(text[at - 2]) && hex(last);
  if (last != 'm') return false;
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < longest_colour &&
         (is_digit(text[begin - 1]) || text[begin - 1] == ';')) {
    --begin;
  }
  return begin > 0 && text[begin - 1] == '[';
}

bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || !is_alnum(text[at - 1]) || is_behind_escape(text, at);
}

void find_shapes(std::string_view text, Spans& found) {
  find_tokens(text, found);
  find_web_tokens(text, found);
  find_hex_keys(text, found);
  find_bot_tokens(text, found);
  find_private_keys(text, found);
  find_private_key_ends(text, found);
  find_in_urls(text, found);
  find_schemes(text, found);
  find_hooks(text, found);
}

}  // namespace triage::inline v0_1::detail
