// SPDX-License-Identifier: MIT
#pragma once
// Whether a stored run may continue with a changed workflow.

#include "finished.hpp"
#include "triage/workflow/run.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// It may if no changed part has been used yet, or the change can be migrated. Errors:
// Errc::conflict, naming the parts that prevent it. finished: nothing more will run.
[[nodiscard]] Result<void> check_parts(const RunId& run, const Json& started_with,
                                       const State& state, const Workflow& workflow,
                                       bool finished = false);
// Whether a stored delivery of the executor counts: it neither failed nor belongs to a task that
// was left out, because of another or of its condition.
[[nodiscard]] bool counts_as_done(std::string_view path, const Json& stored);
// The parts a run last continued with: an object, or its text.
[[nodiscard]] const Json& known_parts(const Json& started_with, const State& state);
[[nodiscard]] bool same_parts(const Json& known, const Workflow& workflow);
// As an object; empty if invalid.
[[nodiscard]] Json parts_object(const Json& known);
// An executor's version according to the fingerprint's parts.
[[nodiscard]] std::string version_in(const Json& parts, const std::string& path);
// The migrations from one version of an executor to the current, in order; empty if one is missing.
[[nodiscard]] std::vector<const MigrationSpec*> migrations(const PlanNode& node,
                                                           const std::string& from);

}  // namespace triage::inline v0_1::workflow::detail
