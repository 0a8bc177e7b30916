// SPDX-License-Identifier: MIT
// What /proc says, also when it fails in the middle.
#include "triage/detail/proc_file.hpp"

#include "support/catch.hpp"

using namespace triage;

TEST_CASE("a file of /proc that cannot be read is empty, and nothing is thrown", "[proc]") {
  CHECK_FALSE(detail::read_proc_file("/proc/self/stat").empty());
  CHECK(detail::read_proc_file("/proc/self/status").size() > 500);
  CHECK(detail::read_proc_file("/proc/0/stat").empty());
  CHECK(detail::read_proc_file("/proc/self").empty());      // Opens, and fails to read: a folder.
  CHECK(detail::read_proc_file("/proc/self/mem").empty());  // The same: nothing is at address 0.
}
