// SPDX-License-Identifier: MIT
#pragma once
// Finds the secrets in a text. Private.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;  // One past the last byte.
};
using Spans = std::vector<Span>;

// Whether an escape ends before text[at], so that a letter or digit there belongs to it and not to
// what follows: a colour ("[31m"), a backslash and a letter ("\n"), a byte of a URL ("%3D").
[[nodiscard]] bool is_behind_escape(std::string_view text, std::size_t at);
// Whether a word may begin at text[at].
[[nodiscard]] bool begins_word(std::string_view text, std::size_t at);

// The name in lower case without '-', '_', '.' and spaces: "X-Api-Key" becomes "xapikey".
[[nodiscard]] std::string flat_name(std::string_view name);
// Whether a value with this name is a secret: true for "DB_PASSWORD", "accessToken", "Set-Cookie",
// false for "max_tokens" and "next_page_token".
[[nodiscard]] bool is_secret_name(std::string_view name);
// Whether it names a password: then every value is a secret, however plain it looks.
[[nodiscard]] bool is_password_name(std::string_view name);

// Tokens by prefix, private keys, passwords in URLs. Both functions append what they find, in any
// order; spans may overlap.
void find_shapes(std::string_view text, Spans& found);

// Values after names: "password=…", "Authorization: …", "--token …", "<secret>…</secret>". more:
// additional names, flat.
void find_named(std::string_view text, const std::vector<std::string>& more, Spans& found);

}  // namespace triage::inline v0_1::detail
