// SPDX-License-Identifier: MIT
#pragma once
// All of the library but its optional parts (stores with a driver, testing).

#include "triage/agent.hpp"
#include "triage/journal.hpp"
#include "triage/policies/arguments.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/duration.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/manifest.hpp"
#include "triage/policies/registry.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/resume.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/sequence.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/simple.hpp"
#include "triage/version.hpp"
