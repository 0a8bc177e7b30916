// SPDX-License-Identifier: MIT
// The messages that docs/contract.md quotes are those of the library.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <fstream>
#include <sstream>

using namespace triage;
using namespace triage::test;

namespace {

std::string page() {
  std::ifstream file(TRIAGE_SOURCE_DIR "/docs/contract.md");
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool page_quotes(const std::string& message) {
  return page().find("```\n" + message + "\n```\n") != std::string::npos;
}

AgentContract fetching(const char* type_of_url) {
  return {.tools = {{.name = "fetch",
                     .input_schema = {{"properties", {{"url", {{"type", type_of_url}}}}}}}}};
}

}  // namespace

TEST_CASE("the page about contracts quotes what an agent says of a wrong schema",
          "[contract][docs]") {
  AgentOptions options = Kit().bare();
  options.contract = fetching("strin");
  const TriageAgent agent{[](int, Attempt&) { return 1; }, FailurePolicy{}, options};
  const std::string detail = agent.run(1).error().detail;
  INFO(detail);
  CHECK(page_quotes(detail));
}

TEST_CASE("the page about contracts quotes the hint of a next attempt", "[contract][docs]") {
  const auto kit = Kit();
  AgentOptions options = kit.bare();
  options.classifier = nullptr;
  options.contract = fetching("string");
  std::string hint;
  const TriageAgent agent{
      [&](int, Attempt& attempt) -> Result<int> {
        if (attempt.recovery()) {
          hint = attempt.recovery()->hint;
          return 1;
        }
        attempt.record_step({.tool_called = "fetch", .tool_input = {{"url", 5}}});
        return attempt.fail({.text = "it failed"});
      },
      answers({RecoveryAction::retry()}), options};
  CHECK(agent.run(1).value() == 1);
  INFO(hint);
  CHECK(page_quotes(hint));
}
