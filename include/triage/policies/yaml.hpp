// SPDX-License-Identifier: MIT
#pragma once
// Policy documents in YAML (target triage::yaml). Keys and values as in JSON; errors name the line.

#include "triage/policies/document.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <string_view>

namespace triage::inline v0_1 {

// One YAML 1.2 document; a text that is JSON is read as JSON. Refuses duplicate keys, keys that are
// not texts, tags, anchors that expand to more than 100,000 values or 64 MB, depth beyond
// max_json_depth, numbers that JSON does not have (.inf, .nan), whole ones too large to be kept
// exactly, and several documents. Plain scalars are read by YAML's core schema (True, ~, +5, 0x1F);
// quoted ones are texts. Errors: Errc::invalid_argument: "line 3: timeout.max_attempts is 0;
// allowed is 1 or more".
[[nodiscard]] Result<PolicyDocument> document_from_yaml(std::string_view text,
                                                        const StrategyRegistry& registry,
                                                        std::shared_ptr<KeySpace> shared = {});

// Converts any YAML text to JSON. what: names the document in errors ("the adapter"). Errors:
// Errc::invalid_argument, naming the line.
[[nodiscard]] Result<nlohmann::json> json_from_yaml(std::string_view text, std::string_view what);
// The same, then passes it to `check`. Each line of its error that starts with the path of a key,
// such as "agents.writer.url", gets that key's line number.
[[nodiscard]] Result<nlohmann::json> json_from_yaml(
    std::string_view text, std::string_view what,
    const std::function<Result<void>(const nlohmann::json&)>& check);

}  // namespace triage::inline v0_1
