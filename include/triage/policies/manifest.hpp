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
// (FailureContext::tools, the 32 nearest if there are more) and the most similar one, that quotes
// the deciding evidence and gives the schemas of the tools' inputs (the first 1,000 bytes of each,
// some 8,000 in all; all of them are in Recovery::contract). For other failures, such as an input
// that broke its schema, the hint begins with the evidence. Without a contract it has what the
// evidence says.
[[nodiscard]] Strategy retry_with_tool_manifest(ManifestOptions options = {});

}  // namespace triage::inline v0_1
