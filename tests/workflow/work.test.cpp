// SPDX-License-Identifier: MIT
// The threads of a run: who runs what, and that no place stays empty while something could run.
#include "driver/work.hpp"
#include "kit.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

// Two jobs that each wait for the other.
class Pair {
 public:
  void meet() {
    std::unique_lock lock(mutex_);
    ++here_;
    changed_.notify_all();
    met_ &= changed_.wait_for(lock, std::chrono::seconds(5), [&] { return here_ == 2; });
    ++left_;
  }
  [[nodiscard]] bool has_left() {
    const std::scoped_lock lock(mutex_);
    return left_ == 2;
  }
  [[nodiscard]] bool met() const { return met_; }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  int here_ = 0;
  int left_ = 0;
  bool met_ = true;
};

}  // namespace

TEST_CASE("as many executors run at once as there are threads, the driver's included",
          "[workflow][work]") {
  for (int round = 0; round < 50; ++round) {
    workflow::detail::Work work(2, nullptr);
    for (const bool begun_by_a_job : {false, true}) {  // Then one thread is there already.
      Pair pair;
      const auto add_both = [&] {
        work.add([&] { pair.meet(); });
        work.add([&] { pair.meet(); });
      };
      if (begun_by_a_job) work.add(add_both);
      if (!begun_by_a_job) add_both();
      work.help();
      INFO("round " << round);
      REQUIRE(pair.has_left());
      REQUIRE(pair.met());
    }
  }
}

TEST_CASE("an executor that is the only one at work is not handed to another thread",
          "[workflow][work]") {
  const std::size_t threads = GENERATE(1U, 4U);
  const auto driver = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  const auto work = stateless([&](const int& n) {
    if (std::this_thread::get_id() != driver) ++elsewhere;
    return n + 1;
  });
  SECTION("because its workflow is a chain") {
    WorkflowBuilder builder("w", {.schedule = Schedule::eager});
    builder.executor("a", work).executor("b", work).executor("c", work).start("a");
    WorkflowRun run(built(builder.chain({"a", "b", "c"})), {.threads = threads});
    REQUIRE_OK(run.run(1));
  }
  SECTION("because one executor has several messages") {
    WorkflowBuilder builder("w");
    builder.executor("a", stateless([](const int&, Context& context) {
                       for (int i = 0; i < 10; ++i) context.send(i);
                     }));
    builder.executor("b", work).start("a").edge("a", "b");
    WorkflowRun run(built(builder), {.threads = threads});
    REQUIRE_OK(run.run(1));
    CHECK(run.handler_calls() == 11);
  }
  CHECK(elsewhere == 0);
}

TEST_CASE("a run goes on by itself when the program's threads refuse its work",
          "[workflow][work]") {
  class Full final : public Threads {
   public:
    void start(std::function<void()>) override { throw std::runtime_error("the queue is full"); }
  };
  const auto work = stateless([](const int& n) { return n + 1; });
  WorkflowBuilder builder("w");
  builder.executor("a", work).executor("b", work).executor("c", work).start("a");
  WorkflowRun run(built(builder.fan_out("a", {"b", "c"})), {.pool = std::make_shared<Full>()});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().outputs.size() == 2);
}

TEST_CASE("a job that throws on the driver's thread does not count as running for ever",
          "[workflow][work]") {
  bool ran = false;
  workflow::detail::Work work(1, nullptr);
  work.add([] { throw 42; });
  work.add([&] { ran = true; });
  CHECK_THROWS_AS(work.help(), int);
  CHECK_FALSE(ran);
  work.help();  // Does the rest, and returns, as the destructor does.
  CHECK(ran);
}
