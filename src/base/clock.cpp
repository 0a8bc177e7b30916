// SPDX-License-Identifier: MIT
#include "triage/clock.hpp"

#include <pthread.h>
#include <sodium.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace triage::inline v0_1 {
namespace {

class ThreadAlarm final : public Alarm {
 public:
  ThreadAlarm(Clock& clock, TimePoint when, std::function<void()> ring)
      : thread_([&clock, when, ring = std::move(ring)](std::stop_token gone) {
          if (clock.sleep_until(when, std::move(gone))) ring();
        }) {}

 private:
  std::jthread thread_;
};

class RealClock final : public Clock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() override {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_until(lock, stop, when, [] { return false; });
    return !stop.stop_requested();
  }
};

struct SeededRandom final : public Random {
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_.fetch_add(golden, std::memory_order_relaxed) + golden;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  void reseed(std::uint64_t seed) { state_ = seed; }

  std::atomic<std::uint64_t> state_;
};

std::uint64_t system_seed() {
  std::uint64_t bits = 0;
  randombytes_buf(&bits, sizeof bits);  // Needs no sodium_init on Linux.
  return bits;
}

}  // namespace

std::unique_ptr<Alarm> Clock::alarm(TimePoint when, std::function<void()> ring) {
  try {
    return std::make_unique<ThreadAlarm>(*this, when, std::move(ring));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

const std::shared_ptr<Clock>& real_clock() {
  static const std::shared_ptr<Clock> clock = std::make_shared<RealClock>();
  return clock;
}

const std::shared_ptr<Random>& real_random() {
  static const auto generator = std::make_shared<SeededRandom>(system_seed());
  // A child made by fork() must not draw its parent's numbers: run ids are made of them.
  static const int hooked =
      ::pthread_atfork(nullptr, nullptr, [] { generator->reseed(system_seed()); });
  static const std::shared_ptr<Random> random = generator;
  static_cast<void>(hooked);
  return random;
}

std::shared_ptr<Random> seeded_random(std::uint64_t seed) {
  return std::make_shared<SeededRandom>(seed);
}

}  // namespace triage::inline v0_1
