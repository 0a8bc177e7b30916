// SPDX-License-Identifier: MIT
#pragma once
// The compiled half of TriageAgent::work(). Not public API.

#include "triage/detail/run_loop.hpp"
#include "triage/work.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>

namespace triage::inline v0_1::detail {

// Of those that no living owner holds, one that is not in `refused`. Null: there is none.
[[nodiscard]] Result<std::optional<Lease>> claim_one(const AgentCore& core,
                                                     const RunOptions& options,
                                                     const std::set<RunId>& refused);
// As open_run, with a lease that was claimed before. It is released if the run cannot be opened.
[[nodiscard]] Result<ContinuationPtr> open_claimed(const AgentCore& core, const Lease& lease,
                                                   const ResumeOptions& options);
// Looks for work until a stop is requested, on `threads` threads. `take_up` goes on with one run,
// and says what became of it: see WorkDone. Errors: Errc::invalid_argument, Errc::not_found (no
// store); the store's, if it fails at the first look.
using TakeUp = std::function<void(Result<ContinuationPtr>, WorkDone&)>;
[[nodiscard]] Result<WorkDone> work(const AgentCore& core, std::size_t threads,
                                    const std::stop_token& stop, const WorkOptions& options,
                                    const TakeUp& take_up);

}  // namespace triage::inline v0_1::detail
