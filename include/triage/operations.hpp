// SPDX-License-Identifier: MIT
#pragma once
// What an operator may do about a stored run from outside its program: no callable and no policy
// is needed.

#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/run_id.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct OperatorOptions {
  std::string who{};               // Recorded beside what was done. At most 256 bytes.
  std::shared_ptr<Clock> clock{};  // Null: the machine's.
};

// Errors of those that write to the run's journal: Errc::not_found (no such run); Errc::busy (a
// living owner is at work on it); Errc::corrupt (it is damaged); Errc::invalid_argument (`who` is
// too long); the store's.

// As TriageAgent::signal: answers Attempt::wait(name), once, also of a run that is not there yet.
// The same value again is a success.
// Errors: Errc::conflict if the run has finished, or the name was answered with another value.
[[nodiscard]] Result<void> send_signal(CheckpointStore& store, const RunId& run,
                                       std::string_view name, const Json& value);

// Ends a run that waits, or whose process died, as its stop token would have: it is cancelled, and
// only resume_run goes on with it. No effect is undone. Its token becomes useless. A nested run
// that it waits for is a run of its own. Errors: Errc::conflict if it has ended already.
[[nodiscard]] Result<void> cancel_run(CheckpointStore& store, const RunId& run,
                                      const OperatorOptions& options = {});

// What somebody has found out about an effect in doubt.
struct Settlement {
  bool happened = false;
  Json result{};  // What the effect would have returned; null if it did not happen.
};
// Writes down whether an effect in doubt happened, as its `reconcile` would have, so that the run
// can go on; of one whose undoing is in doubt, whether the undoing happened. What is written down
// holds for good, and nobody checks it.
// Errors: Errc::not_found (no such effect); Errc::conflict if it is not in doubt;
// Errc::invalid_argument (a result that cannot be stored, or that something that did not happen
// has); Errc::unsupported if the effect's intent was lost, and with it what it was: then it can
// only be settled as not happened.
[[nodiscard]] Result<void> settle_effect(CheckpointStore& store, const RunId& run,
                                         std::string_view key, const Settlement& found,
                                         const OperatorOptions& options = {});

// The run that waits for a decision under this token. The token stays good.
// Errors: Errc::not_found if it is unknown, used or for a run in no store; Errc::corrupt.
[[nodiscard]] Result<RunId> run_of_token(CheckpointStore& store, std::string_view token);

// A new token for a suspended run whose token got lost. The one before becomes useless. Whoever has
// the store may do this: a token is no protection against them.
// Errors: Errc::conflict if the run does not wait, or waits for a time or a signal inside an
// attempt; Errc::unsupported if the store keeps no keys.
[[nodiscard]] Result<std::string> reissue_token(CheckpointStore& store, const RunId& run,
                                                const OperatorOptions& options = {});

}  // namespace triage::inline v0_1
