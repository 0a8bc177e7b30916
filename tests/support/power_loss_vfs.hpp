// SPDX-License-Identifier: MIT
#pragma once
// A SQLite VFS that remembers what was synced, and on a power cut drops or tears the rest.

#include <cstdint>
#include <memory>
#include <string>

namespace triage::test {

// Registered under `name` as long as it lives; pass the name as SqliteOptions::vfs. Files lie where
// their paths say. No real fsync is made: what is "on the disk" is kept here.
// Thread-safety: none.
class PowerLossVfs {
 public:
  explicit PowerLossVfs(std::string name);
  ~PowerLossVfs();
  PowerLossVfs(const PowerLossVfs&) = delete;
  PowerLossVfs& operator=(const PowerLossVfs&) = delete;

  // The power goes after this many more writes, truncations and syncs: all later ones fail.
  void cut_after(std::uint64_t operations);
  [[nodiscard]] bool is_cut() const;
  // Turns the files into what the disk holds after the cut: everything synced, and of each write
  // that was not, all, nothing or a part. All connections must be closed. Power is on again then.
  void cut_power(std::uint64_t seed);

 private:
  struct Disk;
  std::unique_ptr<Disk> disk_;
};

}  // namespace triage::test
