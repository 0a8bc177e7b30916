// SPDX-License-Identifier: MIT
#pragma once
// Policy documents as this build reads them.

#include "triage/policies/document.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// JSON, and YAML where the build has it. shared: where its gates keep what all processes share;
// null: nowhere. Errors: Errc::invalid_argument.
[[nodiscard]] Result<PolicyDocument> read_policy(std::string_view text,
                                                 std::shared_ptr<KeySpace> shared = {});

// A policy's whole file, or with "-" standard input. Errors: Errc::not_found, Errc::io;
// Errc::invalid_argument beyond 16 MB, whose text does not name the file.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

}  // namespace triage::inline v0_1::cli
