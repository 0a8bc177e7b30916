// SPDX-License-Identifier: MIT
#include "sqlite_checksums.hpp"

#include "triage/record.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

std::uint32_t add_number(std::uint64_t number, std::uint32_t crc) noexcept {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
  }
  return crc32c({bytes.data(), bytes.size()}, crc);
}

std::uint32_t add_bytes(std::string_view bytes, std::uint32_t crc) noexcept {
  return crc32c(bytes, add_number(bytes.size(), crc));
}

void checksum(sqlite3_context* context, int count, sqlite3_value** values) {
  std::uint32_t crc = 0;
  for (int i = 0; i < count; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_INTEGER) {
      crc = add_number(static_cast<std::uint64_t>(sqlite3_value_int64(values[i])), crc);
      continue;
    }
    // Read as text, so that text in any encoding counts as UTF-8.
    const void* bytes = sqlite3_value_type(values[i]) == SQLITE_TEXT
                            ? static_cast<const void*>(sqlite3_value_text(values[i]))
                            : sqlite3_value_blob(values[i]);
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values[i]));
    crc = add_bytes(
        {static_cast<const char*>(bytes == nullptr ? "" : bytes), bytes == nullptr ? 0 : size},
        crc);
  }
  sqlite3_result_int64(context, crc);
}

}  // namespace

void add_checksum_function(SQLite::Database& database) {
  const int code =
      sqlite3_create_function_v2(database.getHandle(), "triage_checksum", -1,
                                 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nullptr,
                                 &checksum, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(database.getHandle(), code);
}

}  // namespace triage::inline v0_1::detail
