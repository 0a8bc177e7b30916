// SPDX-License-Identifier: MIT
// Random rates, bursts, clocks and numbers of keys, compared with a count over every window.
#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::gates;
using Kind = GateAnswer::Kind;

namespace {

struct Dice {
  explicit Dice(std::uint64_t seed) : random(seeded_random(seed)) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random->next() % static_cast<std::uint64_t>(limit));
  }
  bool one_in(std::int64_t many) { return below(many) == 0; }
  std::shared_ptr<Random> random;
};

using Starts = std::vector<std::int64_t>;

// Whether a window that begins with a start holds too many.
bool exceeds(const Starts& starts, std::size_t permits, std::int64_t period) {
  for (std::size_t i = 0; i + permits < starts.size(); ++i) {
    if (starts[i + permits] - starts[i] < period) return true;
  }
  return false;
}

struct World {
  explicit World(std::uint64_t seed) : dice(seed) {
    options.permits = static_cast<int>(1 + dice.below(dice.one_in(3) ? 300 : 12));
    options.period = std::chrono::milliseconds(1 + dice.below(dice.one_in(2) ? 20 : 3'000));
    options.burst = static_cast<int>(dice.one_in(2) ? 1 : 1 + dice.below(40));
    if (dice.one_in(2)) options.shared = std::make_shared<MemoryStore>();
    const std::int64_t processes = options.shared ? 1 + dice.below(3) : 1;
    for (std::int64_t i = 0; i < processes; ++i) {
      gates.push_back(RateLimiter::create(options).value());
      wall_offsets.push_back(0);
    }
    clocks_are_set = dice.one_in(3);
    for (std::int64_t i = 1 + dice.below(3); i > 0; --i) keys.push_back(std::to_string(i));
  }

  // One call. Returns the violation.
  std::string call() {
    const std::size_t process = static_cast<std::size_t>(dice.below(std::ssize(gates)));
    if (clocks_are_set && dice.one_in(40)) set_clock(process);
    const std::string& key = keys[static_cast<std::size_t>(dice.below(std::ssize(keys)))];
    const GateRequest request{.tool = key,
                              .now = TimePoint(Duration(now)),
                              .wall = std::chrono::floor<std::chrono::milliseconds>(
                                  WallTime(wall_origin) + Duration(now + wall_offsets[process]))};
    RateLimiter& gate = *gates[process];
    const GateAnswer answer = gate.enter(request);
    if (answer.kind != Kind::pass) {
      const std::int64_t most = 3 * (options.period.count() + 1'000'000);
      if (answer.wait.count() <= 0 || answer.wait.count() > most) {
        return "waits for " + std::to_string(answer.wait.count()) + " ns";
      }
      hint = answer.wait.count();
    } else if (dice.one_in(8)) {
      gate.withdraw(request, answer.ticket);
    } else {
      of_process[{process, key}].push_back(now);
      of_all[key].push_back(now);
    }
    return {};
  }
  void set_clock(std::size_t process) {
    static constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t by = dice.one_in(2) ? 3'600 * second : dice.below(2 * second);
    wall_offsets[process] += dice.one_in(2) ? by : -by;
    were_set = true;
  }
  void pass_time() {
    const std::int64_t interval = options.period.count() / options.permits;
    switch (dice.below(4)) {
      case 0: break;
      case 1: now += dice.below(interval + 2); break;
      case 2: now += std::exchange(hint, 0); break;
      default: now += dice.one_in(20) ? dice.below(options.period.count()) : dice.below(1'000'000);
    }
  }
  std::string verdict() const {
    const auto permits = static_cast<std::size_t>(options.permits);
    for (const auto& [who, starts] : of_process) {
      if (exceeds(starts, permits, options.period.count())) return "a process exceeds the rate";
    }
    if (were_set) return {};  // Then each process keeps to the rate, but not all together.
    for (const auto& [key, starts] : of_all) {
      if (exceeds(starts, permits, options.period.count())) return "all together exceed the rate";
    }
    return {};
  }

  Dice dice;
  RateLimiterOptions options{};
  std::vector<std::shared_ptr<RateLimiter>> gates{};
  std::vector<std::int64_t> wall_offsets{};
  std::vector<std::string> keys{};
  bool clocks_are_set = false;
  bool were_set = false;
  std::int64_t now = 3'600'000'000'000;
  std::int64_t hint = 0;
  std::map<std::pair<std::size_t, std::string>, Starts> of_process{};
  std::map<std::string, Starts> of_all{};
};

}  // namespace

TEST_CASE("no window has more starts than the rate allows", "[policies][limiter]") {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    World world(seed);
    std::string wrong;
    for (int call = 0; call < 1'500 && wrong.empty(); ++call) {
      wrong = world.call();
      world.pass_time();
    }
    if (wrong.empty()) wrong = world.verdict();
    if (wrong.empty()) continue;
    FAIL("seed " << seed << ": " << wrong << " with " << world.options.permits << " in "
                 << world.options.period.count() << " ns, burst " << world.options.burst);
  }
}

TEST_CASE("keys that nobody asks for make room, without a rate being exceeded",
          "[policies][limiter]") {
  const auto gate = RateLimiter::create({.permits = 2, .burst = 2}).value();
  Dice dice(7);
  std::map<std::string, Starts> starts;
  std::int64_t now = 0;
  for (int call = 0; call < 40'000; ++call) {
    now += dice.below(50'000);
    const std::string key = std::to_string(dice.one_in(4) ? dice.below(3) : dice.below(20'000));
    if (gate->enter({.tool = key, .now = TimePoint(Duration(now))}).kind == Kind::pass) {
      starts[key].push_back(now);
    }
  }
  for (const auto& [key, all] : starts) {
    INFO(key);
    REQUIRE_FALSE(exceeds(all, 2, 1'000'000'000));
  }
}
