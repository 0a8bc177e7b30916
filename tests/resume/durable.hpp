// SPDX-License-Identifier: MIT
#pragma once
// A store that claims durability, an agent's options on it, answers that suspend, and processes
// that die.

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

// Resumes the run and leaves the journal in the state of a process killed in its attempt.
inline void die_while_resumed(Kit& kit, const RunId& run) {
  const Lease lease = kit.store->acquire(run).value();
  Journal journal = stored_journal(*kit.store, run);
  std::vector<Record> records;
  const WallTime wall = kit.clock->wall_now();
  records.push_back(
      journal.add(RecordKind::resumed, wall, Json{{"to", 0}, {"reason", "process_died"}}));
  records.push_back(
      journal.add(RecordKind::attempt_started, wall, Json{{"number", journal.attempts() + 1}}));
  REQUIRE_OK(kit.store->append(lease, records, RunStatus::running));
  REQUIRE_OK(kit.store->release(lease));
}

// A run whose process was killed in its first attempt.
inline void begin_and_die(Kit& kit, const RunId& run) {
  const TriageAgent agent{&fails_once, answers({RecoveryAction::abort()}), kit.options()};
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = run}));
  const Lease lease = kit.store->acquire(run).value();
  Journal journal = stored_journal(*kit.store, run);
  const Record record = journal.add(RecordKind::resumed, kit.clock->wall_now(),
                                    Json{{"to", 0}, {"reason", "aborted"}});
  REQUIRE_OK(kit.store->append(lease, {&record, 1}, RunStatus::running));
  REQUIRE_OK(kit.store->release(lease));
}

template <class T>
std::string token_of(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().suspension());
  return result.error().suspension()->token;
}

}  // namespace triage::test
