// SPDX-License-Identifier: MIT
#include "triage/hedge.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// Never advances, so no wait ends.
struct StoppedClock final : Clock {
  TimePoint now() override { return {}; }
  WallTime wall_now() override { return {}; }
  bool sleep_until(TimePoint, std::stop_token stop) override {
    std::latch stopped{1};
    const std::stop_callback ask(stop, [&] { stopped.count_down(); });
    stopped.wait();
    return false;
  }
};

void until_stopped(const std::stop_token& stop) {
  static_cast<void>(StoppedClock().sleep_until({}, stop));
}

std::shared_ptr<Hedge> impatient(int calls = 2, int threads = 8) {
  return Hedge::create({.max_calls = calls,
                        .max_threads = threads,
                        .clock = std::make_shared<testing::SimulatedClock>()})
      .value();
}
std::shared_ptr<Hedge> patient(int calls = 2) {
  return Hedge::create({.max_calls = calls, .clock = std::make_shared<StoppedClock>()}).value();
}

}  // namespace

TEST_CASE("a call that is quick enough is made once", "[hedge]") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const auto hedge = patient();
  CHECK(hedge->call([calls](const std::stop_token&) { return ++*calls; }).value() == 1);
  CHECK(*calls == 1);
}

TEST_CASE("a second call overtakes one that hangs, which is asked to stop", "[hedge]") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  auto stopped = std::make_shared<std::atomic<int>>(0);
  {
    const auto hedge = impatient();
    const auto value = hedge->call([=](const std::stop_token& stop) -> Result<std::string> {
      if (++*calls == 2) return std::string("second");
      until_stopped(stop);
      ++*stopped;
      return std::string("first");
    });
    CHECK(value.value() == "second");
  }
  CHECK(*stopped == 1);  // The object lives until then.
}

TEST_CASE("a call that fails begins the next one at once, and the last failure is told",
          "[hedge]") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const auto hedge = patient(3);
  CHECK(hedge
            ->call([calls](const std::stop_token&) -> Result<int> {
              if (++*calls < 3) return Error{Errc::io, "down"};
              return calls->load();
            })
            .value() == 3);
  *calls = 0;
  const auto failed = hedge->call([calls](const std::stop_token&) -> Result<int> {
    return Error{Errc::io, "down " + std::to_string(++*calls)};
  });
  CHECK_ERRC(Errc::io, failed);
  CHECK(failed.error().detail == "down 3");
  CHECK_THROWS_AS(hedge->call([](const std::stop_token&) { throw std::logic_error("no"); }),
                  std::logic_error);
}

TEST_CASE("a cancelled run does not wait for a hedged call", "[hedge]") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const auto hedge = patient();
  const auto cancel = std::make_shared<std::stop_source>();
  const auto value = hedge->call(
      [calls, cancel](const std::stop_token& stop) {
        ++*calls;
        cancel->request_stop();
        until_stopped(stop);
      },
      cancel->get_token());
  CHECK_ERRC(Errc::cancelled, value);
  CHECK_ERRC(Errc::cancelled,
             hedge->call([](const std::stop_token&) { return 1; }, cancel->get_token()));
  CHECK(*calls == 1);
}

TEST_CASE("without a free thread a function is called here, once", "[hedge]") {
  auto begun = std::make_shared<std::latch>(1);
  const auto hedge = impatient(1, 1);
  std::stop_source leave;
  std::thread other([&] {
    static_cast<void>(hedge->call(
        [begun](const std::stop_token& stop) {
          begun->count_down();
          until_stopped(stop);
        },
        leave.get_token()));
  });
  begun->wait();
  const auto me = std::this_thread::get_id();
  CHECK(hedge->call([](const std::stop_token&) { return std::this_thread::get_id(); }).value() ==
        me);
  leave.request_stop();
  other.join();
}

TEST_CASE("options that make no sense are refused, with what is allowed", "[hedge]") {
  CHECK_ERRC(Errc::invalid_argument, Hedge::create({.max_calls = 0}));
  CHECK_ERRC(Errc::invalid_argument, Hedge::create({.max_threads = 0}));
  CHECK_ERRC(Errc::invalid_argument, Hedge::create({.delay = Duration(-1)}));
}

TEST_CASE("a delay of for ever means no second call", "[hedge]") {
  struct Watch final : Clock {
    TimePoint now() override { return TimePoint(std::chrono::hours(1)); }
    WallTime wall_now() override { return {}; }
    bool sleep_until(TimePoint when, std::stop_token stop) override {
      last = when;
      return StoppedClock().sleep_until(when, std::move(stop));
    }
    std::atomic<TimePoint> last{};
  };
  const auto clock = std::make_shared<Watch>();
  const auto hedge = Hedge::create({.delay = Duration::max(), .clock = clock}).value();
  const auto value = hedge->call([clock](const std::stop_token&) {
    while (clock->last.load() == TimePoint()) std::this_thread::yield();
    return 1;
  });
  CHECK(value.value() == 1);
  CHECK(clock->last.load() == TimePoint::max());
}
