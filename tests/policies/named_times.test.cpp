// SPDX-License-Identifier: MIT
// However a failure names a time, no call comes before it: each row of named_times.tsv goes through
// an agent on the simulated clock.
#include "support/catch.hpp"
#include "support/flaky_store.hpp"
#include "triage/agent.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/policies/retry.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::SimulatedClock;

namespace {

struct Row {
  std::string line{};
  Failure failure{};
  Duration named{};  // After the failure.
};

constexpr Duration first_call = 250ms;

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns(1);
  for (const char c : line) {
    if (c == '\t') {
      columns.emplace_back();
    } else {
      columns.back() += c;
    }
  }
  return columns;
}

std::vector<Row> read_rows() {
  std::ifstream file(TRIAGE_SOURCE_DIR "/tests/policies/named_times.tsv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto columns = columns_of(line);
    REQUIRE(columns.size() >= 3);
    Row row{.line = line, .failure = {.http_status = 429}};
    if (columns[0] == "text") {
      row.failure.text = columns[1];
    } else {
      row.failure.text = "Too Many Requests";
      row.failure.headers.emplace_back(columns[0], columns[1]);
    }
    if (columns.size() > 3) row.failure.headers.emplace_back("Date", columns[3]);
    const double seconds = std::strtod(columns[2].c_str() + 1, nullptr);
    row.named = std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
    if (columns[2].front() == '@') row.named -= first_call;
    rows.push_back(std::move(row));
  }
  return rows;
}

// The time from the failure to the next call.
Duration second_call(const Row& row, FailurePolicy policy, AgentOptions options,
                     std::size_t* suspensions = nullptr) {
  const auto clock = std::make_shared<SimulatedClock>();
  std::vector<Duration> calls;
  TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                      if (calls.empty()) clock->advance(first_call);
                      calls.push_back(clock->elapsed());
                      if (calls.size() > 1) return 0;
                      return attempt.fail(row.failure);
                    },
                    std::move(policy),
                    [&] {
                      options.clock = clock;
                      options.limits.max_attempts = 3;
                      return std::move(options);
                    }()};
  auto result = agent.run(0);
  while (!result && result.error().code == Errc::suspended) {
    const auto until = result.error().suspension()->until;
    REQUIRE(until);
    if (suspensions != nullptr) ++*suspensions;
    clock->advance(*until - clock->wall_now());
    const auto resumed = agent.resume_due();
    REQUIRE(resumed);
    if (calls.size() > 1) break;
  }
  REQUIRE(calls.size() == 2);
  return calls[1] - calls[0];
}

// Rounding up to full seconds, and to the next millisecond of a suspension, is not a delay.
constexpr Duration most_late = 1'002ms;

void check_rows(const std::function<Duration(const Row&)>& second) {
  const auto rows = read_rows();
  std::size_t early = 0;
  for (const Row& row : rows) {
    INFO(row.line);
    const Duration waited = second(row);
    early += waited < row.named;
    CHECK(waited.count() >= row.named.count());
    CHECK(waited.count() <= (std::max(row.named, Duration::zero()) + most_late).count());
  }
  std::cout << rows.size() << " named times, " << early << " calls before them\n";
  CHECK(rows.size() >= 200);
}

}  // namespace

TEST_CASE("nothing is called before the time that a failure names", "[policies][retry_after]") {
  check_rows([](const Row& row) {
    FailurePolicy policy;
    policy.otherwise(retry_with_backoff({.base_delay = 0s}));
    return second_call(row, policy, {.limits = {.max_wait = 0s}});
  });
}

TEST_CASE("nor is it behind a rate limiter, with a policy that does not wait",
          "[policies][retry_after]") {
  check_rows([](const Row& row) {
    FailurePolicy policy;
    policy.otherwise(retry());
    return second_call(
        row, policy,
        {.gates = {RateLimiter::create({.permits = 1'000, .max_wait = 24h * 100}).value()}});
  });
}

TEST_CASE("nor is it when the run is put aside until then", "[policies][retry_after]") {
  std::size_t suspensions = 0;
  check_rows([&](const Row& row) {
    FailurePolicy policy;
    policy.otherwise(retry_with_backoff({.base_delay = 0s}));
    return second_call(
        row, policy,
        {.store = std::make_shared<test::FlakyStore>(MemoryStore::create(), Durability::process),
         .limits = {.max_wait = 1s}},
        &suspensions);
  });
  CHECK(suspensions >= 150);
}

TEST_CASE("nor when the type is told by the callable", "[policies][retry_after]") {
  Row row{.line = {},
          .failure = {.headers = {{"retry-after", "30"}}, .type = FailureType::external_fault},
          .named = 30s};
  FailurePolicy policy;
  policy.otherwise(retry_with_backoff({.base_delay = 0s}));
  CHECK(second_call(row, policy, {}) == 30s);
}
