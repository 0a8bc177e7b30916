// SPDX-License-Identifier: MIT
#pragma once
// A retry that tells the agent which tools exist.

#include "triage/policy.hpp"

namespace triage::inline v0_1 {

struct ManifestOptions {
  int max_attempts = 3;  // Failed attempts with one type, the first included. 1 or more; 1
                         // escalates at once.
};

// RETRY with a hint: the missing tool, the contract's tools (FailureContext::tools; the 32 nearest
// if there are more) and the most similar one, the deciding evidence, and the schemas of the tools'
// inputs (the first 1,000 bytes of each, about 8,000 in all; Recovery::contract has all). For other
// failures, such as an input that broke its schema, the hint starts with the evidence. Without a
// contract it consists of what the evidence says.
[[nodiscard]] Strategy retry_with_tool_manifest(ManifestOptions options = {});

}  // namespace triage::inline v0_1
