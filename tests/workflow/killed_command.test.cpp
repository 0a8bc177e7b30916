// SPDX-License-Identifier: MIT
// What is left of a workflow file's commands when `triage workflow run` is killed.
#include "supervise/running.hpp"
#include "triage/json.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

std::vector<std::string> run_line(const std::string& file, const std::string& store) {
  return {TRIAGE_COMMAND, "workflow", "run", file, "--store", store, "--run", "one", "--json"};
}

Json output_of(const Printed& printed) {
  const Json document = Json::parse(printed.out, nullptr, false);
  REQUIRE(document.is_object());
  return document.at("tasks").at(0).at("output");
}

}  // namespace

TEST_CASE("what a killed workflow run has left of its commands ends before one begins again",
          "[cli][workflow]") {
  const Workshop shop;
  shop.script("work", "cd; trap '' TERM; setsid sleep 1000 &\necho $! > $W/told; exec sleep 1000");
  shop.script("look",
              "state=$(sed -n 's/^State:.\\(.\\).*/\\1/p' /proc/$(cat $W/left)/status)\n"
              "case $state in ''|X|Z) echo '\"ended\"';; *) echo '\"lives\"';; esac");
  shop.script("agent", "cat > $W/read\nif [ -e $W/left ]; then $W/look; else $W/work; fi");
  const std::string file = shop.file("w.yaml");
  std::ofstream(file) << "workflow: w\nagents: {a: {command: [./agent]}}\n"
                         "tasks: [{id: x, description: d}]\n";
  std::string left;
  {
    Beside killed(run_line(file, shop.store()));
    left = shop.next_word();
    killed.end_with(SIGKILL);
  }
  REQUIRE(lives(left));
  std::ofstream(shop.file("left")) << left << "\n";
  // Another run of that name may be at work, in another store.
  CHECK(output_of(run_program(run_line(file, shop.file("other.db")))) == "lives");
  CHECK(output_of(run_program(run_line(file, shop.store()))) == "ended");
}
