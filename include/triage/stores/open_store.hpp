// SPDX-License-Identifier: MIT
#pragma once
// Opens a store by URL: the one place that knows the built-in kinds.

#include "triage/checkpoint_store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct OpenStoreOptions {
  // For inspecting a store: nothing is created or changed, and writes are Errc::unsupported.
  bool read_only = false;
  std::optional<Durability> durability{};  // Empty: the store's default.
};

// url: "sqlite:PATH", "file:FOLDER", "memory:", "redis://HOST", "postgresql://HOST", or a plain
// path: a folder with a JSON-file store, else a SQLite file. A scheme is the text before a colon if
// it has two or more letters, digits, "+", "-" or "." and starts with a letter; before a path, two
// slashes after the colon are ignored.
// Errors: Errc::unsupported for a scheme unknown to this build (the text names the known ones);
// Errc::invalid_argument (an empty URL; read_only for a memory store); those of the store. No error
// quotes a password.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_store(
    const std::string& url, const OpenStoreOptions& options = {});

// The path of a store that is a file or folder, as open_store() takes it from this URL; null for
// other stores.
[[nodiscard]] std::optional<std::string> store_path(const std::string& url);

// "sqlite:PATH, file:FOLDER, memory:, redis://HOST, postgresql://HOST": the URLs that this build
// opens, for help and errors.
[[nodiscard]] std::string known_store_urls();

// The URL with *** for possible secrets: the password before the host, and the values of query
// parameters whose names contain "pass", "secret", "token" or "key". For messages.
[[nodiscard]] std::string without_secrets(std::string_view url);

}  // namespace triage::inline v0_1
