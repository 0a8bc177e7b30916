// SPDX-License-Identifier: MIT
#pragma once

#include "triage/testing/conformance.hpp"

namespace triage::test {

// What the conformance kit is given of a store.
struct Kit {
  testing::StoreFactory open{};
  testing::ConformanceOptions options{};
};

}  // namespace triage::test
