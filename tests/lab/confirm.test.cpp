// SPDX-License-Identifier: MIT
// Whether the blamed step was the cause: re-runs with one change and without it.
#include "triage/lab/confirm.hpp"

#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/simulated_clock.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <memory>
#include <string>

using namespace triage;
using namespace triage::testing;
using namespace std::chrono_literals;
using lab::Finding;

namespace {

// Plans, searches for the query in its state, and pays. The plan's query is the mistake; a hint
// with the right word or a good page also helps.
struct Shop {
  int payments = 0;
  int searches = 0;

  Result<std::string> operator()(const std::string& task, Attempt& attempt) {
    if (attempt.trajectory().size() == 0) {
      attempt.record_step({.action = "plan"});
      attempt.update_state({{"query", task}});
    }
    ++searches;
    const std::string query = attempt.state().json().value("query", "");
    const std::string page = attempt.effect(
        "page", [&] { return std::string(query == "owls" ? "many owls" : "nothing"); });
    const bool told = attempt.recovery() != nullptr && attempt.recovery()->hint == "ask for owls";
    if (page == "nothing" && !told) {
      attempt.record_step({.action = "search", .tool_called = "search", .error = "no results"});
      return attempt.fail({.text = "the search for " + query + " found nothing: tool error",
                           .type = FailureType::external_fault});
    }
    attempt.record_step({.action = "search", .tool_called = "search"});
    if (task == "pays") attempt.effect("pay", [&] { return ++payments; });
    return page;
  }
};

struct Scene {
  std::shared_ptr<CheckpointStore> store = MemoryStore::create();
  Shop shop{};

  auto agent() {
    return TriageAgent{
        [this](const std::string& task, Attempt& attempt) { return shop(task, attempt); },
        FailurePolicy().otherwise(retry({.max_attempts = 2})),
        {.name = "shop",
         .store = store,
         .clock = std::make_shared<SimulatedClock>(),
         .random = seeded_random(3)}};
  }
  void fail(const std::string& task) {
    CHECK_ERRC(Errc::escalated, agent().run(task, {.run_id = "r"}));
  }
  lab::Confirmation confirmed(lab::ConfirmOptions options) {
    auto found = lab::confirm_blame(agent(), *store, "r", options);
    REQUIRE_OK(found);
    return std::move(found).value();
  }
};

// An agent whose first run fails for good in its first attempt, and what is found out about it.
template <class Callable>
struct Failing {
  std::shared_ptr<CheckpointStore> store = MemoryStore::create();
  TriageAgent<Callable> agent;

  explicit Failing(Callable callable)
      : agent{std::move(callable), FailurePolicy().otherwise(escalate()), {.store = store}} {
    CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  }
  lab::Confirmation confirmed(const char* hint, int times) {
    auto found = lab::confirm_blame(agent, *store, "r", {.change = {.hint = hint}, .times = times});
    REQUIRE_OK(found);
    return std::move(found).value();
  }
};

Error busy(Attempt& attempt) { return attempt.fail({.text = "busy", .http_status = 503}); }

}  // namespace

TEST_CASE("the step was the cause if the run finishes with the change and not without",
          "[confirm]") {
  Scene scene;
  scene.fail("owl");
  const auto found = scene.confirmed({.change = {.answers = {{"page", "many owls"}}}, .times = 12});
  CHECK(found.finding == Finding::cause);
  CHECK(found.blame.attempt == 2);
  CHECK(found.blame.step == 1U);
  CHECK(found.blame.action == "search");
  CHECK(found.unchanged.finished == 0);
  CHECK(found.unchanged.failed_alike == 12);
  CHECK(found.changed.finished == 12);
  CHECK(found.difference == Approx(1.0));
  CHECK(found.interval.low > 0.6);
  CHECK_THAT(lab::describe(found),
             ContainsSubstring("step 1 (search) is blamed") &&
                 ContainsSubstring("unchanged: 0 of 12 finished, 0.0 % (0.0 % to 24.2 %)") &&
                 ContainsSubstring("difference: +100.0 points") &&
                 ContainsSubstring("The cause is at step 1 (search)") &&
                 ContainsSubstring("Assumed:"));
  CHECK(lab::to_json(found)["finding"] == "cause");
}

