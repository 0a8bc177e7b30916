// SPDX-License-Identifier: MIT
#pragma once
// From a store URL to a store: the one place that knows which kinds are built in.

#include "triage/checkpoint_store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct OpenStoreOptions {
  // For looking at a store: nothing is made or changed, and every write is Errc::unsupported.
  bool read_only = false;
  std::optional<Durability> durability{};  // Empty: what the store gives by default.
};

// url: "sqlite:PATH", "file:FOLDER", "memory:", "redis://HOST", "postgresql://HOST", or a plain
// path: a folder that holds a JSON-file store, or else a SQLite file. A text before a colon is a
// scheme if it has two or more letters, digits, "+", "-" or "." and begins with a letter; in front
// of a path, two slashes behind the colon mean nothing.
// Errors: Errc::unsupported for a scheme that this build does not know (the text names those that
// it does); Errc::invalid_argument (an empty URL; read_only of a memory store); those of the store.
// No error quotes a password.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_store(
    const std::string& url, const OpenStoreOptions& options = {});

// "sqlite:PATH, file:FOLDER, memory:, redis://HOST, postgresql://HOST": what this build opens, for
// help and errors.
[[nodiscard]] std::string known_store_urls();

// The URL with *** for what may be secret: the password before the host, and the values of query
// parameters whose names contain "pass", "secret", "token" or "key". For messages.
[[nodiscard]] std::string without_secrets(std::string_view url);

}  // namespace triage::inline v0_1
