// SPDX-License-Identifier: MIT
// The keys of the PostgreSQL store.
#include "postgres_sql.hpp"
#include "postgres_store.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

std::int64_t stored_version(std::uint64_t version) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(version, std::numeric_limits<std::int64_t>::max()));
}

// The first text after all those that begin with `prefix`; empty: there is none.
std::string behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

}  // namespace

Result<std::optional<VersionedValue>> PostgresJournals::get(std::string_view space,
                                                            std::string_view key) {
  TRIAGE_TRY(rows, ask(postgres_sql::get,
                       PgParameters().bytes(std::string(space)).bytes(std::string(key))));
  if (rows.empty()) return outcome::success(std::optional<VersionedValue>());
  return outcome::success(std::optional<VersionedValue>(
      VersionedValue{std::string(rows.text(0, 0)), static_cast<std::uint64_t>(rows.number(0, 1))}));
}

Result<std::uint64_t> PostgresJournals::put_if(std::string_view space, std::string_view key,
                                               std::uint64_t expected, std::string_view bytes) {
  TRIAGE_TRYV(check_space(space));
  constexpr auto ours = [](const PgRows& stored) {
    return !stored.empty() && stored.number(0, 1) != 0;
  };
  TRIAGE_TRY(rows, write_once(postgres_sql::put,
                              PgParameters()
                                  .bytes(std::string(space))
                                  .bytes(std::string(key))
                                  .number(stored_version(expected))
                                  .number(random_pg_number())
                                  .bytes(std::string(bytes)),
                              ours));
  if (ours(rows)) {
    return outcome::success(static_cast<std::uint64_t>(rows.number(0, 0)));
  }
  return Error{Errc::conflict, "key \"" + printable(key) + "\" has version " +
                                   std::to_string(rows.empty() ? 0 : rows.number(0, 0)) +
                                   ", expected " + std::to_string(expected)};
}

Result<void> PostgresJournals::erase_if(std::string_view space, std::string_view key,
                                        std::uint64_t expected) {
  TRIAGE_TRYV(check_space(space));
  TRIAGE_TRY(rows, write(postgres_sql::remove, PgParameters()
                                                   .bytes(std::string(space))
                                                   .bytes(std::string(key))
                                                   .number(stored_version(expected))));
  if (rows.empty()) return outcome::success();
  return Error{Errc::conflict, "key \"" + printable(key) + "\" has version " +
                                   std::to_string(rows.number(0, 0)) + ", expected " +
                                   std::to_string(expected)};
}

Result<std::vector<std::string>> PostgresJournals::list(std::string_view space,
                                                        std::string_view prefix) {
  PgParameters parameters;
  parameters.bytes(std::string(space)).bytes(std::string(prefix));
  const std::string end = behind(std::string(prefix));
  if (end.empty()) {
    parameters.null();
  } else {
    parameters.bytes(end);
  }
  TRIAGE_TRY(rows, ask(postgres_sql::keys, parameters));
  std::vector<std::string> found;
  for (int row = 0; row < rows.size(); ++row) found.emplace_back(rows.text(row, 0));
  return outcome::success(std::move(found));
}

}  // namespace triage::inline v0_1::detail
