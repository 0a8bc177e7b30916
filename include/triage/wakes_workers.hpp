// SPDX-License-Identifier: MIT
#pragma once
// Waiting for a store to have something to do.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <stop_token>

namespace triage::inline v0_1 {

// What a store implements that can tell when a look is worth while.
class WakesWorkers {
 public:
  virtual ~WakesWorkers() = default;
  // See wait_for_work(). Returns false if it cannot listen now, and has not waited then.
  // Thread-safety: that of the store.
  [[nodiscard]] virtual bool wait_for_work(std::chrono::milliseconds longest,
                                           const std::stop_token& stop) = 0;
};

// Returns when `longest` is over, a stop is requested, or the store has told that a run was
// suspended or got a signal since this store object was asked last, by whomever. May return for
// nothing. Nobody tells that an owner is gone, or that a time has come. A store that is no
// WakesWorkers, and one behind a decorator that is none, is only waited for.
void wait_for_work(CheckpointStore& store, std::chrono::milliseconds longest,
                   const std::stop_token& stop);

}  // namespace triage::inline v0_1
