// SPDX-License-Identifier: MIT
#include "storage/erase_unchanged.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

// Few, as a run may go on between the look at it and its erasure; more than one, as a store may
// erase several in one transaction.
constexpr std::size_t erased_at_once = 16;

}  // namespace

Result<std::size_t> erase_unchanged(CheckpointStore& store, std::span<const RunInfo> listed) {
  std::size_t erased = 0;
  while (!listed.empty()) {
    const auto some = listed.first(std::min(erased_at_once, listed.size()));
    listed = listed.subspan(some.size());
    std::vector<RunId> ids;
    for (const RunInfo& run : some) {
      const auto now = store.run(run.id);
      if (!now && now.error().code == Errc::not_found) continue;
      if (!now) return now.error();
      const RunInfo& is = now.value();
      const bool same = is.status == run.status && is.last == run.last && is.updated == run.updated;
      if (same) ids.push_back(run.id);
    }
    TRIAGE_TRY(gone, store.erase_all(ids));
    erased += gone;
  }
  return outcome::success(erased);
}

}  // namespace triage::inline v0_1::detail
