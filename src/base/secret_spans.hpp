// SPDX-License-Identifier: MIT
#pragma once
// Where in a text secrets are. Private.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;  // One behind the last byte.
};
using Spans = std::vector<Span>;

// The name in lower case without the characters - _ . and space: "X-Api-Key" is "xapikey".
[[nodiscard]] std::string flat_name(std::string_view name);
// Whether what has this name is a secret: "DB_PASSWORD", "accessToken", "Set-Cookie", but not
// "max_tokens" and "next_page_token".
[[nodiscard]] bool is_secret_name(std::string_view name);
// Whether it is a password: any value is a secret then, however plain it looks.
[[nodiscard]] bool is_password_name(std::string_view name);

// Tokens by their beginnings, private keys, passwords in URLs. Both add what they find, in any
// order; spans may overlap.
void find_shapes(std::string_view text, Spans& found);

// Values behind names: "password=…", "Authorization: …", "--token …", "<secret>…</secret>".
// is_more: further names, flat.
void find_named(std::string_view text, const std::vector<std::string>& more, Spans& found);

}  // namespace triage::inline v0_1::detail
