// SPDX-License-Identifier: MIT
// A million random schedules: the breaker never gets stuck and never admits too many probes.
#include "triage/policies/circuit_breaker.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"

#include <cstdlib>
#include <set>
#include <vector>

using namespace triage;
using namespace triage::gates;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

// The guarantees of the current half-open phase.
struct Phase {
  BreakerState state = BreakerState::closed;
  std::int64_t since = 0;
  std::set<std::uint64_t> admitted{};  // Tickets not given back.
};

struct Schedule {
  explicit Schedule(std::uint64_t seed) : random(seeded_random(seed)) {}
  int draw(int below) { return static_cast<int>(random->next() % static_cast<unsigned>(below)); }
  std::shared_ptr<Random> random;
};

struct Call {
  std::uint64_t ticket = 0;
  bool counts = true;  // Against the probes: not a first try where only retries do.
};

// One schedule of calls, outcomes, lost permits and pauses. Returns the violation.
std::string violation(std::uint64_t seed) {
  Schedule schedule(seed);
  std::int64_t now = 0;
  const BreakerOptions options{.types = {FailureType::external_fault},
                               .window = milliseconds(10 + schedule.draw(200)),
                               .minimum_calls = 1 + schedule.draw(4),
                               .failure_rate = 0.1 + 0.1 * schedule.draw(9),
                               .break_duration = milliseconds(1 + schedule.draw(50)),
                               .probes = 1 + schedule.draw(3),
                               .probe_lease = milliseconds(1 + schedule.draw(60)),
                               .retry_only = schedule.draw(2) == 0};
  const auto gate = CircuitBreaker::create(options).value();
  const std::int64_t lease = options.probe_lease.count() / 1'000'000;
  std::vector<Call> under_way;
  Phase phase;
  for (int step = 0; step < 24; ++step) {
    now += schedule.draw(4) == 0 ? schedule.draw(80) : schedule.draw(5);
    const auto request = at(milliseconds(now), schedule.draw(2) == 0);
    const BreakerState before = gate->state(request);
    if (before != phase.state) phase = {before, now, {}};
    if (before == BreakerState::half_open && now - phase.since >= lease)
      return "half-open too long";
    if (!under_way.empty() && schedule.draw(2) == 0) {
      const std::size_t which =
          static_cast<std::size_t>(schedule.draw(static_cast<int>(under_way.size())));
      const int how = schedule.draw(4);
      const GateOutcome& outcome = how == 0 ? success : fault;
      const Call& call = under_way[which];
      gate->leave(request, call.ticket, how == 3 ? nullptr : &outcome);
      if (how == 3 && call.counts) phase.admitted.erase(call.ticket);
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
      if (schedule.draw(3) == 0) under_way.clear();  // Their owners died.
    } else {
      const GateAnswer answer = gate->enter(request);
      const bool passed = answer.kind == GateAnswer::Kind::pass;
      const bool counts = passed && (request.retry || !options.retry_only);
      if (passed) under_way.push_back({answer.ticket, counts});
      if (before == BreakerState::open && counts)
        phase = {BreakerState::half_open, now, {answer.ticket}};
      if (before == BreakerState::half_open && counts) phase.admitted.insert(answer.ticket);
      if (phase.state == BreakerState::half_open &&
          phase.admitted.size() > static_cast<std::size_t>(options.probes)) {
        return "more probes than permitted";
      }
    }
  }
  // Whatever happened, it admits a call again in time.
  now += lease + options.break_duration.count() / 1'000'000 + 1;
  now += options.break_duration.count() / 1'000'000;
  if (gate->enter(at(milliseconds(now), true)).kind != GateAnswer::Kind::pass) return "stuck";
  return {};
}

}  // namespace

TEST_CASE("random schedules never get a breaker stuck", "[policies][breaker]") {
  // docs/gates.md says how to run a million, and what they showed.
  const char* wanted = std::getenv("TRIAGE_BREAKER_SCHEDULES");
  const std::uint64_t count = wanted == nullptr ? 50'000 : std::strtoull(wanted, nullptr, 10);
  REQUIRE(count > 0);  // A text that is no number gives 0.
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const std::string wrong = violation(seed);
    if (wrong.empty()) continue;
    FAIL("seed " << seed << ": " << wrong);
  }
}
