// SPDX-License-Identifier: MIT
#pragma once
// The smallest store a user can write (save, load, latest), and an adapter that makes it a full
// store.

#include "triage/checkpoint_store.hpp"

#include <memory>
#include <optional>
#include <string>

namespace triage::inline v0_1 {

// What a simple store keeps: everything needed to resume from here.
struct SavedCheckpoint {
  std::string id{};  // RUN@SEQUENCE.
  RunId run{};
  std::string label{};  // Empty for automatic checkpoints.
  Json state{};         // An object.
  Json trajectory{};    // An array of steps, as docs/checkpoint_format.md describes them.
  Json run_data{};      // Task, agent, history, effects: needed to resume; opaque to the store.
};

// One call at a time, from any thread: it needs no lock of its own. It is saved to at drains only.
class SimpleStore {
 public:
  virtual ~SimpleStore() = default;
  [[nodiscard]] virtual Result<void> save(const SavedCheckpoint& checkpoint) = 0;
  // Errors: Errc::not_found.
  [[nodiscard]] virtual Result<SavedCheckpoint> load(const std::string& id) = 0;
  // The latest saved one of this run; empty if none.
  [[nodiscard]] virtual Result<std::optional<SavedCheckpoint>> latest(const RunId& run) = 0;
};

// At each drain, saves the newest ended checkpoint and every labelled one, with all effects.
// `durability` is what save() guarantees on return; it is not checked.
//
// What three functions cannot provide:
// - Records after the newest ended checkpoint, effects excepted, are lost with the process.
// - Leases and run lists cover this process only: never run one run in two processes.
// - A run that another process saved is found by its id only.
// - After another process took over, rollbacks reach back to the last saved checkpoint only;
//   load() still reaches the labelled ones.
// - erase() and prune() are Errc::unsupported; so is writing keys, unless `durability` is none.
// - A save writes the whole trajectory: N drained checkpoints of N steps cost O(N^2) bytes.
//
// Text in a SavedCheckpoint may be any bytes, which nlohmann's dump() refuses: use CBOR
// or show().
[[nodiscard]] std::shared_ptr<CheckpointStore> make_store(std::shared_ptr<SimpleStore> simple,
                                                          Durability durability = Durability::none);

}  // namespace triage::inline v0_1
