// SPDX-License-Identifier: MIT
#pragma once
// For tests that need a server of their own (RedisServer, PostgresServer).

#include "support/catch.hpp"

// Ends the test case with a warning if the server does not run.
#define NEEDS_SERVER(server)                                                   \
  if (!(server).ready()) {                                                     \
    WARN("the server is not installed, or does not start: nothing is tested"); \
    return;                                                                    \
  }
