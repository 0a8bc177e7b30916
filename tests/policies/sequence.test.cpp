// SPDX-License-Identifier: MIT
#include "triage/policies/sequence.hpp"

#include "support/catch.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/context.hpp"

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::context_for;
using Kind = RecoveryAction::Kind;

namespace {

const FailureType type = FailureType::timeout;

}  // namespace

TEST_CASE("the n-th failure of a type gets the n-th strategy", "[policies][sequence]") {
  const Strategy strategy = sequence({retry(), replan(), rollback()});
  CHECK(strategy(context_for(type)).kind == Kind::retry);
  CHECK(strategy(context_for(type).after(1)).kind == Kind::replan);
  CHECK(strategy(context_for(type).after(2)).kind == Kind::rollback);
}

TEST_CASE("past the end of a sequence is an escalation that says so", "[policies][sequence]") {
  const Strategy strategy = sequence({retry(), replan()});
  for (const int earlier : {2, 3, 100}) {
    const RecoveryAction action = strategy(context_for(type).after(earlier));
    CHECK(action.kind == Kind::escalate);
    CHECK_THAT(action.message, ContainsSubstring("sequence") && ContainsSubstring("exhausted") &&
                                   ContainsSubstring("timeout") && ContainsSubstring("(2)"));
  }
}

TEST_CASE("a sequence counts failures of one type, whatever was done about them",
          "[policies][sequence]") {
  const Strategy strategy = sequence({retry(), replan()});
  CHECK(strategy(context_for(type).after(5, FailureType::unknown)).kind == Kind::retry);
  CHECK(strategy(context_for(type).after(1, Kind::rollback)).kind == Kind::replan);
}

TEST_CASE("in a sequence the place is the limit, not the member's own", "[policies][sequence]") {
  const Strategy strategy =
      sequence({retry(), retry(), retry(), retry(), replan({.max_replans = 1})});
  for (const int earlier : {0, 1, 2, 3}) {
    CHECK(strategy(context_for(type).after(earlier)).kind == Kind::retry);
  }
  CHECK(strategy(context_for(type).after(4)).kind == Kind::replan);
}

TEST_CASE("backoff keeps growing inside a sequence", "[policies][sequence]") {
  const Strategy step = retry_with_backoff({.base_delay = 1s, .jitter = Jitter::none});
  const Strategy strategy = sequence({step, step, step});
  CHECK(strategy(context_for(type).after(2)).delay == 4s);
  // Beyond the member's own limit of 5 attempts, the delay stays that of its last one.
  const Strategy longer = sequence({step, step, step, step, step, step});
  CHECK(longer(context_for(type).after(5)).delay == 8s);
}

TEST_CASE("a custom member of a sequence sees the whole history", "[policies][sequence]") {
  std::size_t seen = 0;
  const Strategy custom = [&seen](const FailureContext& context) {
    seen = context.history.size();
    return RecoveryAction::retry();
  };
  const auto context = context_for(type).after(3, FailureType::unknown).after(1).build();
  CHECK(sequence({custom, custom})(context).kind == Kind::retry);
  CHECK(seen == 4);
}

TEST_CASE("an empty sequence and a sequence with a bad member are refused",
          "[policies][sequence]") {
  CHECK_THAT(sequence({}).problem(), ContainsSubstring("at least one"));
  CHECK(sequence({retry(), retry({.max_attempts = 0})}).problem() ==
        "strategies[1].max_attempts is 0; allowed is 1 or more");
  CHECK_THAT(sequence({retry(), Strategy{}}).problem(),
             ContainsSubstring("strategies[1]") && ContainsSubstring("empty"));
  CHECK(chain(retry(), sequence({retry({.delay = -1s})})).problem() ==
        "fallback.strategies[0].delay is -1s; allowed is 0s or more");
}

TEST_CASE("a chain keeps what its primary decides and falls through when that gives up",
          "[policies][chain]") {
  const Strategy strategy = chain(retry({.max_attempts = 2}), rollback());
  CHECK(strategy(context_for(type)).kind == Kind::retry);
  CHECK(strategy(context_for(type).after(1)).kind == Kind::rollback);
}

TEST_CASE("a chain does not ask the alternative unless it must", "[policies][chain]") {
  int asked = 0;
  const Strategy counting = [&asked](const FailureContext&) {
    ++asked;
    return RecoveryAction::abort();
  };
  CHECK(chain(replan(), counting)(context_for(type)).kind == Kind::replan);
  CHECK(asked == 0);
  CHECK(chain(escalate(), counting)(context_for(type)).kind == Kind::abort);
  CHECK(asked == 1);
}

TEST_CASE("a chain can fall through on other kinds of action", "[policies][chain]") {
  const Strategy strategy = chain(abort_run(), fallback(1), {Kind::abort, Kind::suspend});
  CHECK(strategy(context_for(type)).kind == Kind::fallback);
  CHECK(chain(escalate(), fallback(1), {Kind::abort})(context_for(type)).kind == Kind::escalate);
  CHECK_THAT(chain(retry(), replan(), {}).problem(), ContainsSubstring("at least one kind"));
}

TEST_CASE("strategies made of strategies describe all of them", "[policies][sequence]") {
  CHECK(sequence({replan(), escalate()}).description() ==
        "sequence(replan(max_replans=3), escalate())");
  CHECK(chain(escalate("a"), abort_run(), {Kind::suspend, Kind::escalate, Kind::escalate})
            .description() ==
        "chain(primary=escalate(message=\"a\"), fallback=abort_run(), kinds=[escalate, suspend])");
}