TEST_CASE("a hint and a repaired state are changes, too", "[confirm]") {
  Scene scene;
  scene.fail("owl");
  CHECK(scene.confirmed({.change = {.hint = "ask for owls"}}).finding == Finding::cause);
  CHECK(scene.confirmed({.change = {.hint = "be careful"}}).finding == Finding::not_shown);
  // The page was recorded, so another query does not change that answer.
  const auto state = scene.confirmed({.change = {.state = {{"query", "owls"}}}});
  CHECK(state.finding == Finding::not_shown);
  CHECK(state.changed.failed_alike == 20);
}

TEST_CASE("re-runs carry out no effect, and leave the store as it is", "[confirm]") {
  Scene scene;
  scene.fail("pays");
  CHECK(scene.shop.payments == 0);
  const auto runs = scene.store->runs({}).value().size();
  const auto records = scene.store->read("r", {}).value().records.size();
  lab::ConfirmOptions options{.change = {.answers = {{"page", "many owls"}}}};
  auto found = scene.confirmed(options);
  CHECK(found.finding == Finding::undecided);
  CHECK(found.refused == std::vector<std::string>{"pay"});
  CHECK(found.changed.undecided == 20);
  CHECK_THAT(lab::describe(found), ContainsSubstring("effect \"pay\" was refused"));
  options.assumed = {{"pay", 7}};
  CHECK(scene.confirmed(options).finding == Finding::cause);
  CHECK(scene.shop.payments == 0);
  CHECK(scene.shop.searches == 2 + 80);
  CHECK(scene.store->runs({}).value().size() == runs);
  CHECK(scene.store->read("r", {}).value().records.size() == records);
}

TEST_CASE("a failure that comes by chance is not blamed on a step", "[confirm]") {
  int calls = 1;
  Failing scene([&calls](const std::string&, Attempt& attempt) -> Result<int> {
    attempt.record_step({.action = "look", .error = "busy"});
    if (calls++ % 3 != 1) return 1;
    return busy(attempt);
  });
  const auto found = scene.confirmed("look twice", 30);
  CHECK(found.finding == Finding::not_shown);
  CHECK(found.blame.checkpoint == "r@0");
  CHECK(found.unchanged.finished + found.changed.finished == 40);
}

TEST_CASE("a re-run that would wait for long is undecided, and waits for nothing", "[confirm]") {
  Failing scene([](const std::string&, Attempt& attempt) -> Result<int> {
    attempt.record_step({.action = "look", .error = "busy"});
    if (attempt.recovery() != nullptr) attempt.sleep_for("a day", 24h);
    return busy(attempt);
  });
  const auto found = scene.confirmed("wait", 6);
  CHECK(found.finding == Finding::undecided);
  CHECK(found.unchanged.undecided == 6);
}

TEST_CASE("the failure of one attempt is asked about, and another checkpoint", "[confirm]") {
  Scene scene;
  scene.fail("owl");
  const auto first = lab::find_blame(*scene.store, "r", {.attempt = 1});
  REQUIRE_OK(first);
  CHECK(first.value().attempt == 1);
  const auto second = lab::find_blame(*scene.store, "r");
  CHECK(second.value().attempt == 2);
  CHECK(first.value().checkpoint != second.value().checkpoint);
  // The checkpoint contains everything before the step, and nothing of it.
  const auto id = parse_checkpoint_id(second.value().checkpoint).value();
  CHECK(scene.store->load(id).value().trajectory.size() == 1);
  const auto found =
      scene.confirmed({.change = {.state = {{"query", "owls"}}}, .from = first.value().checkpoint});
  CHECK(found.blame.checkpoint == first.value().checkpoint);
}

