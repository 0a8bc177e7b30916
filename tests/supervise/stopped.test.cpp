// SPDX-License-Identifier: MIT
// `triage run` of programs that are stopped, and signals that reach them then.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("a program that is stopped hears that it is to end", "[signals]") {
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "trap 'echo bye > $W/said; exit 3' TERM\n"
                  "{ until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done\n"
                  "  echo stopped > $W/told; } &\n"
                  "kill -STOP $$\n"
                  "wait; exit 4");
  Beside running(
      shop.run_line({"--max-attempts", "1", "--kill-after", "10s", "--quiet"}, {program}));
  CHECK(shop.next_word() == "stopped");
  CHECK(running.end_with(SIGTERM) == 3);
  CHECK(read_text(shop.file("said")) == "bye\n");
}
