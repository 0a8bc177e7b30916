// SPDX-License-Identifier: MIT
#pragma once
// Checks a report of the conformance kit; what failed is named first.

#include "support/catch.hpp"
#include "triage/testing/conformance.hpp"

namespace triage::test {

inline void expect_full(const testing::ConformanceReport& report) {
  for (const testing::ClauseResult& clause : report.clauses) {
    if (clause.outcome != testing::ClauseOutcome::failed) continue;
    FAIL_CHECK(report.store << ": " << clause.name << ": " << clause.sentence << " ["
                            << clause.detail << "]");
  }
  CHECK(report.level() == testing::ConformanceLevel::full);
}

}  // namespace triage::test
