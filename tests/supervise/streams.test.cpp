// SPDX-License-Identifier: MIT
// Recorded streams of agents' command lines, written according to their documented formats and
// played by a stand-in: how each is interpreted, and how the next attempt is called.
#include "supervise/streams.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <map>
#include <sstream>

using namespace triage;
using namespace triage::test;

namespace {

constexpr std::size_t at_once = 8;

std::vector<std::filesystem::path> all_streams() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TRIAGE_STREAMS)) {
    if (entry.path().extension() == ".stream") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "external_fault overloaded"; each word may be a *.
bool is_of(const Json& recovery, const std::string& wanted) {
  std::istringstream words(wanted);
  std::string type;
  std::string reason;
  words >> type >> reason;
  return (type == "*" || recovery["type"] == type) &&
         (reason == "*" || recovery["reason"] == reason);
}

// "resume", "resume SESSION", "fresh", "suspended", "gave up".
void check_next(const Played& played, const Json& recovery, const std::string& wanted) {
  const int attempt = recovery["attempt"];
  if (wanted == "suspended") {
    CHECK(recovery["delay_s"].get<double>() > 600);
  } else if (wanted == "gave up") {
    CHECK(recovery["action"] == "escalate");
  } else {
    const std::string next = played.arguments(attempt + 1);
    const std::size_t space = wanted.find(' ');
    const std::string session =
        space == std::string::npos ? played.first_session() : wanted.substr(space + 1);
    const bool resumed =
        next.find("resume\n" + session + "\nYou were interrupted") != std::string::npos;
    INFO("called with\n" << next);
    CHECK(resumed == wanted.starts_with("resume"));
    if (!resumed) {
      CHECK_THAT(next, ContainsSubstring("\nmake the tests pass"));
      CHECK_THAT(next, !ContainsSubstring("resume"));
    }
  }
}

void check_end(const Printed& printed, const std::string& wanted) {
  if (wanted == "done") {
    CHECK(printed.status == 0);
  } else if (wanted == "suspended") {
    CHECK(printed.status == 75);
  } else {
    const std::string status =
        wanted.starts_with("done ") ? wanted.substr(std::string("done ").size()) : wanted;
    CHECK(std::to_string(printed.status) == status);
  }
}

void check(const Played& played) {
  const Printed& printed = played.printed();
  INFO(played.name() << ": " << played.about() << "\n" << printed.error);
  std::map<int, Json> recoveries;
  for (const Json& line : json_lines(printed.error)) {
    if (line.value("event", "") == "recovery") recoveries[line["attempt"].get<int>()] = line;
  }
  std::size_t expected = 0;
  for (const auto& [attempt, wanted] : played.expected()) {
    if (attempt == 0) {
      check_end(printed, wanted);
      continue;
    }
    ++expected;
    const std::size_t bar = wanted.find("; ");
    REQUIRE(recoveries.contains(attempt));
    CHECK(is_of(recoveries[attempt], wanted.substr(0, bar)));
    check_next(played, recoveries[attempt], wanted.substr(bar + 2));
  }
  CHECK(recoveries.size() == expected);
  CHECK_THAT(printed.error, !ContainsSubstring("TOOLSAID"));
}

}  // namespace

TEST_CASE("recorded streams of agents are understood, and what tools printed counts for nothing",
          "[adapters]") {
  const auto files = all_streams();
  REQUIRE(files.size() >= 60);
  std::vector<std::unique_ptr<Played>> running;
  for (std::size_t next = 0; next < files.size();) {
    for (; next < files.size() && running.size() < at_once; ++next) {
      running.push_back(std::make_unique<Played>(files[next]));
    }
    for (const auto& one : running) {
      one->wait();
      check(*one);
    }
    running.clear();
  }
}
