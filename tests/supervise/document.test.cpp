// SPDX-License-Identifier: MIT
// What a policy document requires of a program's runs, and how they are resumed.
#include "supervise/running.hpp"

#include "supervise/spec/rules.hpp"
#include "supervise/spec/spec.hpp"
#include "support/catch.hpp"
#include "triage/agent.hpp"

#include <memory>

using namespace triage;
using namespace triage::test;

namespace {

Json start_of(const Workshop& shop, const RunId& run) {
  const auto store = SqliteStore::open(shop.store());
  REQUIRE_OK(store);
  return store.value()->read(run, {1, 1}).value().records.front().body().value();
}

std::string policy(const Workshop& shop, const std::string& text) {
  std::ofstream(shop.file("p.json")) << text;
  return shop.file("p.json");
}

}  // namespace

TEST_CASE("a circuit that one process opened keeps the program from being started by another one",
          "[run][document]") {
  const Workshop shop;
  const std::string rules = policy(shop, R"({"default": {"strategy": "escalate"},
    "gates": {"circuit_breaker": {"minimum_calls": 2, "break_duration": "10m"}}})");
  const std::string fails = shop.script("fails", "echo ran\necho HTTP 503 >&2\nexit 1");
  for (int time = 1; time <= 2; ++time) {
    CHECK(shop.run({"--policy", rules}, {fails}).out == "ran\n");
  }
  const Printed refused = shop.run({"--policy", rules, "--run", "r"}, {fails});
  CHECK(refused.out.empty());
  CHECK(refused.status == 5);
  CHECK_THAT(refused.error, ContainsSubstring("circuit_open"));
  CHECK(shop.run({"--policy", rules}, {shop.script("works", "echo works")}).out == "works\n");
  CHECK(shop.triage({"resume", "r"}).out.empty());  // Nor does resuming it.
}

TEST_CASE("a policy's budget ends the attempts of a run, and an option goes before it",
          "[run][document]") {
  const Workshop shop;
  const std::string spends = shop.script(
      "a", "echo '{\"usage\": {\"input_tokens\": 60}}' > /dev/fd/$TRIAGE_FD\necho x\nexit 1");
  const auto attempts = [&](const std::string& budget, std::vector<std::string> options) {
    options.insert(options.end(), {"--policy", policy(shop, R"({"default": {"strategy": "retry",
                      "max_attempts": 5, "delay": "1ms"}, "budget": )" +
                                                                budget + "}")});
    return shop.run(options, {spends}).out.size() / 2;
  };
  CHECK(attempts(R"({"max_tokens": 100})", {}) == 2);
  CHECK(attempts(R"({"max_calls": 3})", {}) == 3);
  CHECK(attempts(R"({"max_tokens": 100})", {"--budget", "tokens=200"}) == 4);
  CHECK(attempts(R"({"max_tokens": 100})", {"--budget", "calls=1"}) == 1);
}

TEST_CASE("each command has a version of its own", "[run][document]") {
  const Workshop shop;
  const std::string claude = shop.script("claude", "exit 0");
  CHECK(shop.run({"--run", "a"}, {"true"}).status == 0);
  CHECK(shop.run({"--run", "b", "--adapter", "generic"}, {claude, "-p", "x"}).status == 0);
  CHECK(start_of(shop, "a")["version"] == "true generic protocol-1");
  CHECK(start_of(shop, "b")["version"] == "claude generic protocol-1");
  static_cast<void>(shop.run({"--run", "c", "--max-attempts", "1"}, {claude, "-p", "x"}));
  CHECK(start_of(shop, "c")["version"] == "claude claude protocol-1");
  CHECK(start_of(shop, "a")["fingerprint"] != start_of(shop, "b")["fingerprint"]);
}

TEST_CASE("a run from before commands had versions is still continued", "[run][document]") {
  const Workshop shop;
  supervise::RunSpec spec{.command = {"sh", "-c", "echo on"}, .folder = "/"};
  {
    const auto store = SqliteStore::open(shop.store());
    REQUIRE_OK(store);
    const TriageAgent<std::function<Result<Json>(const Json&, Attempt&)>, Json> before{
        [](const Json&, Attempt& attempt) -> Result<Json> {
          return attempt.fail({.text = "HTTP 401", .http_status = 401});
        },
        supervise::policy_of_runs(nullptr, std::make_shared<const Json>()),
        {.name = supervise::agent_name, .version = "1", .store = store.value()}};
    CHECK_ERRC(Errc::escalated, before.run(supervise::to_json(spec), {.run_id = "old"}));
  }
  CHECK(shop.triage({"resume", "old"}).out == "on\n");
}

TEST_CASE("a policy decides about what does not start, within the same budget", "[run][policy]") {
  const Workshop shop;
  const std::vector<std::string> fails{"sh", "-c", "exit 3"};
  const auto with = [&](const std::string& text, const std::string& start_ups) {
    return shop.run({"--policy", policy(shop, text), "--start-ups", start_ups}, fails).error;
  };
  const std::string aborted = with(R"({"default": "abort_run"})", "3");
  CHECK_THAT(aborted, ContainsSubstring("attempt 1 failed") && !ContainsSubstring("attempt 2"));
  CHECK_THAT(with(R"({"default": {"strategy": "retry", "max_attempts": 9}})", "2"),
             ContainsSubstring("attempt 2 failed") &&
                 ContainsSubstring("failed 2 times before it had done anything"));
  CHECK_THAT(with(R"({"default": "retry"})", "1"),
             ContainsSubstring("it failed once before it had done anything"));
}
