// SPDX-License-Identifier: MIT
#pragma once
// An agent that asks before it answers, and one that calls it.

#include "resume/durable.hpp"
#include "triage/forwarding_store.hpp"

#include <memory>
#include <utility>

namespace triage::test {

// An agent that asks before it answers, called by another agent.
struct Nested {
  Kit kit{};
  int inner_attempts = 0;
  int outer_attempts = 0;
  std::uint64_t seeds = 0;
  bool stored = true;
  bool throws = false;  // How the outer callable passes the inner error on.
  std::vector<std::string> allowed{};
  std::shared_ptr<CheckpointStore> store{};  // Instead of the kit's.

  [[nodiscard]] AgentOptions options(const char* name) {
    AgentOptions all = stored ? kit.options() : kit.bare();
    if (store) all.store = store;
    all.name = name;
    all.random = seeded_random(++seeds);  // Each agent makes its own run ids.
    return all;
  }
  auto inner() {
    return TriageAgent{[this](const std::string& task, Attempt& attempt) {
                         ++inner_attempts;
                         if (attempt.number() == 1) throw std::runtime_error("access_denied");
                         return task + " done";
                       },
                       answers({asking(allowed)}), options("inner")};
  }
  template <class Inner>
  auto outer(const Inner& agent) {
    return TriageAgent{
        [this, &agent](const std::string& task, Attempt& attempt) -> Result<std::string> {
          ++outer_attempts;
          attempt.record_step({.action = "call the inner agent"});
          auto answer = agent.run(task, {.parent = &attempt});
          if (throws) return answer.value();
          return answer;
        },
        answers({RecoveryAction::escalate()}), options("outer")};
  }
};

// Refuses to give out the lease of `run`, once.
struct RefusingOnce final : ForwardingStore {
  RefusingOnce(std::shared_ptr<CheckpointStore> inner, Error why)
      : ForwardingStore(std::move(inner)), error(std::move(why)) {}
  Error error;
  RunId run{};
  Result<Lease> acquire(const RunId& id) override {
    if (id != run) return ForwardingStore::acquire(id);
    run.clear();
    return error;
  }
};

}  // namespace triage::test
