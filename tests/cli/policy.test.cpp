// SPDX-License-Identifier: MIT
// triage policy check and show, as a user runs them.
#include "cli/stores.hpp"

#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

std::string file_with(const TempFolder& folder, const std::string& text) {
  const std::string path = folder.file("policy.yaml");
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("policy check accepts what is right and warns of what cannot be reached", "[cli]") {
  const TempFolder folder;
  const std::string path = file_with(
      folder, "timeout: {strategy: retry_with_backoff, max_attempts: 50}\ndefault: escalate\n");
  const Printed printed = triage_command({"policy", "check", path});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out, ContainsSubstring("is right, with 1 warning"));
  CHECK_THAT(printed.error, ContainsSubstring("50"));
  CHECK(triage_command(
            {"policy", "check", path, "--max-attempts", "60", "--max-attempts-per-type", "60"})
            .error.empty());
  CHECK(json_of(triage_command({"policy", "check", path, "--json"}))["warnings"].size() == 1);
}

TEST_CASE("policy check names file, line and key of what is wrong", "[cli]") {
  const TempFolder folder;
  const std::string path = file_with(folder, "default: escalate\ntimeout: nap\n");
  const Printed printed = triage_command({"policy", "check", path});
  CHECK(printed.status == 2);
  CHECK_THAT(printed.error, ContainsSubstring("policy.yaml: line 2: timeout names the strategy"));
  CHECK(triage_command({"policy", "check", path, "--allow", "nap"}).status == 0);
  CHECK(triage_command({"policy", "check", folder.file("none.yaml")}).status == 1);
}

TEST_CASE("policy show prints the decision for each failure in a row", "[cli]") {
  const TempFolder folder;
  const std::string path =
      file_with(folder,
                "timeout: {strategy: retry_with_backoff, max_attempts: 3, jitter: none}\n"
                "default: escalate\ngates: {bulkhead: {}}\n");
  const Printed printed = triage_command({"policy", "show", path});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out, ContainsSubstring("retry after 0.5 s"));
  CHECK_THAT(printed.out, ContainsSubstring("gate: bulkhead"));
  const Json document = json_of(triage_command({"policy", "show", path, "--json"}));
  CHECK(document["types"]["timeout"]["decisions"].size() == 3);
  CHECK(document["types"]["refused"]["decisions"].size() == 1);
  CHECK(document["gates"] == Json{"bulkhead"});
}
