// SPDX-License-Identifier: MIT
#pragma once
// The baseline of the SQLite rows: prepared INSERTs of encoded bytes into a plain table, with the
// store's journal mode, synchronous level and log size.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace triage::bench {

class RawSqlite {
 public:
  // `power`: synchronous = FULL, else NORMAL.
  explicit RawSqlite(const std::string& path, bool power = false);
  // Inserts the blobs in one transaction.
  void insert(std::span<const std::string> blobs);
  // Folds the log into the file.
  void fold();

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;
  [[nodiscard]] Statement prepare(const char* sql);
  void step(const Statement& statement);

  std::unique_ptr<sqlite3, Close> database_;
  Statement begin_;
  Statement insert_;
  Statement commit_;
  long long next_id_ = 1;
};

// Seconds to insert all blobs into a new database in groups, including folding.
[[nodiscard]] double raw_insert_seconds(const std::string& path,
                                        const std::vector<std::string>& blobs, std::size_t group);

}  // namespace triage::bench
