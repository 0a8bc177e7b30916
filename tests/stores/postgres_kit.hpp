// SPDX-License-Identifier: MIT
#pragma once
// The PostgreSQL store as the conformance kit is given it: a folder of the kit is a schema.

#include "stores/store_kit.hpp"
#include "support/postgres_server.hpp"
#include "triage/stores/postgres.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace triage::test {

// The server must outlive the kit.
inline StoreKit postgres_kit(const PostgresServer& server) {
  const auto schema_of = [](const std::filesystem::path& folder) {
    return "t" + std::to_string(std::hash<std::string>()(folder.string()));
  };
  StoreKit kit{.options = {.name = "PostgreSQL"}};
  kit.open = [&server, schema_of](
                 const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
    auto store = PostgresStore::open(server.url(), {.schema = schema_of(folder)});
    if (!store) return store.error();
    return std::shared_ptr<CheckpointStore>(store.value());
  };
  kit.options.damage = [&server, schema_of](const std::filesystem::path& folder, const RunId& run,
                                            Sequence seq) -> Result<void> {
    const std::string schema = schema_of(folder) + ".";
    const auto done = server.ask("UPDATE " + schema +
                                 "records SET body = set_byte(body, length(body) - 1, "
                                 "get_byte(body, length(body) - 1) # 1) WHERE seq = " +
                                 std::to_string(seq) + " AND birth = (SELECT birth FROM " + schema +
                                 "runs WHERE run_id = '" + run + "')");
    if (!done) return done.error();
    return outcome::success();
  };
  kit.options.make_newer = [&server,
                            schema_of](const std::filesystem::path& folder) -> Result<void> {
    const auto done =
        server.ask("UPDATE " + schema_of(folder) + ".meta SET value = '99' WHERE name = 'format'");
    if (!done) return done.error();
    return outcome::success();
  };
  return kit;
}

}  // namespace triage::test
