// SPDX-License-Identifier: MIT
#include "triage/testing/simulated_clock.hpp"

#include "support/catch.hpp"

#include <thread>

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::SimulatedClock;

TEST_CASE("simulated waits take no time and are on record", "[testing][clock]") {
  SimulatedClock clock;
  CHECK(clock.now() == SimulatedClock::start);
  CHECK(clock.wall_now() == SimulatedClock::wall_start);

  CHECK(clock.sleep_until(clock.now() + 90s, {}));
  CHECK(clock.sleep_until(clock.now() + 24h * 365, {}));
  CHECK(clock.waits() == std::vector<Duration>{90s, 24h * 365});
  CHECK(clock.elapsed() == 90s + 24h * 365);
  CHECK(clock.waited() == clock.elapsed());
  CHECK(clock.wall_now() == SimulatedClock::wall_start + 90s + 24h * 365);
}

TEST_CASE("simulated time never runs backwards nor over its end", "[testing][clock]") {
  SimulatedClock clock;
  CHECK(clock.sleep_until(clock.now() - 5s, {}));
  CHECK(clock.now() == SimulatedClock::start);
  CHECK(clock.waits() == std::vector<Duration>{0s});
  clock.advance(-1s);
  CHECK(clock.elapsed() == 0s);
  clock.advance(1500us);
  CHECK(clock.wall_now() == SimulatedClock::wall_start + 1ms);
  clock.advance(Duration::max());
  CHECK(clock.now() == TimePoint::max());
  CHECK(clock.sleep_until(TimePoint::max(), {}));
}

TEST_CASE("a requested stop ends a simulated wait before time moves", "[testing][clock]") {
  SimulatedClock clock;
  std::stop_source stop;
  clock.on_wait([&](TimePoint until) {
    CHECK(until == clock.now() + 10s);  // The callback may use the clock.
    stop.request_stop();
  });
  CHECK_FALSE(clock.sleep_until(clock.now() + 10s, stop.get_token()));
  CHECK_FALSE(clock.sleep_until(clock.now() + 99s, stop.get_token()));
  CHECK(clock.elapsed() == 0s);
  CHECK(clock.waits().empty());
}

TEST_CASE("threads share one simulated time", "[testing][clock]") {
  SimulatedClock clock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&clock] {
      for (int j = 0; j < 250; ++j) {
        clock.advance(1s);
        clock.sleep_until(clock.now(), {});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(clock.elapsed() == 1000s);
  CHECK(clock.waits().size() == 1000);
}
