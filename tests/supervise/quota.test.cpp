// SPDX-License-Identifier: MIT
// What is done about a quota, and about a failure beside a death for want of memory.
#include "supervise/attempt/verdict.hpp"
#include "supervise/spec/rules.hpp"

#include "support/catch.hpp"
#include "triage/testing/context.hpp"

#include <csignal>

using namespace triage;
using namespace triage::supervise;
using namespace std::chrono_literals;
using triage::testing::context_for;

TEST_CASE("a quota whose reset has passed is asked again after waits that grow, and not for ever",
          "[quota]") {
  const FailurePolicy policy = default_policy({});
  const auto decided = [&](int before, Duration asked) {
    return policy.decide(
        context_for(FailureType::quota_exhausted).after(before).retry_after(asked));
  };
  for (const auto& [before, wait] :
       {std::pair{0, 5s}, std::pair{1, 10s}, std::pair{4, 80s}, std::pair{20, 300s}}) {
    CHECK(decided(before, 0s).kind == RecoveryAction::Kind::retry);
    CHECK(decided(before, 0s).delay == wait);
  }
  CHECK(decided(0, 40s).delay == 40s);
  CHECK(decided(100, 0s).kind == RecoveryAction::Kind::escalate);
  // A long run may often come to the end of its quota.
  CHECK(decided(100, 5h).kind == RecoveryAction::Kind::retry);
  CHECK(decided(100, 5h).delay == 5h);
}

TEST_CASE("a neighbour that is killed for want of memory does not explain a program's own failure",
          "[run]") {
  constexpr int exited = 1 << 8;  // As wait(2) says it.
  const auto reason = [](int status, const char* said) {
    return failure_of({.status = status, .error = said, .out_of_memory = true}, "tool").reason;
  };
  CHECK(reason(exited, "HTTP 503 Service Unavailable\n").empty());
  CHECK(reason(exited, "") == "out_of_memory");
  CHECK(reason(SIGKILL, "page 1 is done\n") == "out_of_memory");
  CHECK(reason((128 + SIGKILL) << 8, "page 1 is done\n") == "out_of_memory");
  CHECK(reason(SIGSEGV, "page 1 is done\n") == "killed_by_signal");
}
