// SPDX-License-Identifier: MIT
#pragma once
// An observer that receives no secrets.

#include "triage/observer.hpp"
#include "triage/redaction.hpp"

#include <memory>

namespace triage::inline v0_1 {

// Passes every event on without the secrets that the redactor recognises: in its texts, step,
// error, action, and its failure with the trajectory. If the redactor throws, the event is dropped.
// redactor and inner: not null.
[[nodiscard]] std::shared_ptr<Observer> redacted(std::shared_ptr<Observer> inner,
                                                 std::shared_ptr<const Redactor> redactor);

}  // namespace triage::inline v0_1
