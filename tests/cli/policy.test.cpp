// SPDX-License-Identifier: MIT
// triage policy check and show, run as by a user.
#include "cli/stores.hpp"

#include <fstream>
#include <sstream>

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
  CHECK_THAT(printed.out, ContainsSubstring("  escalate: refused of attempt 1\n"));
  const std::string wide = file_with(
      folder, "default: {strategy: retry, max_attempts: 2, hint: '" + [] {
        std::string words;
        for (int i = 0; i < 30; ++i) words += "word" + std::to_string(i) + " ";
        return words;
      }() + "the end'}\n");
  std::istringstream lines(triage_command({"policy", "show", wide}).out);
  std::string all;
  for (std::string line; std::getline(lines, line); all += line) CHECK(line.size() <= 80);
  CHECK_THAT(all, ContainsSubstring("the end"));  // It continues on the next line.
  file_with(folder,
            "timeout: {strategy: retry_with_backoff, max_attempts: 3, jitter: none}\n"
            "default: escalate\ngates: {bulkhead: {}}\n");
  const Json document = json_of(triage_command({"policy", "show", path, "--json"}));
  CHECK(document["types"]["timeout"]["decisions"].size() == 3);
  CHECK(document["types"]["refused"]["decisions"].size() == 1);
  CHECK(document["gates"] == Json{"bulkhead"});
}

TEST_CASE("policy check tells everything that is wrong at once, each with its line", "[cli]") {
  const TempFolder folder;
  const std::string path = file_with(folder,
                                     "timeout: nap\n"
                                     "default: {strategy: retry, max_atempts: 3, delay: soon}\n"
                                     "gates:\n  bulkhed: {}\n  rate_limiter: {permits: many}\n"
                                     "budget: {max_tokens: -1}\n");
  const Printed printed = triage_command({"policy", "check", path});
  CHECK(printed.status == 2);
  for (const char* wrong : {"line 1: timeout", "line 2: default.max_atempts",
                            "line 2: default.delay", "line 4: gates.bulkhed",
                            "line 5: gates.rate_limiter.permits", "line 6: budget.max_tokens"}) {
    CHECK_THAT(printed.error, ContainsSubstring("policy.yaml: " + std::string(wrong)));
  }
  const Printed json = triage_command({"policy", "check", path, "--json"});
  CHECK(json.status == 2);
  const Json document = json_of(json);
  CHECK(document["right"] == false);
  REQUIRE(document["problems"].size() == 6);
  for (const Json& problem : document["problems"]) CHECK(problem["line"].is_number());
  CHECK(json_of(triage_command({"policy", "check", folder.file("none"), "--json"}))["right"] ==
        false);
}

TEST_CASE("policy check reads the standard input", "[cli]") {
  const auto checked = [](const std::string& text) {
    return run_program(
        {"/bin/sh", "-c", "printf '" + text + "' | '" + TRIAGE_COMMAND + "' policy check -"});
  };
  CHECK_THAT(checked("default: escalate\n").out, ContainsSubstring("standard input is right"));
  const Printed wrong = checked("default: nap\n");
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("standard input: line 1"));
}

TEST_CASE("a policy in JSON means what JSON says", "[cli]") {
  const TempFolder folder;
  const std::string name(2'000, 'k');
  std::ofstream(folder.file("p.json"))
      << R"({"default": {"strategy": "fallback", "value": {"text": "stop \ud83d\uded1", "id": 12345678901234567890, ")"
      << name << "\": 1}}}";
  const Printed checked = triage_command({"policy", "check", folder.file("p.json")});
  INFO(checked.error);
  CHECK(checked.status == 0);
  std::ofstream(folder.file("wrong.json"))
      << "{\"timeout\": \"escalate\",\n\"default\": {\"strategy\": \"retri\"}}";
  const Printed wrong = triage_command({"policy", "check", folder.file("wrong.json")});
  CHECK_THAT(wrong.error, ContainsSubstring("line 2"));
}
