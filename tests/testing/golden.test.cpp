// SPDX-License-Identifier: MIT
// Golden traces, the pipeline's description, and matchers.
#include "triage/testing/golden.hpp"

#include "triage/policies/circuit_breaker.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/context.hpp"
#include "triage/testing/failures.hpp"
#include "triage/testing/pipeline.hpp"
#include "triage/testing/run_table.hpp"

#include "triage/testing/matchers.hpp"

#include "support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace triage;
using namespace triage::testing;

namespace {

FailurePolicy three_times() {
  return FailurePolicy().on(FailureType::external_fault, retry()).otherwise(escalate());
}

PlayedRun healed() {
  ScriptedAgent script;
  script.attempt().step({.action = "look"}).fail(failures::http(503));
  script.attempt().succeed("ok");
  return play(script, three_times());
}

// A temporary folder, without an acceptance variable from outside.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("triage_golden_" + std::to_string(::getpid()));
  Folder() { ::unsetenv("TRIAGE_ACCEPT_GOLDEN"); }
  ~Folder() {
    ::unsetenv("TRIAGE_ACCEPT_GOLDEN");
    std::filesystem::remove_all(path);
  }
};

}  // namespace

TEST_CASE("the trace of a run is the same text each time", "[testing][golden]") {
  const std::string trace = trace_text(healed().events);
  CHECK(trace == trace_text(healed().events));
  CHECK(trace ==
        "run_started\n"
        "attempt_started #1\n"
        "step_recorded #1 [look]\n"
        "attempt_failed #1: HTTP 503 Service Unavailable\n"
        "failure_classified #1 external_fault\n"
        "recovery_chosen #1 external_fault -> retry\n"
        "attempt_started #2\n"
        "attempt_succeeded #2\n"
        "run_finished #2\n");
}

TEST_CASE("in the trace of several runs each line says whose it is, whatever their ids are",
          "[testing][golden]") {
  CHECK(trace_text({{.name = "run_started", .run_id = "at"},
                    {.name = "run_started", .run_id = "7"},
                    {.name = "rolled_back", .run_id = "at", .text = "at@7 that was at 17: at."},
                    {.name = "store_recovered"}}) ==
        "RUN1 run_started\n"
        "RUN2 run_started\n"
        "RUN1 rolled_back: RUN1@RUN2 that was RUN1 17: RUN1.\n"
        "- store_recovered\n");
}

TEST_CASE("a golden file is compared, and accepted with one variable", "[testing][golden]") {
  const Folder folder;
  const auto file = folder.path / "deep" / "run.trace";
  CHECK_THAT(compare_golden(file, "a\nb\n"), ContainsSubstring("is not there") &&
                                                 ContainsSubstring("TRIAGE_ACCEPT_GOLDEN=1") &&
                                                 ContainsSubstring("+ a\n+ b\n"));
  ::setenv("TRIAGE_ACCEPT_GOLDEN", "1", 1);
  CHECK(compare_golden(file, "a\nb\n").empty());
  ::unsetenv("TRIAGE_ACCEPT_GOLDEN");
  CHECK(compare_golden(file, "a\nb\n").empty());
  CHECK_THAT(compare_golden(file, "a\nc\n"), ContainsSubstring("  a\n- b\n+ c\n"));
}

TEST_CASE("a golden file that cannot be written is said so", "[testing][golden]") {
  const Folder folder;
  ::setenv("TRIAGE_ACCEPT_GOLDEN", "1", 1);
  CHECK_THAT(compare_golden("/proc/none/run.trace", "a\n"), ContainsSubstring("cannot be written"));
}

