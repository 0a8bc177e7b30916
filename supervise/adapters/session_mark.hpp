// SPDX-License-Identifier: MIT
#pragma once
// The program's own session, recorded in the run's journal so that any process can resume it.

#include "triage/checkpoint_store.hpp"
#include "triage/result.hpp"
#include "triage/run_id.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// Valid session names: 1 to 128 letters, digits and ._:-, not starting with a dash. Anything else
// could be misread on a command line.
[[nodiscard]] bool is_session_name(std::string_view name) noexcept;

// A checkpoint's label. session: empty if there is none from here on.
[[nodiscard]] std::string session_label(std::string_view adapter, std::string_view session);
// A run's session after one of its attempts, for whoever serves the next one, too.
struct KnownSession {
  RunId run{};
  int attempt = 0;
  std::string name{};  // Empty: none.
};

// The newest session in the journal; empty if there is none. Errors: the store's.
[[nodiscard]] Result<std::string> newest_session(CheckpointStore& store, const RunId& run,
                                                 std::string_view adapter);

}  // namespace triage::inline v0_1::supervise
