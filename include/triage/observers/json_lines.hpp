// SPDX-License-Identifier: MIT
#pragma once
// Events as JSON Lines, for log collectors.

#include "triage/observer.hpp"
#include "triage/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// Calls `write` with one JSON object per event, without a newline: "time" (UTC, RFC 3339 with
// milliseconds), "event", "run", "attempt", and what the event carries: "text", "number", "error"
// {code, detail}, "step" {action, tool, error, http_status}, "failure" {type, reason, confidence,
// text}, "action" {kind, text}. docs/events.md explains `text` and `number`. Bytes that are not
// UTF-8 become U+FFFD; inputs and outputs of steps are left out, since they may be long or secret.
// `write` may be called from several threads at once; its exceptions are swallowed.
[[nodiscard]] std::shared_ptr<Observer> json_lines(std::function<void(std::string_view)> write);

// Appends every event as a line to the file, with one write(2) each, so that several processes may
// share it. Creates a missing file for its owner only (0600). Lines that cannot be written are
// lost: a full disk must not stop a run.
// Errors: Errc::io if the file cannot be opened.
[[nodiscard]] Result<std::shared_ptr<Observer>> json_lines_file(const std::string& path);

}  // namespace triage::inline v0_1
