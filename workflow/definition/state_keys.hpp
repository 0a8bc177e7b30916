// SPDX-License-Identifier: MIT
#pragma once
// The keys that the library keeps in the state of a workflow's run, in the order of
// docs/checkpoint_format.md.

#include <string_view>

namespace triage::inline v0_1::workflow::detail {

inline constexpr std::string_view finished_prefix = "triage/done/";  // See finished_key().
inline constexpr std::string_view part_prefix = "triage/part/";      // See Parts.
inline constexpr std::string_view request_prefix = "triage/request/";
inline constexpr std::string_view answer_prefix = "triage/answer/";
inline constexpr std::string_view parts_key = "triage/parts";  // It last went on with, if changed.
inline constexpr std::string_view migrated_prefix = "triage/migrated/";  // By executor.
inline constexpr std::string_view withheld_prefix = "triage/withheld/";  // By executor.
inline constexpr std::string_view timeline_key = "triage/timeline";      // Since the last restore.
inline constexpr std::string_view resources_key = "triage/resources";
inline constexpr std::string_view edits_key = "triage/edits";              // Of a branch.
inline constexpr std::string_view refuse_new = "refuse_new";               // Its "effects".
inline constexpr std::string_view retried_key = "triage/retried";          // Something runs again.
inline constexpr std::string_view rolled_back_key = "triage/rolled_back";  // The attempt since it.
inline constexpr std::string_view root_key = "triage/root";  // Of a branch: the first origin.
// How the run was stopped last, and what it had not begun then. Null since it has gone on.
inline constexpr std::string_view stopped_key = "triage/stopped";
// Of a run at its end: the fan-ins that still wait, as their events have them, with "executor".
inline constexpr std::string_view joins_key = "triage/joins";
inline constexpr std::string_view rollbacks_key = "triage/rollbacks";  // How many of the whole run.

// No key: an answer is sent to the run as a signal of this name and a digest.
inline constexpr std::string_view answer_signal_prefix = "triage/answer/";

}  // namespace triage::inline v0_1::workflow::detail
