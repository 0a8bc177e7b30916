// SPDX-License-Identifier: MIT
#include "triage/classifier.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

using namespace triage;

TEST_CASE("a 503 in the text is an external fault", "[classifier]") {
  const Failure failure{.text = "HTTP 503 Service Unavailable"};
  const Classification found =
      default_classifier()->classify({.failure = failure, .trajectory = Trajectory{}});
  CHECK(found.type == FailureType::external_fault);
}
