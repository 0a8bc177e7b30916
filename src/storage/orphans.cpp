// SPDX-License-Identifier: MIT
#include "triage/orphans.hpp"

#include "base/run_catching.hpp"
#include "storage/claim_orphan.hpp"
#include "storage/commit_queue.hpp"
#include "triage/detail/store_extension.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {

using detail::run_catching;

namespace detail {

Result<std::optional<Lease>> claim_orphan(CheckpointStore& store, const RunId& run) {
  auto lease = run_catching([&] { return store.acquire(run); });
  if (!lease) {
    const Errc code = lease.error().code;
    const bool passed = code == Errc::busy || code == Errc::not_found || code == Errc::corrupt;
    if (!passed) return lease.error();
    return outcome::success(std::optional<Lease>());
  }
  const auto now = run_catching([&] { return store.run(run); });
  if (now && now.value().status == RunStatus::running) {
    return outcome::success(std::optional<Lease>(std::move(lease).value()));
  }
  store.queue().release(std::move(lease).value());
  return outcome::success(std::optional<Lease>());
}

}  // namespace detail

Result<std::vector<Lease>> claim_orphans(CheckpointStore& store, std::string_view agent,
                                         std::size_t most) {
  std::vector<Lease> claimed;
  if (most == 0) return outcome::success(std::move(claimed));
  store.queue().retry_releases();
  if (auto* const at_once = detail::extension_of<ClaimsOrphans>(store)) {
    return at_once->claim_orphans(agent, most);
  }
  TRIAGE_TRY(
      found, run_catching([&] {
        return store.runs({.agent = std::string(agent), .status = RunStatus::running, .limit = 0});
      }));
  for (auto run = found.rbegin(); run != found.rend() && claimed.size() < most; ++run) {
    if (run->owned || run->damaged) continue;
    auto lease = detail::claim_orphan(store, run->id);
    // The runs claimed so far go to the caller; the next claim reports the error.
    if (!lease && claimed.empty()) return lease.error();
    if (!lease) break;
    if (lease.value()) claimed.push_back(*std::move(lease).value());
  }
  return outcome::success(std::move(claimed));
}

}  // namespace triage::inline v0_1
