// SPDX-License-Identifier: MIT
#pragma once
// The keys of triage-agent, the Python library, in a Redis server: triage:checkpoint:…

#include "triage/reference_store.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace triage::inline v0_1 {

// url: as for RedisStore, without a prefix: that library has one only. Each checkpoint that is
// added is there at once, in one transaction; what was added and not kept is deleted again.
// Errors: Errc::invalid_argument (the URL), Errc::unsupported, Errc::io.
[[nodiscard]] Result<std::unique_ptr<ReferenceStore>> open_redis_reference(
    const std::string& url, std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace triage::inline v0_1
