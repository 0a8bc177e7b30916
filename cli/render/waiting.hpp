// SPDX-License-Identifier: MIT
#pragma once
// What a suspended run waits for, for whoever decides.

#include "render/timeline.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"
#include "triage/json.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// The task for display: without what the agent removed for the newest suspension and, for `triage
// run`, without secrets.
[[nodiscard]] Json shown_task(const Timeline& timeline);
// The command line of a run of `triage run`; of other runs the task itself. At most so many
// characters.
[[nodiscard]] std::string task_in_words(const Json& task, std::size_t longest);
// "a decision", "signal NAME, until TIME" or a time. waiting: the record, or waiting_json().
[[nodiscard]] std::string waits_for(const Json& waiting);
// The same after "waits for " or "waits until ".
[[nodiscard]] std::string waits_in_words(const Json& waiting);
// What a workflow asks a person, for one line: the text of its "question" first, as far as it has
// one, since what comes after it may be cut off.
[[nodiscard]] std::string question_in_words(const Json& payload);
// Null or empty unless the run is suspended.
[[nodiscard]] Json waiting_json(const Timeline& timeline);
// The same; also null if the run cannot be read.
[[nodiscard]] Json waiting_of(CheckpointStore& store, const RunId& run);
[[nodiscard]] std::string waiting_text(const Timeline& timeline);

}  // namespace triage::inline v0_1::cli
