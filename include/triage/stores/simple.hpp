// SPDX-License-Identifier: MIT
#pragma once
// The smallest store a user can write: save, load, latest; and what makes a full store of it.

#include "triage/checkpoint_store.hpp"

#include <memory>
#include <optional>
#include <string>

namespace triage::inline v0_1 {

// What a simple store keeps: everything it takes to go on from here.
struct SavedCheckpoint {
  std::string id{};  // RUN@SEQUENCE.
  RunId run{};
  std::string label{};  // Empty for automatic checkpoints.
  Json state{};         // An object.
  Json trajectory{};    // An array of steps, as docs/checkpoint_format.md describes them.
  Json run_data{};      // Task, agent, history, effects: opaque to the store, needed to resume.
};

// Called at drains only, on the run's own thread, never at once for one run.
class SimpleStore {
 public:
  virtual ~SimpleStore() = default;
  [[nodiscard]] virtual Result<void> save(const SavedCheckpoint& checkpoint) = 0;
  // Errors: Errc::not_found.
  [[nodiscard]] virtual Result<SavedCheckpoint> load(const std::string& id) = 0;
  // The one saved last for this run; empty if there is none.
  [[nodiscard]] virtual Result<std::optional<SavedCheckpoint>> latest(const RunId& run) = 0;
};

// At each drain the newest ended checkpoint and every labelled one are saved, with all effects.
// `durability` is what save() gives on return; the user's word is taken for it.
//
// What three functions cannot give:
// - What was recorded behind the newest ended checkpoint, effects excepted, is lost with the
// process.
// - Leases and lists of runs are known in this process only: see to it that no two processes run
// the
//   same run. A run that another process saved is found by its id.
// - After another process took over, a rollback reaches no further back than the checkpoint that
// was
//   saved last; load() still reaches the labelled ones.
// - erase() and prune() are Errc::unsupported; so is writing keys, unless `durability` is none.
// - A save writes the whole trajectory: N drained checkpoints of N steps cost O(N^2) bytes.
// Text in a SavedCheckpoint may be any bytes, which nlohmann's dump() refuses: use its CBOR, or
// show().
[[nodiscard]] std::shared_ptr<CheckpointStore> make_store(std::shared_ptr<SimpleStore> simple,
                                                          Durability durability = Durability::none);

}  // namespace triage::inline v0_1
