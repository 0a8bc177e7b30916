// SPDX-License-Identifier: MIT
// Translates SQLite's errors for users of a store.
#include "sqlite_database.hpp"

namespace triage::inline v0_1::detail {

Error sqlite_error(const SQLite::Exception& e, std::string_view name, std::string_view doing) {
  const int code = e.getErrorCode() & 0xff;
  std::string text = "sqlite store " + std::string(name) + ": " + std::string(doing) + ": ";
  const std::string reason =
      std::string(e.what()) + " (SQLite's code " + std::to_string(e.getExtendedErrorCode()) + ")";
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::busy, text +
                              "another connection holds the file's lock; try again later, or "
                              "allow a longer busy_timeout; " +
                              reason};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Errc::corrupt, text + "the file is damaged, or is not a SQLite database: " + reason};
    case SQLITE_FULL:
      return {Errc::io, text + "no room is left for the file; free some and try again: " + reason};
    case SQLITE_READONLY:
      if (e.getErrorCode() == SQLITE_READONLY_DBMOVED) return {Errc::io, text + e.what()};
      return {Errc::io,
              text + "the file or its folder cannot be written; change its permissions: " + reason};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Errc::io, text +
                            "the file cannot be opened; the file and its folder must be "
                            "accessible, and writable unless it is only read: " +
                            reason};
    case SQLITE_TOOBIG:
      return {Errc::invalid_argument, text + "a value is larger than SQLite allows: " + reason};
    case SQLITE_CONSTRAINT: return {Errc::conflict, text + reason};
    case SQLITE_ERROR:
      return {Errc::corrupt, text + "the tables are not those of a store: " + reason};
    default: return {Errc::io, text + reason};
  }
}

}  // namespace triage::inline v0_1::detail
