// SPDX-License-Identifier: MIT
#pragma once
// Golden traces: what a whole run told its observer, as text in a file that is reviewed like code.

#include "triage/testing/recording_observer.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace triage::inline v0_1::testing {

// One line an event: its name, the attempt, what failed, what was decided, what was said. Times are
// left out and run ids become "RUN", so two runs of one script give one text. Of several runs each
// line begins with its run: "RUN1", "RUN2", … in the order in which they appear.
[[nodiscard]] std::string trace_text(const std::vector<RecordedEvent>& events);

// Lines of both in their order: "  " in both, "- " in `expected` only, "+ " in `actual` only, with
// three lines around each difference. Empty if the texts are the same. Beyond 2,000 lines each it
// compares line by line.
[[nodiscard]] std::string text_difference(const std::string& expected, const std::string& actual);

// Compares with a file. Returns an empty text if they are the same, else the differences and how to
// accept them: with the environment variable TRIAGE_ACCEPT_GOLDEN set to 1 the file is written
// instead, and its folder made, and the answer is empty.
[[nodiscard]] std::string compare_golden(const std::filesystem::path& file,
                                         const std::string& actual);

}  // namespace triage::inline v0_1::testing
