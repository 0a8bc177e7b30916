// SPDX-License-Identifier: MIT
#pragma once
// Redaction at rest: a decorator of any store, which then never sees the secrets that a Redactor
// knows.

#include "triage/forwarding_store.hpp"
#include "triage/redaction.hpp"

#include <memory>

namespace triage::inline v0_1 {

// What is redacted besides steps, failures, decisions and messages. A run continued in another
// process sees what was stored: a secret needed from these parts must come from elsewhere (an
// environment variable), or the part must be excluded.
struct RedactionScope {
  bool tasks = true;    // The tasks of runs. Reusing a run id requires an equal task, so one with a
                        // secret is a conflict.
  bool state = true;    // What update_state() set.
  bool results = true;  // Results of effects and runs, and values of signals: sending one with a
                        // secret again is a conflict.
};

// Redacts records before they are appended, and signals before they are sent. What a run has in
// memory is not redacted, nor are names: of agents, runs, labels, effects, signals, tools and keys
// of the state. Deterministic if the redactor is, so a repeated append is recognised. Data stored
// earlier is not changed.
//
// Thread-safety: that of the inner store.
class RedactingStore : public ForwardingStore {
 public:
  // Errors: Errc::invalid_argument (no store, no redactor).
  [[nodiscard]] static Result<std::shared_ptr<RedactingStore>> around(
      std::shared_ptr<CheckpointStore> inner, std::shared_ptr<const Redactor> redactor,
      const RedactionScope& scope = {});

 protected:
  using ForwardingStore::ForwardingStore;
};

}  // namespace triage::inline v0_1
