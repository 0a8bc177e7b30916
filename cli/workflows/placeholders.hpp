// SPDX-License-Identifier: MIT
#pragma once
// {{KEY}} in the texts of a workflow file.

#include "documents/document_reader.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace triage::inline v0_1::cli {

// {{KEY}}: from `begin` up to `end`.
struct Placeholder {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string key{};
};
[[nodiscard]] std::optional<Placeholder> next_placeholder(const std::string& text,
                                                          std::size_t from);

// Reports what looks like the name of an input and is none. Anything else in braces is text.
void check_placeholders(DocumentReader& reader, const std::string& path, const std::string& text,
                        const Json& inputs);
// Reports inputs in a text that they are not put into.
void check_no_placeholders(DocumentReader& reader, const std::string& path, const std::string& text,
                           const Json& inputs);

}  // namespace triage::inline v0_1::cli
