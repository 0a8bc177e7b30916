// SPDX-License-Identifier: MIT
#include "fuzz/classify.hpp"
#include "support/catch.hpp"

using namespace triage;

TEST_CASE("the seeds of the classifier's fuzz target pass", "[cli][classify]") {
  for (const std::string& seed : test::classify_seeds()) test::classify_and_check(seed);
}

TEST_CASE("the seeds of the classifier's fuzz target reach the contract", "[cli][classify]") {
  const auto reported = cli::read_reported_failure(test::classify_seeds().back());
  REQUIRE(reported.has_value());
  CHECK(reported.value().contract.tools.size() == 1);
  CHECK(reported.value().trajectory.size() == 2);
}
