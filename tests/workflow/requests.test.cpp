// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/workflow/inspect.hpp"

#include <atomic>
#include <functional>
#include <thread>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Two executors that ask at the same time, and one that joins the answers.
Workflow asking(Schedule schedule) {
  const auto ask = [](const std::string& topic, Context& context) {
    return context.executor() + ":" + std::to_string(context.request<int>("score", topic));
  };
  return built(WorkflowBuilder("asking", {.schedule = schedule})
                   .port<int>("score")
                   .executor("start", [](const std::string& topic) { return topic; })
                   .executor("left", ask)
                   .executor("right", ask)
                   .executor("join",
                             [](const std::vector<std::string>& both) {
                               return both.at(0) + " " + both.at(1);
                             })
                   .start("start")
                   .fan_out("start", {"left", "right"})
                   .fan_in({"left", "right"}, "join"));
}

}  // namespace

TEST_CASE("a run that asks is suspended, answered in another process and finished there",
          "[workflow][requests]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const auto store = memory();
  {
    WorkflowRun run(asking(schedule), {.run_id = "w", .store = store});
    CHECK_ERRC(Errc::suspended, run.start_or_resume("tea"));
  }
  WorkflowRun other(asking(schedule), {.run_id = "w", .store = store});
  const auto pending = other.pending_requests();
  REQUIRE_OK(pending);
  REQUIRE(pending.value().size() == 2);
  CHECK(pending.value()[0].id == "left/1/score/1");
  CHECK(pending.value()[1].id == "right/1/score/1");
  CHECK(pending.value()[0].payload == "tea");
  REQUIRE_OK(other.answer("left/1/score/1", 3));
  CHECK_ERRC(Errc::suspended, other.resume());
  REQUIRE_OK(other.pending_requests());
  CHECK(other.pending_requests().value().size() == 1);
  REQUIRE_OK(other.answer("right/1/score/1", 4));
  const auto result = other.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == "left:3 right:4");
}

TEST_CASE("an answer to nothing, of another type, or a second one is refused",
          "[workflow][requests]") {
  const auto store = memory();
  WorkflowRun run(asking(Schedule::supersteps), {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::suspended, run.start_or_resume("tea"));
  CHECK_ERRC(Errc::not_found, run.answer("left/2/score/1", 3));
  CHECK_ERRC(Errc::invalid_argument, run.answer("left/1/score/1", "three"));
  REQUIRE_OK(run.answer("left/1/score/1", 3));  // The refusals have not consumed the request.
  CHECK_ERRC(Errc::conflict, run.answer("left/1/score/1", 3));
  REQUIRE_OK(run.answer("right/1/score/1", 4));
  REQUIRE_OK(run.resume());
  CHECK_ERRC(Errc::not_found, run.answer("right/1/score/1", 4));
}

TEST_CASE("of many answers at once exactly one wins", "[workflow][requests]") {
  for (int round = 0; round < 50; ++round) {
    WorkflowRun run(asking(Schedule::supersteps), {.run_id = "w", .store = memory()});
    CHECK_ERRC(Errc::suspended, run.start_or_resume("tea"));
    std::atomic<int> won{0};
    {
      std::vector<std::jthread> people;
      for (int i = 0; i < 4; ++i) {
        people.emplace_back([&, i] { won += run.answer("left/1/score/1", i).has_value() ? 1 : 0; });
      }
    }
    REQUIRE(won == 1);
  }
}

TEST_CASE("what a handler did before it asked is an effect that is not repeated",
          "[workflow][requests]") {
  std::atomic<int> done{0};
  const auto graph = built(WorkflowBuilder("w")
                               .port<bool>("approve")
                               .executor("pay", stateless([&](const int& n, Context& context) {
                                           context.effect("reserve", [&] { ++done; });
                                           const bool yes = context.request<bool>("approve", n);
                                           return yes ? n : 0;
                                         }))
                               .start("pay"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(42));
  REQUIRE_OK(run.answer("pay/1/approve/1", true));
  const auto result = run.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 42);
  CHECK(done == 1);
}

TEST_CASE("a request that swallows its interruption is asked again all the same",
          "[workflow][requests]") {
  const auto graph = built(WorkflowBuilder("w")
                               .port<int>("n")
                               .executor("a",
                                         [](const int&, Context& context) {
                                           try {
                                             return context.request<int>("n", {});
                                           } catch (...) {
                                             return -1;
                                           }
                                         })
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("a/1/n/1", 5));
  const auto result = run.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 5);
}

TEST_CASE("a request needs a declared port and a store", "[workflow][requests]") {
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("a", [](const int&, Context& context) { return context.request<int>("n", {}); })
          .start("a"));
  const auto undeclared = WorkflowRun(graph, {.store = memory()}).run(1);
  CHECK_ERRC(Errc::invalid_argument, undeclared);
  CHECK_THAT(undeclared.error().detail, ContainsSubstring("\"n\" is not declared"));
  CHECK_ERRC(Errc::unsupported, WorkflowRun(asking(Schedule::supersteps)).run("tea"));
}

