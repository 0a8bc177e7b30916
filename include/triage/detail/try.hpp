// SPDX-License-Identifier: MIT
#pragma once
// TRIAGE_TRY(name, expression): declares `name` from a result's value, or returns its error. Hides
// that Outcome spells it differently before and after Boost 1.76.

#include <boost/outcome/try.hpp>
#include <boost/version.hpp>

#if BOOST_VERSION >= 107600
#define TRIAGE_TRY(name, ...) BOOST_OUTCOME_TRY(auto name, __VA_ARGS__)
#else
#define TRIAGE_TRY(name, ...) BOOST_OUTCOME_TRY(name, __VA_ARGS__)
#endif
#define TRIAGE_TRYV(...) BOOST_OUTCOME_TRYV(__VA_ARGS__)  // Same spelling everywhere.
