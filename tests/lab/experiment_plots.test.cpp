// SPDX-License-Identifier: MIT
// Timelines of single trials as a picture.
#include "triage/lab/experiment_plots.hpp"

#include "support/catch.hpp"

#include <string>

using namespace triage;
using namespace std::chrono_literals;

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a timeline shows each attempt with its end, all trials on one scale",
          "[lab][experiment]") {
  const std::string svg =
      lab::timelines_svg({{.title = "policy=a & b, seed 1",
                           .spans = {{.attempt = 1, .from = 0s, .to = 4s, .end = "timeout"},
                                     {.attempt = 2, .from = 6s, .to = 16s, .end = "done"}}},
                          {.title = "policy=c, seed 1",
                           .spans = {{.attempt = 1, .from = 0s, .to = 20s, .end = "done"}}}});
  CHECK_THAT(svg, ContainsSubstring("policy=a &amp; b, seed 1</text>") &&
                      ContainsSubstring("<title>attempt 1: timeout, 0 s to 4 s</title>") &&
                      ContainsSubstring("<title>attempt 2: done, 6 s to 16 s</title>"));
  // 20 seconds are 920 units wide, so 10 are 460; the axis below both ends with the 20.
  CHECK_THAT(svg, ContainsSubstring("width=\"460.0\"") && ContainsSubstring("width=\"920.0\""));
  CHECK(count_of(svg, ">20</text>") == 2);
  CHECK(count_of(svg, ">job 1</text>") == 2);
  CHECK(lab::timelines_svg({}).empty());
}

TEST_CASE("a timeline of very many attempts stays small", "[lab][experiment]") {
  lab::ShownTrial storm{.title = "storm"};
  for (std::uint64_t job = 0; job < 100; ++job) {
    for (int i = 0; i < 2000; ++i) {
      const char* end = i % 1000 == 999 ? "timeout" : "external_fault";
      storm.spans.push_back(
          {.job = job, .attempt = i + 1, .from = i * 1s, .to = (i + 1) * 1s, .end = end});
    }
  }
  const std::string svg = lab::timelines_svg({storm});
  CHECK(svg.size() < 50'000);
  CHECK_THAT(svg, ContainsSubstring("storm, the first 20 jobs</text>") &&
                      ContainsSubstring("attempts 1 to 999: external_fault, 0 s to 999 s") &&
                      ContainsSubstring("attempt 1000: timeout"));
  CHECK(count_of(svg, ">job ") == 20);
  // A hundred attempts of each of ten jobs could be told apart, but are too many.
  lab::ShownTrial busy{.title = "busy"};
  for (std::uint64_t job = 0; job < 10; ++job) {
    for (int i = 0; i < 100; ++i) {
      busy.spans.push_back(
          {.job = job, .attempt = i + 1, .from = i * 1s, .to = (i + 1) * 1s, .end = "timeout"});
    }
  }
  CHECK(count_of(lab::timelines_svg({busy}), "attempts 1 to 100: timeout") == 10);
  // As many different ends in turn cannot be joined; then the last ones are left out.
  lab::ShownTrial mixed{.title = "mixed"};
  for (int i = 0; i < 5000; ++i) {
    mixed.spans.push_back(
        {.attempt = i + 1, .from = i * 1s, .to = (i + 1) * 1s, .end = i % 2 == 0 ? "a" : "b"});
  }
  const std::string cut = lab::timelines_svg({mixed});
  CHECK(cut.size() < 100'000);
  CHECK_THAT(cut, ContainsSubstring("mixed, without its last attempts</text>"));
}

TEST_CASE("a timeline without time or with many ends is still a picture", "[lab][experiment]") {
  lab::ShownTrial all{.title = "all"};
  for (int i = 0; i < 30; ++i) {
    all.spans.push_back({.attempt = i + 1, .end = "an end whose number is " + std::to_string(i)});
  }
  const std::string svg = lab::timelines_svg({all});
  CHECK_THAT(svg, ContainsSubstring("an end whose number is 29</text>"));
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}
