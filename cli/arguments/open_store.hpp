// SPDX-License-Identifier: MIT
#pragma once
// Opens stores by URL.

#include "triage/checkpoint_store.hpp"
#include "triage/stores/open_store.hpp"

#include <memory>
#include <string>

namespace triage::inline v0_1::cli {

// The --help text about store URLs.
inline constexpr const char* store_help =
    "Where the checkpoints are: sqlite:PATH, file:FOLDER, redis://HOST, postgresql://HOST, or just "
    "PATH.";

// Environment variables: the file with the store's key, also set by --key-file; and files with
// older keys, separated by colons. See EncryptedStore.
inline constexpr const char* key_file_variable = "TRIAGE_KEY_FILE";
inline constexpr const char* old_key_files_variable = "TRIAGE_OLD_KEY_FILES";

// Opens an existing store. Errors: those of triage::open_store(); Errc::invalid_argument for an
// encrypted store without its key.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_store_to_read(const std::string& url);

// Opens a store for runs; creates it if missing. Errors: as open_store_to_read().
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_store_for_runs(const std::string& url);

// Opens an existing store for changes. Errors: as open_store_to_read().
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_store_to_change(const std::string& url);

}  // namespace triage::inline v0_1::cli
