// SPDX-License-Identifier: MIT
#pragma once
// The Redis store as the conformance kit is given it: a folder of the kit is a prefix of keys.

#include "stores/store_kit.hpp"
#include "support/redis_server.hpp"
#include "triage/stores/redis.hpp"

#include <filesystem>

namespace triage::test {

// The server must outlive the kit.
inline StoreKit redis_kit(const RedisServer& server) {
  StoreKit kit{.options = {.name = "Redis"}};
  kit.open =
      [&server](const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
    auto store = RedisStore::open(server.url(), {.prefix = folder.string() + ":"});
    if (!store) return store.error();
    return std::shared_ptr<CheckpointStore>(store.value());
  };
  kit.options.damage = [&server](const std::filesystem::path& folder, const RunId& run,
                                 Sequence seq) {
    return server.damage(folder.string() + ":", run, seq);
  };
  kit.options.make_newer = [&server](const std::filesystem::path& folder) {
    return server.ask({"SET", folder.string() + ":format", "99"});
  };
  return kit;
}

}  // namespace triage::test