TEST_CASE("differences show what is around them and leave out the rest", "[testing][golden]") {
  std::string expected;
  for (int i = 0; i < 40; ++i) expected += std::to_string(i) + "\n";
  std::string actual = expected;
  actual.replace(actual.find("20\n"), 3, "twenty\n");
  CHECK(text_difference(expected, actual) ==
        "  ...\n  17\n  18\n  19\n- 20\n+ twenty\n  21\n  22\n  23\n  ...\n");
  CHECK(text_difference(expected, expected).empty());
  CHECK(text_difference("a\n", "a") == "- a\n+ a  (no newline at the end)\n");
  std::string huge;
  for (int i = 0; i < 5000; ++i) huge += "line\n";
  CHECK(text_difference(huge, huge + "one more\n") ==
        "  ...\n  line\n  line\n  line\n+ one more\n");
}

TEST_CASE("a pipeline is described with all that has a say in it", "[testing][pipeline]") {
  const std::string text = describe_pipeline(
      FailurePolicy().on(FailureType::timeout, retry({.max_attempts = 50})).otherwise(escalate()),
      {.name = "crawler",
       .strict_idempotency = true,
       .gates = {CircuitBreaker::create().value(), RateLimiter::create().value()}});
  CHECK_THAT(text,
             ContainsSubstring("agent crawler, version 1\n") &&
                 ContainsSubstring("before each attempt: circuit_breaker -> rate_limiter\n") &&
                 ContainsSubstring("store: none") &&
                 ContainsSubstring("limits: 20 attempts, 10 of a type") &&
                 ContainsSubstring("timeout") && ContainsSubstring("max_attempts=50") &&
                 ContainsSubstring("without effect: ") && ContainsSubstring("are not run again"));
  CHECK_THAT(describe_pipeline(FailurePolicy().otherwise(retry({.max_attempts = 0}))),
             ContainsSubstring("wrong: ") && ContainsSubstring("max_attempts is 0"));
  CHECK_THAT(describe_pipeline(FailurePolicy(), {.name = "a b", .limits = {.max_attempts = 0}}),
             ContainsSubstring("wrong: the agent's name \"a b\" contains") &&
                 ContainsSubstring("wrong: limits.max_attempts is 0"));
}

TEST_CASE("matchers fit Catch2, and say what they found instead", "[testing][matchers]") {
  const PlayedRun run = healed();
  CHECK_THAT(run.result, Succeeds());
  ScriptedAgent script;
  script.attempt().fail(failures::timeout());
  const PlayedRun failed = play(script, three_times());
  CHECK_THAT(failed.result, FailsWith(Errc::escalated));
  CHECK_THAT(failed.result, FailsWith(Errc::escalated, FailureType::timeout));
  CHECK_THAT(three_times(),
             Decides(context_for(FailureType::external_fault), RecoveryAction::Kind::retry));

  const FailsWith aborted(Errc::aborted);
  CHECK_FALSE(aborted.match(failed.result));
  CHECK_THAT(aborted.toString(), ContainsSubstring("fails with aborted") &&
                                     ContainsSubstring("but it is escalated (timeout)"));
  const Succeeds succeeds;
  CHECK_FALSE(succeeds.match(failed.result));
  CHECK_THAT(succeeds.toString(), ContainsSubstring("but it is escalated"));
  const Decides gives_up(context_for(FailureType::timeout), RecoveryAction::Kind::retry);
  CHECK_FALSE(gives_up.match(three_times()));
  CHECK_THAT(gives_up.toString(), ContainsSubstring("but it decides to escalate"));
}

TEST_CASE("a check against a golden file shows what differs", "[testing][matchers]") {
  const Folder folder;
  const auto file = folder.path / "run.trace";
  ::setenv("TRIAGE_ACCEPT_GOLDEN", "1", 1);
  CHECK_THAT("one\ntwo\n", MatchesGolden(file));
  ::unsetenv("TRIAGE_ACCEPT_GOLDEN");
  CHECK_THAT("one\ntwo\n", MatchesGolden(file));
  const MatchesGolden matches(file);
  CHECK_FALSE(matches.match("one\n2\n"));
  CHECK_THAT(matches.toString(),
             ContainsSubstring("is the text of " + file.string() + "\n  but ") &&
                 ContainsSubstring("  one\n- two\n+ 2\n"));
}
