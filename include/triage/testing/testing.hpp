// SPDX-License-Identifier: MIT
#pragma once
// All of triage::testing. Needs no test framework.

#include "triage/testing/conformance.hpp"
#include "triage/testing/context.hpp"
#include "triage/testing/decision_table.hpp"
#include "triage/testing/failures.hpp"
#include "triage/testing/flaky_store.hpp"
#include "triage/testing/golden.hpp"
#include "triage/testing/matchers.hpp"
#include "triage/testing/pipeline.hpp"
#include "triage/testing/recording_observer.hpp"
#include "triage/testing/run_table.hpp"
#include "triage/testing/scripted_agent.hpp"
#include "triage/testing/simulated_clock.hpp"
