// SPDX-License-Identifier: MIT
// The key space of the SQLite store.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
Result<std::optional<VersionedValue>> SqliteJournals::get(std::string_view space,
                                                          std::string_view key) {
  return guarded("reading a key", [&]() -> Result<std::optional<VersionedValue>> {
    SQLite::Statement& get = statements_->get_value;
    const StatementUse use(get);
    bind_bytes(get, 1, space);
    bind_bytes(get, 2, key);
    std::optional<VersionedValue> found;
    if (get.executeStep()) {
      if (get.getColumn(2).getInt() == 0) return damaged_key(key);
      found = VersionedValue{get.getColumn(0).getString(),
                             static_cast<std::uint64_t>(get.getColumn(1).getInt64())};
    }
    return outcome::success(std::move(found));
  });
}

Result<std::uint64_t> SqliteJournals::key_version(std::string_view space, std::string_view key) {
  SQLite::Statement& get = statements_->get_value;
  const StatementUse use(get);
  bind_bytes(get, 1, space);
  bind_bytes(get, 2, key);
  if (!get.executeStep()) return std::uint64_t{0};
  if (get.getColumn(2).getInt() == 0) return damaged_key(key);
  return static_cast<std::uint64_t>(get.getColumn(1).getInt64());
}

Error SqliteJournals::damaged_key(std::string_view key) const {
  return database_->error(
      Errc::corrupt,
      "key \"" + printable(key) + "\" does not match its checksum: its value is damaged");
}

Error SqliteJournals::other_version(std::string_view key, std::uint64_t stored,
                                    std::uint64_t expected) {
  return database_->error(Errc::conflict, "key \"" + printable(key) + "\" has version " +
                                              std::to_string(stored) + ", expected " +
                                              std::to_string(expected));
}

Result<std::uint64_t> SqliteJournals::put_if(std::string_view space, std::string_view key,
                                             std::uint64_t expected, std::string_view bytes) {
  TRIAGE_TRYV(check_space(space));
  if (std::max({space.size(), key.size(), bytes.size()}) > largest_record_body) {
    return Error{Errc::invalid_argument, "space, key and value may have at most " +
                                             std::to_string(largest_record_body) + " bytes each"};
  }
  return guarded_write("writing a key", [&]() -> Result<std::uint64_t> {
    database_->begin_write();
    TRIAGE_TRY(stored, key_version(space, key));
    if (stored != expected) {
      return other_version(key, stored, expected);
    }
    SQLite::Statement& put = statements_->put_value;
    bind_bytes(put, 1, space);
    bind_bytes(put, 2, key);
    put.bind(3, static_cast<std::int64_t>(stored + 1));
    bind_bytes(put, 4, bytes);
    database_->run(put);
    database_->commit();
    database_->checkpoint_log_if_large();
    return stored + 1;
  });
}

Result<void> SqliteJournals::erase_if(std::string_view space, std::string_view key,
                                      std::uint64_t expected) {
  TRIAGE_TRYV(check_space(space));
  return guarded_write("removing a key", [&]() -> Result<void> {
    database_->begin_write();
    TRIAGE_TRY(stored, key_version(space, key));
    if (stored != 0 && stored != expected) {
      return other_version(key, stored, expected);
    }
    SQLite::Statement& remove = statements_->remove_value;
    bind_bytes(remove, 1, space);
    bind_bytes(remove, 2, key);
    database_->run(remove);
    database_->commit();
    return outcome::success();
  });
}

Result<std::vector<std::string>> SqliteJournals::list(std::string_view space,
                                                      std::string_view prefix) {
  return guarded("listing keys", [&]() -> Result<std::vector<std::string>> {
    SQLite::Statement& list = statements_->list_keys;
    const StatementUse use(list);
    bind_bytes(list, 1, space);
    bind_bytes(list, 2, prefix);
    std::vector<std::string> keys;
    while (list.executeStep()) {
      std::string key = list.getColumn(0).getString();
      if (!key.starts_with(prefix)) break;  // Sorted, so those with the prefix come first.
      keys.push_back(std::move(key));
    }
    return outcome::success(std::move(keys));
  });
}

}  // namespace triage::inline v0_1::detail
