// SPDX-License-Identifier: MIT
#pragma once
// Recognises what an EncryptedStore has stored, where its key is not used.

#include "triage/checkpoint_store.hpp"

namespace triage::inline v0_1::detail {

// Whether the body has the form that stands in place of an encrypted one:
// docs/checkpoint_format.md.
[[nodiscard]] bool is_sealed(const Record& record);

// For whoever writes what follows from the bodies. Errors: Errc::unsupported if they are encrypted.
[[nodiscard]] Result<void> check_not_sealed(const JournalReading& reading);

}  // namespace triage::inline v0_1::detail