namespace {

using namespace std::chrono_literals;

// Asks with an hour to answer, counted from its own request.
Workflow hurried(const std::shared_ptr<testing::SimulatedClock>& clock, ExecutorOptions options) {
  return built(WorkflowBuilder("hurried")
                   .port<int>("score")
                   .executor("ask", stateless([clock](const std::string& topic, Context& context) {
                               return context.request<int>("score", topic,
                                                           {.expires = clock->wall_now() + 1h});
                             }),
                             std::move(options))
                   .start("ask"));
}

std::vector<std::string> kinds_of(const WorkflowRun& run) {
  const auto events = run.events();
  REQUIRE_OK(events);
  std::vector<std::string> kinds;
  for (const WorkflowEvent& one : events.value()) {
    if (!one.request.empty()) kinds.emplace_back(to_string(one.kind));
  }
  return kinds;
}

}  // namespace

TEST_CASE("a request that nobody answers in time fails as a timeout, in any process",
          "[workflow][requests]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto store = memory();
  const Workflow graph = hurried(clock, {});
  {
    WorkflowRun run(graph, {.run_id = "w", .store = store, .clock = clock});
    const auto waits = run.run("tea");
    CHECK_ERRC(Errc::suspended, waits);
    REQUIRE(waits.error().suspension() != nullptr);
    CHECK(waits.error().suspension()->until == clock->wall_start + 1h);
  }
  clock->advance(40min);
  WorkflowRun run(graph, {.run_id = "w", .store = store, .clock = clock});
  CHECK_ERRC(Errc::suspended, run.resume());  // Asked again, with the same deadline.
  CHECK(run.pending_requests().value().at(0).expires == clock->wall_start + 1h);
  clock->advance(20min);
  CHECK_ERRC(Errc::conflict, run.answer("ask/1/score/1", 3));
  const auto failed = run.resume();
  CHECK_ERRC(Errc::escalated, failed);
  REQUIRE(failed.error().failure() != nullptr);
  CHECK(failed.error().failure()->type() == FailureType::timeout);
  CHECK(failed.error().failure()->classification.reason == "request_expired");
  CHECK_ERRC(Errc::not_found, run.answer("ask/1/score/1", 3));
  CHECK_ERRC(Errc::escalated, run.resume());  // It stays expired.
  CHECK(kinds_of(run) == std::vector<std::string>{"request_opened", "request_expired"});
  CHECK(inspect(*store, "w").value().expired == std::vector<std::string>{"ask/1/score/1"});
}

TEST_CASE("an answer in time counts however late the run goes on", "[workflow][requests]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto store = memory();
  const Workflow graph = hurried(clock, {});
  WorkflowRun run(graph, {.run_id = "w", .store = store, .clock = clock});
  CHECK_ERRC(Errc::suspended, run.run("tea"));
  clock->advance(59min);
  REQUIRE_OK(run.answer("ask/1/score/1", 3));
  clock->advance(24h);
  const auto done = WorkflowRun(graph, {.run_id = "w", .store = store, .clock = clock}).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 3);
}

namespace {

// Something happens just before an expiry is stored.
class AheadOfExpiry final : public ForwardingStore {
 public:
  explicit AheadOfExpiry(std::shared_ptr<CheckpointStore> inner)
      : ForwardingStore(std::move(inner)) {}
  ~AheadOfExpiry() override { stop_queue(); }
  std::function<void()> happens{};
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    if (happens && bytes.find("expired") != bytes.npos) std::exchange(happens, nullptr)();
    return ForwardingStore::put_if(space, key, expected, bytes);
  }
};

}  // namespace

TEST_CASE("an answer that was accepted counts, although the run was about to give up",
          "[workflow][requests]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto store = memory();
  const Workflow graph = hurried(clock, {});
  CHECK_ERRC(Errc::suspended,
             WorkflowRun(graph, {.run_id = "w", .store = store, .clock = clock}).run("tea"));
  clock->advance(2h);
  const auto ahead = std::make_shared<AheadOfExpiry>(store);
  ahead->happens = [&] {  // On a machine whose clock is behind.
    const auto slow = std::make_shared<testing::SimulatedClock>();
    WorkflowRun other(graph, {.run_id = "w", .store = store, .clock = slow});
    REQUIRE_OK(other.answer("ask/1/score/1", 3));
  };
  const auto done = WorkflowRun(graph, {.run_id = "w", .store = ahead, .clock = clock}).resume();
  CHECK_FALSE(ahead->happens);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 3);
}

TEST_CASE("what is sent instead takes the place of an answer that did not come",
          "[workflow][requests]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const Workflow graph = hurried(clock, {.instead = [](const Error&) { return make_message(-1); }});
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .clock = clock});
  CHECK_ERRC(Errc::suspended, run.run("tea"));
  clock->advance(2h);
  CHECK_ERRC(Errc::escalated, run.resume());
  CHECK(run.deliveries().value().back().sent == std::vector<Json>{-1});
}

