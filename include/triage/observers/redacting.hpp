// SPDX-License-Identifier: MIT
#pragma once
// An observer that is told no secrets.

#include "triage/observer.hpp"
#include "triage/redaction.hpp"

#include <memory>

namespace triage::inline v0_1 {

// Passes every event on without the secrets that the redactor knows: in its texts, its step, its
// error, its action, and its failure with the trajectory. A redactor that throws keeps the event
// back. redactor and inner: not null.
[[nodiscard]] std::shared_ptr<Observer> redacted(std::shared_ptr<Observer> inner,
                                                 std::shared_ptr<const Redactor> redactor);

}  // namespace triage::inline v0_1
