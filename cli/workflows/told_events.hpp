// SPDX-License-Identifier: MIT
#pragma once
// What `triage workflow run` tells while it runs, at once and on standard error: standard output is
// for results.

#include "triage/clock.hpp"
#include "triage/observer.hpp"
#include "triage/redaction.hpp"
#include "triage/result.hpp"
#include "triage/workflow/events.hpp"
#include "workflow_file.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// An error without the advice for programs, which get the value that was not stored.
[[nodiscard]] std::string said(const Error& error);

// That the run's store is lost. What is at work then may take its time.
void tell_lost_store(const Event& event);
// Of a graph's executors.
void tell_event(const workflow::WorkflowEvent& event, const Redactor& redactor);
// Of tasks: one that is left out because of another is a delivery like any other, but nobody has
// worked on it. Who works on one is of telling_works().
void tell_task(const workflow::WorkflowEvent& event, const Redactor& redactor);
// That a task or executor has failed and is tried again after a wait.
void tell_retry(const std::string& path, const std::string& failure, Duration wait,
                const Redactor& redactor);
// The same works, which tell that a task begins: once, however often they try.
[[nodiscard]] AgentWorks telling_works(AgentWorks works);

}  // namespace triage::inline v0_1::cli
