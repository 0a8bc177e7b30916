// SPDX-License-Identifier: MIT
#pragma once
// Removes secrets from texts and JSON before they are stored or reported.

#include "triage/json.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// Stands where a secret was.
inline constexpr std::string_view redacted_mark = "[redacted]";

// Thread-safety: all members may be called from several threads at once. Must be deterministic:
// equal texts give equal texts, so that a repeated append is recognised. An exception counts as a
// failure to write what was to be redacted.
class Redactor {
 public:
  virtual ~Redactor() = default;
  // The text without its secrets.
  [[nodiscard]] virtual std::string text(std::string_view text) const = 0;
  // Whether what a member of this name holds is a secret, whatever it looks like. The default:
  // never.
  [[nodiscard]] virtual bool names_secret(std::string_view name) const;
};

// Applies it to every text in the value; names of members stay as they are. A member whose name
// says that it is a secret loses its texts, and its numbers of six digits or more. So do the values
// of pairs such as ["Authorization", "Bearer …"] and {"name": "Cookie", "value": "…"}.
void redact(Json& value, const Redactor& redactor);

struct CommonSecrets {
  // Texts that are secrets wherever they stand, such as the keys that this process was given.
  // Those of less than four bytes are ignored.
  std::vector<std::string> known{};
  // Further names of members, headers, variables and parameters that hold secrets. Upper case and
  // the characters - _ . do not matter.
  std::vector<std::string> names{};
};

// Finds what most secrets look like: tokens and keys by the beginnings that their issuers give
// them, private keys, passwords in URLs, and what stands behind a name that says so ("password",
// "API_KEY", "Authorization:", "--token", "?sig="). It reads a text once, and cannot know a secret
// that has neither shape nor name. docs/redaction.md tells what it finds and how much it misses.
[[nodiscard]] std::shared_ptr<const Redactor> common_secrets(const CommonSecrets& more = {});

}  // namespace triage::inline v0_1
