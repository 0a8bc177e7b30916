// SPDX-License-Identifier: MIT
#pragma once
// Waits until a store has work.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <stop_token>

namespace triage::inline v0_1 {

// Implemented by stores that can notify workers.
class WakesWorkers {
 public:
  virtual ~WakesWorkers() = default;
  // See wait_for_work(). Returns false, without having waited, if it cannot listen now.
  // Thread-safety: that of the store.
  [[nodiscard]] virtual bool wait_for_work(std::chrono::milliseconds longest,
                                           const std::stop_token& stop) = 0;
};

// Returns after `longest`, when a stop is requested, or when the store has notified, since this
// store object last waited, that a run was suspended or got a signal, from any process. May return
// spuriously. Dead owners and due times are not notified. Decorators are looked through; where no
// store is a WakesWorkers, only waits.
void wait_for_work(CheckpointStore& store, std::chrono::milliseconds longest,
                   const std::stop_token& stop);

}  // namespace triage::inline v0_1
