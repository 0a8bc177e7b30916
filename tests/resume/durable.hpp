// SPDX-License-Identifier: MIT
#pragma once
// A store that claims durability, an agent's options on it, and answers that suspend.

#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/policies/stop.hpp"

namespace triage::test {

struct DurableKit : Kit {
  std::shared_ptr<FlakyStore> durable = std::make_shared<FlakyStore>(store, Durability::process);

  [[nodiscard]] AgentOptions on_disk() const { return with(durable); }
  // The n-th operation from now on fails.
  void break_operation(int n, FlakyStore::Fault fault = FlakyStore::Fault::refuses) const {
    const int at = durable->operations() + n;
    durable->fail_between(at, at, fault);
  }
};

inline RecoveryAction asking(std::vector<std::string> allowed = {}) {
  RecoveryAction action = RecoveryAction::suspend("may I?");
  action.allowed_actions = std::move(allowed);
  return action;
}

// Fails in its first attempt after one step; later returns ten times the number of steps plus the
// number of calls: 12 after a resume.
inline int fails_once(const std::string&, Attempt& attempt) {
  if (attempt.number() == 1) {
    attempt.record_step({.action = "one"});
    attempt.update_state({{"k", 1}});
    throw std::runtime_error("access_denied");
  }
  return static_cast<int>(attempt.trajectory().size()) * 10 + attempt.number();
}

template <class T>
std::string token_of(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().suspension());
  return result.error().suspension()->token;
}

}  // namespace triage::test
