// SPDX-License-Identifier: MIT
#pragma once
// A retry that tells the agent which tools there are.

#include "triage/policy.hpp"

namespace triage::inline v0_1 {

struct ManifestOptions {
  int max_attempts = 3;  // That fail with one type, the first included. 1 or more; 1 escalates at
                         // once.
};

// RETRY with a hint that names the tool which does not exist, the tools of the contract
// (FailureContext::tools, the 32 nearest if there are more) and the most similar one, and that
// quotes the deciding evidence. Without a contract the hint has what the evidence says.
[[nodiscard]] Strategy retry_with_tool_manifest(ManifestOptions options = {});

}  // namespace triage::inline v0_1
