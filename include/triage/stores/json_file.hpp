// SPDX-License-Identifier: MIT
#pragma once
// A store in a folder of text files: a journal of JSON lines for each run, for people and jq.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1 {

struct JsonFileOptions {
  // process: what was written is the kernel's. power: fdatasync of the file with each append, and
  // fsync of the folder when a file comes or goes. none counts as process.
  Durability durability = Durability::process;
  // How long a call waits for another process's lock before it is Errc::busy. 0 to 1 hour.
  std::chrono::milliseconds busy_timeout{5'000};
  // How long a lease lives without an append where the owner cannot be checked (another host).
  std::chrono::milliseconds lease_timeout{30'000};  // 1 s to 1 day.
  // A journal goes on in a new file when one has grown beyond this. 4 KiB or more.
  std::uint64_t segment_bytes = 64U << 20U;
  // For looking at a store; every write is Errc::unsupported, and nothing is made or changed.
  bool read_only = false;
};

// One JSON line a record, so that jq and tail -f work; docs/checkpoint_format.md describes them.
// Every line carries a checksum. A last line, or batch, that a crash cut off was never
// acknowledged: it is left out by readers, removed by the next owner, and told by check() and
// take_warning().
class JsonFileStore : public CheckpointStore {
 public:
  // path: a folder, or "file:FOLDER". It is made if it is missing, for its owner only (0700, files
  // 0600); what it holds is not encrypted.
  // Errors: Errc::invalid_argument (empty path, a file, options out of range), Errc::unsupported
  // (another program's folder, a newer format), Errc::corrupt (its store.json is damaged),
  // Errc::not_found (read_only, and there is no folder), Errc::io.
  // After fork(), every member is Errc::unsupported in the child. Not for folders that several
  // hosts write to over a network file system without working file locks.
  [[nodiscard]] static Result<std::shared_ptr<JsonFileStore>> open(
      const std::string& path, const JsonFileOptions& options = {});
};

}  // namespace triage::inline v0_1
