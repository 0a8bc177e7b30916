// SPDX-License-Identifier: MIT
#include "triage/policies/duration.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/policies/arguments.hpp"

#include <cmath>

using namespace triage;
using namespace std::chrono_literals;

TEST_CASE("durations read as people write them", "[policies][duration]") {
  const std::vector<std::pair<std::string, Duration>> cases{
      {"500ms", 500ms},       {"2s", 2s},     {"1m30s", 90s},           {"0s", 0s},
      {"1.5s", 1500ms},       {"3d", 72h},    {"1h1ns", 1h + 1ns},      {"250us", 250us},
      {"0.0000000019s", 1ns}, {"90m", 90min}, {"106751d", 24h * 106751}};
  for (const auto& [text, expected] : cases) {
    INFO(text);
    REQUIRE_OK(parse_duration(text));
    CHECK(parse_duration(text).value() == expected);
  }
}

TEST_CASE("what is not a duration is refused with the text and the form", "[policies][duration]") {
  for (const char* text :
       {"", "s", "5", "-5s", "5 s", " 5s", "5s ", "1s1m", "1s1s", "5sec", "1.s", ".5s", "1e3s",
        "5S", "106752d", "99999999999999999999s", "9223372036854775808ns", "nan", "\xff"}) {
    INFO(text);
    const auto parsed = parse_duration(text);
    CHECK_ERRC(Errc::invalid_argument, parsed);
    CHECK_THAT(parsed.error().detail, ContainsSubstring("1m30s"));
  }
  CHECK(parse_duration(std::string(1'000'000, '9')).error().detail.size() < 400);
}

TEST_CASE("every duration reads back as it was written", "[policies][duration]") {
  const auto random = seeded_random(7);
  for (int i = 0; i < 2000; ++i) {
    const Duration duration(static_cast<Duration::rep>(random->next() >> (1 + i % 63)));
    INFO(duration.count() << " ns = " << format_duration(duration));
    REQUIRE_OK(parse_duration(format_duration(duration)));
    CHECK(parse_duration(format_duration(duration)).value() == duration);
  }
  CHECK(parse_duration(format_duration(Duration::max())).value() == Duration::max());
  CHECK(format_duration(-90s) == "-1m30s");
  CHECK(format_duration(Duration::min()) == "-106751d23h47m16s854ms775us808ns");
}

TEST_CASE("a number of seconds must fit", "[policies][duration]") {
  CHECK(duration_from_seconds(0.25).value() == 250ms);
  for (const double bad : {-1.0, 1e10, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK_ERRC(Errc::invalid_argument, duration_from_seconds(bad));
  }
}

TEST_CASE("times are read as RFC 3339 in UTC", "[policies][duration]") {
  using namespace std::chrono;
  const WallTime expected = sys_days{December / 24 / 2026} + 18h;
  CHECK(parse_wall_time("2026-12-24T18:00:00Z").value() == expected);
  CHECK(parse_wall_time("2026-12-24T18:00:00.250Z").value() == expected + 250ms);
  for (const char* bad :
       {"", "2026-12-24", "2026-12-24T18:00:00", "2026-02-30T00:00:00Z", "2026-12-24T24:00:00Z",
        "2026-12-24T18:60:00Z", "2026-12-24T18:00:00+01:00", "2026-12-24 18:00:00Z",
        "2026-12-24T18:00:00.25Z", "20x6-12-24T18:00:00Z"}) {
    INFO(bad);
    CHECK_ERRC(Errc::invalid_argument, parse_wall_time(bad));
  }
}
