// SPDX-License-Identifier: MIT
#pragma once
// Golden traces: a run's events as text in a file that is reviewed like code.

#include "triage/testing/recording_observer.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace triage::inline v0_1::testing {

// One line per event: its name, the attempt, what failed, what was decided, what was said. Omits
// times and replaces run ids by "RUN", so that two runs of a script give the same text. With
// several runs each line begins with its run: "RUN1", "RUN2", … in order of appearance.
[[nodiscard]] std::string trace_text(const std::vector<RecordedEvent>& events);

// The lines of both in order: "  " in both, "- " in `expected` only, "+ " in `actual` only, with
// three lines of context around each difference. Empty if the texts are equal. Beyond 2,000 lines
// each, compares line by line.
[[nodiscard]] std::string text_difference(const std::string& expected, const std::string& actual);

// Compares with a file. Returns an empty text if they are equal, else the differences and how to
// accept them: if the environment variable TRIAGE_ACCEPT_GOLDEN is 1, writes the file instead,
// creating its folder, and returns an empty text.
[[nodiscard]] std::string compare_golden(const std::filesystem::path& file,
                                         const std::string& actual);

}  // namespace triage::inline v0_1::testing
