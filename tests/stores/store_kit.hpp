// SPDX-License-Identifier: MIT
#pragma once
// A store as the conformance kit is given it.

#include "triage/testing/conformance.hpp"

namespace triage::test {

struct StoreKit {
  testing::StoreFactory open{};
  testing::ConformanceOptions options{};
};

}  // namespace triage::test
