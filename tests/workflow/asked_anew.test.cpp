// SPDX-License-Identifier: MIT
// An answer counts for the question that was asked, not for another one that takes its place.
#include "kit.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/workflow/inspect.hpp"

#include <atomic>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

constexpr const char* question = "pay/1/approve/1";

int pay(const int& amount, Context& context) {
  return context.request<bool>("approve", Json{{"amount", amount}}) ? amount : -amount;
}

// "price" fails as long as it is broken, and then 0 is sent instead.
Workflow paying(const std::atomic<bool>& broken, bool policy = false) {
  ExecutorOptions under;
  if (policy) under.policy.emplace().otherwise(retry({.max_attempts = 2}));
  return built(WorkflowBuilder("w")
                   .port<bool>("approve")
                   .executor("price", stateless([&broken](const int&) -> Result<int> {
                               if (broken) return Error{Errc::io, "down"};
                               return 1000;
                             }),
                             {.instead = [](const Error&) { return make_message(0); }})
                   .executor("pay", pay, under)
                   .start("price")
                   .edge("price", "pay"));
}

Json only_question(const WorkflowRun& run) {
  const auto pending = run.pending_requests();
  REQUIRE_OK(pending);
  REQUIRE(pending.value().size() == 1);
  CHECK(pending.value()[0].id == question);
  return pending.value()[0].payload;
}

// What the run gives when its question gets this answer.
int paid_after(WorkflowRun& run, bool answer) {
  REQUIRE_OK(run.answer(question, answer));
  const auto done = run.resume();
  REQUIRE_OK(done);
  return done.value().value().get<int>();
}

}  // namespace

TEST_CASE("a yes to one question is no yes to another that a mended executor asks",
          "[workflow][requests]") {
  const bool policy = GENERATE(false, true);
  std::atomic<bool> broken{true};
  WorkflowRun run(paying(broken, policy), {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.start_or_resume(1));
  CHECK(only_question(run) == Json{{"amount", 0}});
  REQUIRE_OK(run.answer(question, true));
  broken = false;
  CHECK_ERRC(Errc::suspended, run.resume());
  CHECK(only_question(run) == Json{{"amount", 1000}});
  CHECK_ERRC(Errc::suspended, run.resume());
  CHECK(paid_after(run, false) == -1000);
}

TEST_CASE("pending requests show what is asked after an executor was mended",
          "[workflow][requests]") {
  std::atomic<bool> broken{true};
  WorkflowRun run(paying(broken), {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.start_or_resume(1));
  broken = false;
  CHECK_ERRC(Errc::suspended, run.resume());
  CHECK(only_question(run) == Json{{"amount", 1000}});
  CHECK(paid_after(run, true) == 1000);
}

TEST_CASE("of two questions, the one whose predecessor's answer has changed is asked anew",
          "[workflow][requests]") {
  std::atomic<int> amount{0};
  const auto graph = built(WorkflowBuilder("w")
                               .port<bool>("approve")
                               .executor("pay", stateless([&amount](const int&, Context& context) {
                                           const int now = amount;
                                           const bool first = context.request<bool>("approve", now);
                                           const bool second = context.request<bool>("approve", 7);
                                           return first && second ? now : -now;
                                         }))
                               .start("pay"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.start_or_resume(1));
  REQUIRE_OK(run.answer(question, true));
  CHECK_ERRC(Errc::suspended, run.resume());
  REQUIRE_OK(run.answer("pay/1/approve/2", true));
  amount = 1000;
  CHECK_ERRC(Errc::suspended, run.resume());
  CHECK(only_question(run) == 1000);
  CHECK(paid_after(run, true) == 1000);
}

TEST_CASE("a rollback of the workflow keeps no answer to another question",
          "[workflow][requests]") {
  const int back = GENERATE(1, 100);
  std::atomic<int> priced{0};
  std::atomic<int> checked{0};
  FailurePolicy rolls_back;
  rolls_back.otherwise(rollback({.back = back, .or_start = true}));
  const auto graph = built(
      WorkflowBuilder("w")
          .port<bool>("approve")
          .executor("price", stateless([&priced](const int&) { return ++priced == 1 ? 0 : 1000; }))
          .executor("pay", pay)
          .executor("check", stateless([&checked](const int& n) -> Result<int> {
                      if (++checked == 1) return Error{Errc::io, "not now"};
                      return n;
                    }),
                    {.policy = rolls_back, .rollback = RollbackScope::workflow})
          .start("price")
          .chain({"price", "pay", "check"}));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer(question, true));
  const auto done = run.resume();
  if (priced == 1) {  // "price" was not rolled back, so the question is the same.
    REQUIRE_OK(done);
    return;
  }
  CHECK_ERRC(Errc::suspended, done);
  CHECK(only_question(run) == Json{{"amount", 1000}});
  CHECK(paid_after(run, false) == -1000);
}
