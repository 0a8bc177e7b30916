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

// Claims a run without a living owner that is not in `refused`. Null: there is none.
[[nodiscard]] Result<std::optional<Lease>> claim_one(const AgentCore& core,
                                                     const RunOptions& options,
                                                     const std::set<RunId>& refused);
// Like open_run, with a claimed lease, which is released if the run cannot be opened.
[[nodiscard]] Result<ContinuationPtr> open_claimed(const AgentCore& core, const Lease& lease,
                                                   const ResumeOptions& options);
// Looks for work on `threads` threads until a stop is requested. `take_up` continues one run and
// records the outcome: see WorkDone. Errors: Errc::invalid_argument, Errc::not_found (no store);
// the store's, if it fails at the first look.
using TakeUp = std::function<void(Result<ContinuationPtr>, WorkDone&)>;
[[nodiscard]] Result<WorkDone> work(const AgentCore& core, std::size_t threads,
                                    const std::stop_token& stop, const WorkOptions& options,
                                    const TakeUp& take_up);

}  // namespace triage::inline v0_1::detail
