// SPDX-License-Identifier: MIT
#include "command_lineage.hpp"

#include "supervise/process/leftovers.hpp"
#include "triage/detail/fnv1a.hpp"
#include "triage/detail/try.hpp"

#include <unistd.h>

namespace triage::inline v0_1::cli {

void CommandLineage::expect_leftovers(const RunId& run) {
  const std::scoped_lock lock(mutex_);
  left_.insert(run);
}

Result<std::string> CommandLineage::of(const RunId& run) {
  const std::string token = "w" + std::to_string(detail::fnv1a(store_place_ + "\n" + run));
  const std::scoped_lock lock(mutex_);  // None begins before all that is left has ended.
  if (left_.contains(run)) {
    TRIAGE_TRY(mark, supervise::mark_of(::getpid()));
    mark.pid = 0;  // No group: each command has its own.
    mark.token = token;
    TRIAGE_TRYV(supervise::end_leftovers(mark));
    left_.erase(run);
  }
  return supervise::lineage_with(token);
}

}  // namespace triage::inline v0_1::cli
