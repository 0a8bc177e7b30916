// SPDX-License-Identifier: MIT
#pragma once
// What the outside of a simulated world has seen: effects that happened and acknowledged records.

#include "triage/checkpoint_store.hpp"
#include "triage/effect.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::lab::detail {

class Ledger {
 public:
  // Performs an effect or compensation and returns how often it has happened now.
  int perform(const EffectCall& call, EffectSemantics semantics);
  [[nodiscard]] Reconciled reconcile(const EffectCall& call) const;

  void acknowledge(const std::string& store, const RunId& run, std::span<const Record> records);
  void forget(const std::string& store, const RunId& run);
  // Those with acknowledged records.
  [[nodiscard]] std::vector<RunId> runs_in(const std::string& store) const;

  // The problems found; empty if there are none.
  [[nodiscard]] std::string doubled_effects() const;
  using Stores = std::map<std::string, std::shared_ptr<CheckpointStore>, std::less<>>;
  [[nodiscard]] std::string lost_records(const Stores& stores) const;

 private:
  struct Effect {
    std::string key{};
    int times = 0;
    bool once = true;
  };
  std::map<std::string, Effect> effects_{};   // By idempotency key.
  using Run = std::pair<std::string, RunId>;  // Name of the store.
  std::map<Run, std::map<Sequence, Record>> acknowledged_{};
};

}  // namespace triage::inline v0_1::lab::detail
