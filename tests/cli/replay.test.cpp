// SPDX-License-Identifier: MIT
// triage replay, run as by a user.
#include "cli/stores.hpp"

#include <fstream>

using namespace triage;
using namespace triage::test;

TEST_CASE("a stored run is replayed against a policy file", "[cli]") {
  const TempFolder folder;
  const std::string store = folder.file("runs.db");
  make_store(store);
  const std::string policy = folder.file("policy.json");
  std::ofstream(policy) << R"({"default": "escalate"})";
  const Printed printed = triage_command({"replay", store, "good", "--policy", policy});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out, ContainsSubstring("Run good: 1 failure, 1 other decision\n") &&
                              ContainsSubstring("now: escalate") &&
                              ContainsSubstring("and its result lost") &&
                              ContainsSubstring("Assumed:"));
  const Json json =
      json_of(triage_command({"replay", store, "good", "--policy", policy, "--json"}));
  CHECK(json["stops_at"] == 0);
  CHECK(json["decisions"][0]["was"]["action"] == "rollback");
}

TEST_CASE("a policy with a mistake is named with its file, before anything is opened", "[cli]") {
  const TempFolder folder;
  const std::string policy = folder.file("policy.json");
  std::ofstream(policy) << R"({"default": "shrug"})";
  const Printed printed = triage_command({"replay", folder.file("no.db"), "r", "--policy", policy});
  CHECK(printed.status == 2);
  CHECK_THAT(printed.error, ContainsSubstring("policy.json\": ") && ContainsSubstring("shrug"));
  std::ofstream(policy) << R"({"default": "shrug", "timeout": "sigh"})";
  const Printed both = triage_command({"replay", folder.file("no.db"), "r", "--policy", policy});
  CHECK_THAT(both.error, ContainsSubstring("\n\"" + policy + "\": ") && ContainsSubstring("sigh"));
  CHECK(triage_command({"replay", folder.file("no.db"), "r", "--policy", folder.file("none.json")})
            .status == 1);
}

TEST_CASE("a run of triage run is replayed under its own limits", "[cli]") {
  const TempFolder folder;
  const std::string store = folder.file("runs.db");
  const std::string policy = folder.file("policy.json");
  std::ofstream(policy) << R"({"default": {"strategy": "retry", "max_attempts": 30}})";
  const std::string count = folder.file("count");
  const std::string script = "echo x >>" + count +
                             "; echo HTTP 503 Service Unavailable >&2; [ $(wc -l <" + count +
                             ") -ge 14 ]";
  const Printed run = triage_command({"run", "--store", store, "--run", "patient", "--policy",
                                      policy, "--start-ups", "30", "--", "sh", "-c", script});
  INFO(run.error);
  REQUIRE(run.status == 0);
  const std::vector<std::string> replay{"replay", store, "patient", "--policy", policy, "--json"};
  const Json same = json_of(triage_command(replay));
  CHECK(same["decisions"].size() == 13);
  CHECK(same["first_difference"] == nullptr);
  CHECK(same["stops_at"] == nullptr);
  auto limited = replay;
  limited.insert(limited.end(), {"--max-attempts-per-type", "10"});
  CHECK(json_of(triage_command(limited))["stops_at"] == 9);
}
