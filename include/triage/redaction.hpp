// SPDX-License-Identifier: MIT
#pragma once
// Removes secrets from texts and JSON before they are stored or reported.

#include "triage/json.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// Replaces a secret.
inline constexpr std::string_view redacted_mark = "[redacted]";

// Thread-safety: all members may be called from several threads at once. Must be deterministic:
// equal texts give equal texts, so that a repeated append is recognised. If it throws, writing the
// text fails.
class Redactor {
 public:
  virtual ~Redactor() = default;
  // The text without its secrets.
  [[nodiscard]] virtual std::string text(std::string_view text) const = 0;
  // Whether the value of a member with this name is a secret, whatever it looks like. The default:
  // never.
  [[nodiscard]] virtual bool names_secret(std::string_view name) const;
};

// Redacts every text in the value, every name of a member, and every whole number that is a secret
// when written as a text. A member whose name marks it as secret loses its texts and its numbers of
// six digits or more; so do the values of pairs such as ["Authorization", "Bearer …"] and {"name":
// "Cookie", "value": "…"}.
void redact(Json& value, const Redactor& redactor);
namespace detail {
// Leaves names of members and numbers as they are, for values with fields of the library.
void redact_texts(Json& value, const Redactor& redactor);
}  // namespace detail

struct CommonSecrets {
  // Texts that are always secrets, such as keys given to this process. Texts shorter than four
  // bytes are ignored. Of a longer one, the first eight bytes or more are found, too, where a text
  // was cut: at its end, and before "…".
  std::vector<std::string> known{};
  // Additional names of members, headers, variables and parameters with secret values. Case and the
  // characters - _ . do not matter.
  std::vector<std::string> names{};
};

// Finds common secrets: tokens and keys by their issuers' prefixes, private keys, passwords in
// URLs, and values after telling names ("password", "API_KEY", "Authorization:", "--token",
// "?sig="). Reads a text once, and cannot recognise a secret with neither such a shape nor such a
// name. docs/redaction.md lists what it finds and how much it misses.
[[nodiscard]] std::shared_ptr<const Redactor> common_secrets(const CommonSecrets& more = {});

}  // namespace triage::inline v0_1
