// SPDX-License-Identifier: MIT
#pragma once
// Reads policy documents.

#include "triage/policies/document.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// JSON, or YAML if this build supports it. shared: where its gates keep state shared by all
// processes; null: none. Errors: Errc::invalid_argument.
[[nodiscard]] Result<PolicyDocument> read_policy(std::string_view text,
                                                 std::shared_ptr<KeySpace> shared = {});

// The whole text of a file, or of standard input for "-". Errors: Errc::not_found, Errc::io;
// Errc::invalid_argument beyond 16 MB, with a text that does not name the file.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

// The error with the file's name before each of its lines, since a file may have several problems.
[[nodiscard]] Error in_file(const std::string& path, const Error& error);

}  // namespace triage::inline v0_1::cli
