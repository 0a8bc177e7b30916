// SPDX-License-Identifier: MIT
// Where messages go, and on which threads handlers run.
#include "kit.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a selector chooses who gets a message, and may not name a stranger",
          "[workflow][routes]") {
  const auto graph = [](std::vector<std::string> chosen) {
    const auto pass = [](const int& n) { return n; };
    return built(
        WorkflowBuilder("w")
            .executor("start", pass)
            .executor("a", pass)
            .executor("b", pass)
            .executor("c", pass)
            .start("start")
            .fan_out("start", {"a", "b", "c"}, [chosen](const Message&) { return chosen; }));
  };
  const auto some = WorkflowRun(graph({"c", "a"})).run(1);
  REQUIRE_OK(some);
  REQUIRE(some.value().outputs.size() == 2);
  CHECK(some.value().outputs[0].executor == "a");
  CHECK(some.value().outputs[1].executor == "c");
  const auto none = WorkflowRun(graph({})).run(1);
  REQUIRE_OK(none);
  CHECK(none.value().outputs.empty());
  const auto stranger = WorkflowRun(graph({"a", "d"})).run(1);
  CHECK_ERRC(Errc::invalid_argument, stranger);
  CHECK_THAT(stranger.error().detail, ContainsSubstring("\"d\"") && ContainsSubstring("a, b, c"));
}

TEST_CASE("handlers run on the program's own threads", "[workflow][routes]") {
  class Own final : public Threads {
   public:
    void start(std::function<void()> work) override {
      const std::scoped_lock lock(mutex_);
      threads_.emplace_back([this, work = std::move(work)] {
        {
          const std::scoped_lock own(mutex_);
          ids_.insert(std::this_thread::get_id());
        }
        work();
      });
    }
    [[nodiscard]] bool has(std::thread::id id) {
      const std::scoped_lock lock(mutex_);
      return ids_.contains(id);
    }

   private:
    std::mutex mutex_{};
    std::set<std::thread::id> ids_{};
    std::vector<std::jthread> threads_{};
  };
  const auto pool = std::make_shared<Own>();
  std::atomic<int> elsewhere{0};
  WorkflowBuilder builder("w");
  for (int i = 0; i < 10; ++i) {
    const std::string id = "n" + std::to_string(i);
    builder
        .executor(id, stateless([&](const int& n) {
                    if (!pool->has(std::this_thread::get_id())) ++elsewhere;
                    return n;
                  }))
        .start(id);
  }
  WorkflowRun run(built(builder), {.run_id = "w", .store = memory(), .pool = pool});
  REQUIRE_OK(run.run(1));
  CHECK(run.handler_calls() == 10);
  CHECK(elsewhere == 0);
}
