// SPDX-License-Identifier: MIT
#pragma once
// Events as JSON Lines, for whatever collects logs.

#include "triage/observer.hpp"
#include "triage/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// Calls `write` with one JSON object for every event, without a newline. It has "time" (UTC,
// RFC 3339 with milliseconds), "event", "run" and "attempt", and what the event carries:
// "text", "number", "error" {code, detail}, "step" {action, tool, error, http_status},
// "failure" {type, reason, confidence, text}, "action" {kind, text}. docs/events.md says what
// `text` and `number` are. Bytes that are no UTF-8 become U+FFFD; inputs and outputs of steps are
// left out, since they may be long or secret.
// `write` may be called from several threads at once; what it throws is swallowed.
[[nodiscard]] std::shared_ptr<Observer> json_lines(std::function<void(std::string_view)> write);

// Appends every event as a line to the file, each with one write(2), so that several processes may
// share it. It is made for its owner alone (0600) if it is missing. Lines that cannot be written
// are lost: a full disk must not stop a run.
// Errors: Errc::io if the file cannot be opened.
[[nodiscard]] Result<std::shared_ptr<Observer>> json_lines_file(const std::string& path);

}  // namespace triage::inline v0_1
