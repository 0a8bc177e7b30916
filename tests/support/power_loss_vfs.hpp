// SPDX-License-Identifier: MIT
#pragma once
// A SQLite VFS that remembers what was synced, and on a power cut drops or tears the rest.

#include <cstdint>
#include <memory>
#include <string>

namespace triage::test {

// Registered under `name` during its lifetime; pass the name as SqliteOptions::vfs. Files are at
// their paths. No real fsync is made: the contents "on the disk" are kept here. Thread-safety:
// none.
class PowerLossVfs {
 public:
  explicit PowerLossVfs(std::string name);
  ~PowerLossVfs();
  PowerLossVfs(const PowerLossVfs&) = delete;
  PowerLossVfs& operator=(const PowerLossVfs&) = delete;

  // The power fails after this many more writes, truncations and syncs: all later ones fail.
  void cut_after(std::uint64_t operations);
  [[nodiscard]] bool is_cut() const;
  // Gives the files the disk's contents after the cut: everything synced, and all, nothing or a
  // part of each unsynced write. All connections must be closed. The power is on again afterwards.
  void cut_power(std::uint64_t seed);

 private:
  struct Disk;
  std::unique_ptr<Disk> disk_;
};

}  // namespace triage::test
