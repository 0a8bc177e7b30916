// SPDX-License-Identifier: MIT
// `triage run` whose store takes nothing any more while a program runs.
#include "supervise/process/stored_records.hpp"
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// As on a full disk: the supervisor may not write behind the first 10 KB of a file.
constexpr const char* fill = "prlimit --pid $PPID --fsize=10000 || exit 99\n";

// All that it says, through a pipe, and "status N".
std::string run(const Workshop& shop, const std::vector<std::string>& options,
                const std::string& script) {
  std::vector<std::string> line{"/bin/sh", "-c",
                                "trap '' XFSZ; { \"$@\"; echo \"status $?\"; } 2>&1 | cat", "sh"};
  for (const std::string& word : shop.run_line(options, {shop.script("a", fill + script)})) {
    line.push_back(word);
  }
  return run_program(line).out;
}

}  // namespace

TEST_CASE("a run with a name whose end is not stored is no success", "[run][unstored]") {
  const Workshop shop;
  const std::string told = run(shop, {"--run", "r"}, "echo done");
  CHECK_THAT(told, ContainsSubstring("done\n") &&
                       ContainsSubstring("finished, but its end could not be stored") &&
                       ContainsSubstring("status 9\n"));
  std::ofstream(shop.file("a")) << "#!/bin/sh\necho again\n";
  CHECK(shop.triage({"resume", "--all"}).out == "again\n");  // That is why.
}

TEST_CASE("a program's own failure outweighs that its end is not stored", "[run][unstored]") {
  const Workshop shop;
  const std::string told = run(shop, {"--run", "r", "--max-attempts", "1"}, "exit 3");
  CHECK_THAT(told, ContainsSubstring("the run's end could not be stored") &&
                       ContainsSubstring("status 3\n"));
}

TEST_CASE("no program starts before its process can be stored, and that is said",
          "[run][unstored]") {
  const Workshop shop;
  const std::string told = run(shop, {"--run", "r", "--max-attempts", "2"}, "echo began; exit 3");
  CHECK_THAT(told, ContainsSubstring("no other starts until the store can be written") &&
                       ContainsSubstring("2 failed: ") &&
                       ContainsSubstring("the program was not started, since its process"));
  const std::size_t began = told.find("began\n");
  REQUIRE(began != std::string::npos);
  CHECK(told.find("began\n", began + 1) == std::string::npos);
  CHECK_THAT(told, ContainsSubstring("status 3\n"));  // That of the only one that ran.
}

// Otherwise later attempts of a run that a full store did not take fail because of that.
TEST_CASE("a run that the store has never taken has no records", "[run][unstored]") {
  const Workshop shop;
  const auto store = SqliteStore::open(shop.store()).value();
  CHECK(supervise::stored_records(*store, "r").value().empty());
}
