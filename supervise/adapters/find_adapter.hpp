// SPDX-License-Identifier: MIT
#pragma once
// Where adapters are: those that were installed with the command, by name, and own ones.

#include "supervise/adapters/adapter_document.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

// The name that stands for no adapter at all: exit status, signals and tails of the streams.
inline constexpr const char* generic_adapter = "generic";

// The folder of the installed ones: share/triage/adapters beside the folder that this program lies
// in. It need not exist.
[[nodiscard]] std::string adapter_folder();

// From the text of a document. Errors: Errc::invalid_argument.
[[nodiscard]] Result<Adapter> adapter_from_text(std::string_view text, ReadDocument read);

// The names of those in the folder, sorted.
[[nodiscard]] std::vector<std::string> adapter_names(const std::string& folder);

// The one that a run asks for: by name, by the text of a document, or, if it asks for none, by the
// file name of its program. Null: none, which is what "generic" means, too. Errors:
// Errc::not_found, naming those there are; Errc::invalid_argument for a broken document.
[[nodiscard]] Result<std::shared_ptr<const Adapter>> find_adapter(const std::string& asked,
                                                                  const std::string& program,
                                                                  const std::string& folder,
                                                                  ReadDocument read);

}  // namespace triage::inline v0_1::supervise
