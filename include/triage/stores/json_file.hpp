// SPDX-License-Identifier: MIT
#pragma once
// A store in a folder of text files: a journal of JSON lines per run, for people and jq.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1 {

struct JsonFileOptions {
  // process: data is written to the kernel. power: fdatasync of the file at each append, and fsync
  // of the folder when a file is created or removed. none counts as process.
  Durability durability = Durability::process;
  // How long to wait for another process's lock before Errc::busy. 0 to 1 hour.
  std::chrono::milliseconds busy_timeout{5'000};
  // How long a lease lasts without an append if its owner cannot be checked (another host).
  std::chrono::milliseconds lease_timeout{30'000};  // 1 s to 1 day.
  // A journal continues in a new file above this size. 4 KiB or more.
  std::uint64_t segment_bytes = 64U << 20U;
  // For inspecting a store: writes are Errc::unsupported, and nothing is created or changed.
  bool read_only = false;
};

// One JSON line per record, with a checksum, for jq and tail -f; docs/checkpoint_format.md
// describes them. A last line or batch that a crash cut off was never acknowledged: readers ignore
// it, the next owner removes it, and check() and take_warning() report it.
class JsonFileStore : public CheckpointStore {
 public:
  // path: a folder, or "file:FOLDER". Creates a missing folder, accessible to its owner only (0700,
  // files 0600); the data is not encrypted. Not for folders on a network file system without
  // working file locks that several hosts write to.
  // Errors: Errc::invalid_argument (empty path, a file, options out of range), Errc::unsupported
  // (another program's folder, a newer format), Errc::corrupt (damaged store.json), Errc::not_found
  // (read_only without a folder), Errc::io. After fork(), every member is Errc::unsupported in the
  // child.
  [[nodiscard]] static Result<std::shared_ptr<JsonFileStore>> open(
      const std::string& path, const JsonFileOptions& options = {});
};

}  // namespace triage::inline v0_1
