// SPDX-License-Identifier: MIT
#pragma once
// A store whose leases expire unless they are renewed: counts the renewals, and lets a test step
// in.

#include "triage/forwarding_store.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace triage::test {

struct RenewingStore final : ForwardingStore {
  RenewingStore(std::shared_ptr<CheckpointStore> inner, std::chrono::milliseconds every)
      : ForwardingStore(std::move(inner)), every_(every) {}
  ~RenewingStore() override { stop_queue(); }

  StoreCapabilities capabilities() const noexcept override {
    StoreCapabilities all = ForwardingStore::capabilities();
    all.shared_by_processes = true;
    all.renew_every = every_;
    return all;
  }
  Result<void> renew(const Lease& lease) override {
    const int number = ++renewals;
    if (before_renewal) {
      if (auto why = before_renewal(number, lease)) return *std::move(why);
    }
    return ForwardingStore::renew(lease);
  }

  // Another owner takes the run over.
  void hand_over(const Lease& lease) {
    release(lease).value();
    other = acquire(lease.run).value();
  }

  std::atomic<int> renewals{0};
  // Called with the number of the renewal, from 1 on; an error is its answer.
  std::function<std::optional<Error>(int, const Lease&)> before_renewal{};
  Lease other{};

 private:
  const std::chrono::milliseconds every_;
};

}  // namespace triage::test