TEST_CASE("re-runs begin before the blamed step, also if others came after it", "[confirm]") {
  Failing scene([](const std::string&, Attempt& attempt) -> Result<int> {
    attempt.record_step({.action = "plan"});
    attempt.record_step({.action = "read", .error = "no such file"});
    attempt.record_step({.action = "write"});
    attempt.record_step({.action = "check"});
    return busy(attempt);
  });
  const auto blame = lab::find_blame(*scene.store, "r");
  REQUIRE_OK(blame);
  CHECK(blame.value().action == "read");
  const auto id = parse_checkpoint_id(blame.value().checkpoint).value();
  CHECK(scene.store->load(id).value().trajectory.size() == 1);
}

TEST_CASE("a re-run that was refused an effect is undecided, also if it finishes", "[confirm]") {
  Failing scene([](const std::string&, Attempt& attempt) -> Result<int> {
    attempt.record_step({.action = "look", .error = "busy"});
    if (attempt.recovery() == nullptr) return busy(attempt);
    return attempt.try_effect("pay", [] { return 1; }) ? 1 : 2;
  });
  const auto found = scene.confirmed("pay", 6);
  CHECK(found.finding == Finding::undecided);
  CHECK(found.changed.undecided == 6);
}

TEST_CASE("what cannot be confirmed says what is allowed", "[confirm]") {
  Scene scene;
  scene.fail("owl");
  REQUIRE_OK(scene.agent().run("owls", {.run_id = "good"}));
  const auto refused = [&](const RunId& run, const lab::ConfirmOptions& options) {
    const auto found = lab::confirm_blame(scene.agent(), *scene.store, run, options);
    REQUIRE_FALSE(found.has_value());
    return std::string(to_string(found.error().code)) + ": " + found.error().detail;
  };
  const lab::Change hint{.hint = "ask for owls"};
  CHECK_THAT(refused("r", {}), ContainsSubstring("invalid_argument: nothing is changed") &&
                                   ContainsSubstring("a hint, keys of the state"));
  CHECK_THAT(refused("r", {.change = {.hint = "x", .state = {{"a", 1}}}}),
             ContainsSubstring("more than one thing is changed"));
  CHECK_THAT(refused("r", {.change = hint, .times = 5}),
             ContainsSubstring("times is 5; allowed are 6 to 10000"));
  CHECK_THAT(refused("r", {.change = hint, .attempt = 9}),
             ContainsSubstring("attempt 9 of run \"r\" did not fail; these did: 1, 2"));
  CHECK_THAT(refused("good", {.change = hint}),
             ContainsSubstring("nothing failed in run \"good\""));
  CHECK_THAT(refused("nobody", {.change = hint}), ContainsSubstring("not_found"));
  CHECK_THAT(refused("r", {.change = hint, .from = "r@4711"}),
             ContainsSubstring("not_found") && ContainsSubstring("r@4711"));
  const TriageAgent other{[](const std::string&) { return 1; },
                          FailurePolicy(),
                          {.name = "other", .store = scene.store}};
  CHECK_ERRC(Errc::conflict, lab::confirm_blame(other, *scene.store, "r", {.change = hint}));
}

TEST_CASE("runs with the longest ids can be run again", "[confirm]") {
  Scene scene;
  const RunId longest(128, 'r');
  CHECK_ERRC(Errc::escalated, scene.agent().run("owl", {.run_id = longest}));
  const auto found = lab::confirm_blame(scene.agent(), *scene.store, longest,
                                        {.change = {.hint = "ask for owls"}});
  REQUIRE_OK(found);
  CHECK(found.value().finding == Finding::cause);
}

TEST_CASE("confirming can be stopped between two re-runs", "[confirm]") {
  Scene scene;
  scene.fail("owl");
  std::stop_source stop;
  lab::ConfirmOptions options{.change = {.hint = "ask for owls"}, .stop = stop.get_token()};
  options.on_progress = [&](int done, int all) {
    CHECK(all == 40);
    if (done == 3) stop.request_stop();
  };
  CHECK_ERRC(Errc::cancelled, lab::confirm_blame(scene.agent(), *scene.store, "r", options));
  CHECK(scene.shop.searches == 2 + 3);
}
