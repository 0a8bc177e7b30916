// SPDX-License-Identifier: MIT
// Libraries that only some commands need.
#include "cli/stores.hpp"

#include <cstdlib>

using namespace triage;
using namespace triage::test;

TEST_CASE("a command that asks no server loads nothing for it", "[cli][late]") {
  // The dynamic linker lists what it would load, and the command does not run.
  const Printed listed =
      run_program({"/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", TRIAGE_COMMAND, "step", "x"});
  REQUIRE_THAT(listed.out, ContainsSubstring("libc.so"));
  for (const char* library : {"libcurl", "libpq"}) {
    CHECK_THAT(listed.out, !ContainsSubstring(library));
  }
}

TEST_CASE("a server is asked although its library is loaded late", "[cli][late]") {
  const Printed printed = triage_command({"runs", "--store", "postgresql://127.0.0.1:1/db"});
  if (printed.error.find("this build knows no") != std::string::npos) {
    WARN("skipped: this build has no PostgreSQL");
    return;
  }
  CHECK(printed.status == 9);
  CHECK_THAT(printed.error, ContainsSubstring("Connection refused"));
}
