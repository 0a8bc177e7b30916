// SPDX-License-Identifier: MIT
#pragma once
// Finds adapters: those installed with the command, by name, and the user's own.

#include "supervise/adapters/adapter_document.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

// The name for no adapter: only exit status, signals and the tails of the streams are used.
inline constexpr const char* generic_adapter = "generic";

// Parses a document. Errors: Errc::invalid_argument.
[[nodiscard]] Result<Adapter> adapter_from_text(std::string_view text, ReadDocument read);

// The names of the adapters in the folder, sorted.
[[nodiscard]] std::vector<std::string> adapter_names(const std::string& folder);

// The adapter a run asks for: by name, as the text of a document or, by default, by the file name
// of its program. Null: none, as for "generic". Errors: Errc::not_found, listing the existing ones;
// Errc::invalid_argument for an invalid document.
[[nodiscard]] Result<std::shared_ptr<const Adapter>> find_adapter(const std::string& asked,
                                                                  const std::string& program,
                                                                  const std::string& folder,
                                                                  ReadDocument read);

}  // namespace triage::inline v0_1::supervise