TEST_CASE("an executor may ask again, somebody else, when nobody has answered",
          "[workflow][requests]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto ask = [clock](const std::string& topic, Context& context) {
    for (const Duration patience : {Duration(1h), Duration(2h)}) {
      const RequestOptions until{
          .expires = clock->wall_now() + std::chrono::duration_cast<WallTime::duration>(patience)};
      if (const auto score = context.try_request<int>("score", topic, until)) return *score;
    }
    return 0;
  };
  const auto graph =
      built(WorkflowBuilder("w").port<int>("score").executor("ask", stateless(ask)).start("ask"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .clock = clock});
  CHECK_ERRC(Errc::suspended, run.run("tea"));
  clock->advance(90min);
  CHECK_ERRC(Errc::suspended, run.resume());
  CHECK(run.pending_requests().value().at(0).id == "ask/1/score/2");
  const bool answered = GENERATE(true, false);
  if (answered) REQUIRE_OK(run.answer("ask/1/score/2", 7));
  clock->advance(3h);
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == (answered ? 7 : 0));
}

TEST_CASE("a request that expires while others work does not suspend the run",
          "[workflow][requests]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto ask = [clock](const std::string& topic, Context& context) {
    return context.try_request<int>("score", topic, {.expires = clock->wall_now() + 1h})
        .value_or(-1);
  };
  const auto graph =
      built(WorkflowBuilder("w", {.schedule = GENERATE(Schedule::supersteps, Schedule::eager)})
                .port<int>("score")
                .executor("ask", stateless(ask))
                .executor("work", stateless([clock](const std::string&) {
                            clock->advance(2h);
                            return 1;
                          }))
                .executor("join", [](const std::vector<int>& all) { return all; })
                .start("ask")
                .start("work")
                .fan_in({"ask", "work"}, "join"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .threads = 1, .clock = clock});
  const auto done = run.run("tea");
  REQUIRE_OK(done);
  CHECK(done.value().value() == Json({-1, 1}));
}

TEST_CASE("of requests that expire at once, every handler sees its own", "[workflow][requests]") {
  constexpr int most = 32;
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::atomic<int> expired{0};
  const auto ask = [&, until = clock->wall_now() + 1h](const std::string&, Context& context) {
    if (!context.try_request<int>("score", {}, {.expires = until})) ++expired;
    return 1;
  };
  WorkflowBuilder builder("w", {.schedule = GENERATE(Schedule::supersteps, Schedule::eager)});
  builder.port<int>("score");
  for (int i = 0; i < most; ++i) {
    const std::string id = "n" + std::to_string(i);
    builder.executor(id, stateless(ask)).start(id);
  }
  std::atomic<int> opened{0};
  const auto watch = [&](const WorkflowEvent& event) {  // The time passes once all have asked.
    if (event.kind == WorkflowEventKind::request_opened && ++opened == most) clock->advance(2h);
  };
  WorkflowRun run(
      built(builder),
      {.run_id = "w", .store = memory(), .threads = 4, .clock = clock, .on_event = watch});
  const auto done = run.run("tea");
  REQUIRE_OK(done);
  CHECK(done.value().outputs.size() == most);
  CHECK(opened == most);
  CHECK(expired == most);
  CHECK(run.handler_calls() == 2 * most);
}

TEST_CASE("of an answer and the end of waiting, one wins and both know it",
          "[workflow][requests]") {
  for (int round = 0; round < 100; ++round) {
    const auto clock = std::make_shared<testing::SimulatedClock>();
    const auto store = memory();
    const Workflow graph = hurried(clock, {});
    WorkflowRun run(graph, {.run_id = "w", .store = store, .clock = clock});
    CHECK_ERRC(Errc::suspended, run.run("tea"));
    WorkflowRun person(graph, {.run_id = "w", .store = store, .clock = clock});
    bool taken = false;
    {
      const std::jthread answering([&] { taken = person.answer("ask/1/score/1", 3).has_value(); });
      clock->advance(1h);
      const auto ended = run.resume();
      CHECK(ended.has_value() != (ended.has_error() && ended.error().code == Errc::escalated));
    }
    const auto final = run.resume();
    REQUIRE(final.has_value() == taken);
  }
}

TEST_CASE("an answer is exactly of its port's type, or stays asked for", "[workflow][requests]") {
  const auto store = memory();
  const auto graph = built(WorkflowBuilder("w")
                               .port<int>("score")
                               .executor("a",
                                         [](const int&, Context& context) {
                                           return context.request<int>("score", "how many?");
                                         })
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "r", .store = store});
  CHECK_ERRC(Errc::suspended, run.run(1));
  for (const Json& wrong : {Json(true), Json(1.5), Json("1"), Json(5'000'000'000), Json()}) {
    const auto refused = run.answer("a/1/score/1", wrong);
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring("a whole number from -2147483648"));
  }
  REQUIRE_OK(run.answer("a/1/score/1", 7));
  CHECK(run.resume().value().value() == 7);
}
