// SPDX-License-Identifier: MIT
#pragma once
// Redaction at rest: a decorator of any store, which then never sees the secrets that a Redactor
// knows.

#include "triage/forwarding_store.hpp"
#include "triage/redaction.hpp"

#include <memory>

namespace triage::inline v0_1 {

// What is redacted, besides steps, failures, decisions and messages. A run that goes on in another
// process goes on with what was stored: where it needs a secret from here, it must get it from
// somewhere else (an environment variable), or this part must be left out.
struct RedactionScope {
  bool tasks = true;    // The tasks of runs. A run id that is used again must have an equal task:
                        // one with a secret in it is a conflict then.
  bool state = true;    // What update_state() set.
  bool results = true;  // What effects and runs returned, and the values of signals: one with a
                        // secret in it is a conflict if it is sent again.
};

// Redacts records before they are appended, and signals before they are sent. What a run has in
// memory stays as it is. Names stay, too: of agents, runs, labels, effects, signals, tools and keys
// of the state. Deterministic if the redactor is, so a repeated append is recognised. What was
// stored before stays as it was.
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
