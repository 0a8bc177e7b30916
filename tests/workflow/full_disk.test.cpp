// SPDX-License-Identifier: MIT
// `triage workflow run` on a disk that becomes full.
#include "command_kit.hpp"

#include <string>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a run of a file stops where its store is full, and repeats nothing that was stored",
          "[cli][workflow]") {
  const Place place;
  place.write("agent",
              "cat > read; echo >> ran; printf '\"%s\"' \"$(head -c 90000 /dev/urandom | "
              "base64 -w 0)\"");
  constexpr std::size_t tasks = 8;  // "a" to "h", one after another, with 120 kB each.
  std::string text = "workflow: w\nagents: {e: {command: [sh, agent]}}\ntasks:\n";
  for (std::size_t i = 0; i < tasks; ++i) {
    const auto id = static_cast<char>('a' + i);
    text += std::string("  - {id: ") + id + ", description: x" +
            (i == 0 ? "" : std::string(", depends_on: [") + static_cast<char>(id - 1) + "]") +
            "}\n";
  }
  const std::string file = place.write("w.yaml", text);
  // No file may be longer than 512 kB.
  const std::string run = std::string("'" TRIAGE_COMMAND "' workflow run ") + file + " --store " +
                          place.file("runs.db") + " --run one";
  const Printed full = run_program({"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 1000; exec " + run});
  INFO(full.error);
  CHECK(full.status == 9);
  CHECK_THAT(full.error, ContainsSubstring("the store failed, so nothing more begins: ") &&
                             !ContainsSubstring("unstored_value"));
  const std::size_t ran = place.lines("ran");
  std::size_t stored = 0;
  while (full.error.find(static_cast<char>('a' + stored) + std::string(" has finished")) !=
         std::string::npos) {
    ++stored;
  }
  REQUIRE(stored > 0);
  REQUIRE(stored < tasks);
  CHECK(ran - stored <= 1);  // The result that was lost, if it was not another record.
  const Printed again = run_program({"/bin/sh", "-c", run});
  INFO(again.error);
  CHECK(again.status == 0);
  CHECK(place.lines("ran") == ran + tasks - stored);
}
