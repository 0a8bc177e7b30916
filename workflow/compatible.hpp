// SPDX-License-Identifier: MIT
#pragma once
// Whether a stored run may go on with a workflow that is not quite the one that began it.

#include "finished.hpp"
#include "triage/workflow/run.hpp"

#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Of the run's state, reserved: the parts that it went on with last, if those are not the first.
inline constexpr std::string_view parts_key = "triage/parts";

// It may if nothing that differs has had its turn, or can be migrated. Errors: Errc::conflict, with
// the parts that forbid it.
[[nodiscard]] Result<void> check_parts(const RunId& run, const Json& started_with,
                                       const State& state, const Workflow& workflow);
// The parts that a run went on with last: an object, or one in a text.
[[nodiscard]] const Json& known_parts(const Json& started_with, const State& state);
[[nodiscard]] bool same_parts(const Json& known, const Workflow& workflow);
// As an object; empty if it makes no sense.
[[nodiscard]] Json parts_object(const Json& known);
// The version that an executor's part of a fingerprint tells.
[[nodiscard]] std::string version_in(const Json& parts, const std::string& path);
// What leads from one version of an executor to another, in order; nothing if something is missing.
[[nodiscard]] std::vector<const MigrationSpec*> migrations(const PlanNode& node,
                                                           const std::string& from);

}  // namespace triage::inline v0_1::workflow::detail
