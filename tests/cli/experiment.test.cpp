// SPDX-License-Identifier: MIT
// triage experiment, run as by a user.
#include "cli/stores.hpp"
#include "triage/lab/experiment_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace triage;
using namespace triage::test;

namespace {

std::string experiment_with(const TempFolder& folder, const char* name, const std::string& text) {
  const std::string path = folder.file(name);
  std::ofstream(path) << text;
  return path;
}

const char* const coins = R"(experiment: coins
seeds: 40
agent: {steps: 3, recovers: 0.5}
policies: [none, blind_retry]
faults:
  - tool trouble: [{trouble: wrong_tool_called, share: 0.5}]
)";

}  // namespace

TEST_CASE("an experiment prints what became of each policy, with intervals", "[cli]") {
  const TempFolder folder;
  const std::string path = experiment_with(folder, "coins.yaml", coins);
  const std::string store = folder.file("runs.db");
  const Printed table = triage_command({"experiment", path, "--store", store});
  CHECK(table.status == 0);
  CHECK_THAT(table.out, ContainsSubstring("blind_retry  100.0 % (91.2–100.0)") &&
                            ContainsSubstring("Differences by seed, with 95 % intervals"));
  const Printed csv =
      triage_command({"experiment", path, "--csv", "--seeds", "5", "--store", store});
  CHECK_THAT(csv.out, ContainsSubstring("policy,trials,successes,rate,rate_low,rate_high,") &&
                          ContainsSubstring("\nblind_retry,5,5,1,"));
  const Printed json =
      triage_command({"experiment", path, "--json", "--threads", "2", "--store", store});
  CHECK(Json::parse(json.out)["conditions"][1]["successes"] == 40);
  CHECK_THAT(json.error, ContainsSubstring("had finished before; --again runs it again"));
  const Printed anew = triage_command({"experiment", path, "--json", "--again", "--store", store});
  CHECK(anew.error.empty());
  CHECK(anew.out == json.out);
  CHECK(triage_command({"experiment", path, "--check"}).out ==
        path + " is sound: 2 conditions, 40 seeds\n");
  CHECK(Json::parse(triage_command({"experiment", path, "--check", "--json"}).out) ==
        Json{{"file", path}, {"sound", true}, {"conditions", 2}, {"seeds", 40}});
}

TEST_CASE("an experiment says which file, which line, which key and what is allowed", "[cli]") {
  const TempFolder folder;
  const auto error_of = [&](const std::string& text) {
    const std::string path = experiment_with(folder, "wrong.yaml", text);
    const Printed printed = triage_command({"experiment", path});
    CHECK(printed.status == 2);
    CHECK(printed.out.empty());
    return printed.error;
  };
  CHECK_THAT(error_of(std::string(coins) + "  - flaky:\n    - {fault: fails, rate: 1.5}\n"),
             ContainsSubstring("wrong.yaml\": line 8: faults[1].flaky[0].rate is 1.5; allowed is "
                               "0 to 1"));
  CHECK_THAT(error_of(std::string(coins) + "mood: good\n"),
             ContainsSubstring("line 7: mood is not known; allowed are "));
  CHECK_THAT(error_of("experiment: empty\npolicies: []\n"),
             ContainsSubstring("line 2: policies is []; allowed is a list of one or more"));
  experiment_with(folder, "mine.yaml", "timeout: escalate\nexternal_fault: {strategy: retri}\n");
  CHECK_THAT(error_of("experiment: policy\npolicies:\n  - none\n  - mine.yaml\n"),
             ContainsSubstring("line 4: policies[1]: ") &&
                 ContainsSubstring("mine.yaml\": line 2: external_fault"));
  CHECK_THAT(error_of("experiment: {\n"), ContainsSubstring("the experiment is not YAML"));
  const Printed absent = triage_command({"experiment", folder.file("no.yaml")});
  CHECK(absent.status == 1);
  CHECK_THAT(absent.error, ContainsSubstring("no.yaml"));
  CHECK(triage_command({"experiment", experiment_with(folder, "c.yaml", coins), "--csv", "--json"})
            .status == 2);
}

TEST_CASE("every ready experiment runs, and is read as it stands in the manual", "[cli]") {
  const TempFolder folder;
  const std::string store = folder.file("runs.db");
  const std::string page = read_text(std::string(TRIAGE_SOURCE_DIR) + "/docs/experiments.md");
  int ran = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TRIAGE_SOURCE_DIR) +
                                                               "/examples/experiments")) {
    const std::string name = entry.path().stem().string();
    if (name.ends_with("_policy")) continue;
    INFO(name);
    const Printed printed = triage_command(
        {"experiment", entry.path().string(), "--seeds", "1", "--json", "--store", store});
    CHECK(printed.status == 0);
    CHECK(Json::parse(printed.out)["conditions"].size() > 1);
    CHECK_THAT(page, ContainsSubstring("<!-- experiment: " + name + " -->"));
    ++ran;
  }
  CHECK(ran == 7);
}

TEST_CASE("the experiment that the manual begins with works as it is printed", "[cli]") {
  const TempFolder folder;
  std::string page = read_text(std::string(TRIAGE_SOURCE_DIR) + "/docs/experiments.md");
  const auto next_block = [&page](const std::string& fence) {
    const std::size_t begin = page.find(fence) + fence.size();
    const std::size_t end = page.find("```", begin);
    const std::string block = page.substr(begin, end - begin);
    page.erase(0, end + 3);
    return block;
  };
  const std::string mine = experiment_with(folder, "mine.yaml", next_block("```yaml\n"));
  static_cast<void>(experiment_with(folder, "my_policy.yaml", next_block("```yaml\n")));
  const std::string printed = next_block("```\n$ triage experiment mine.yaml\n");
  const Printed ran = triage_command({"experiment", mine, "--store", folder.file("runs.db")});
  INFO(ran.out << ran.error);
  CHECK(ran.status == 0);
  // The figures vary slightly with the classifier's model.
  const auto words = [](std::string text) {
    std::erase_if(text, [](char c) {
      return c == ' ' || c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9');
    });
    return text;
  };
  CHECK(words(ran.out) == words(printed));
}

TEST_CASE("an experiment's tables fit 80 columns, and no figure has an exponent", "[cli]") {
  const TempFolder folder;
  const Printed ran = triage_command(
      {"experiment", std::string(TRIAGE_SOURCE_DIR) + "/examples/experiments/routing.yaml",
       "--seeds", "3", "--store", folder.file("runs.db")});
  INFO(ran.out << ran.error);
  CHECK(ran.status == 0);
  std::istringstream lines(ran.out);
  std::vector<std::string> headings;
  for (std::string line; std::getline(lines, line);) {
    // Without the bytes that go on with a character.
    const auto wide = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    });
    CHECK(wide <= 80);
    if (line.starts_with("policy ")) headings.push_back(line);
  }
  REQUIRE(headings.size() >= 3);  // The figures do not fit into one.
  for (const std::string& heading : headings) CHECK_THAT(heading, ContainsSubstring("faults"));
  std::string all;
  for (const std::string& heading : headings) all += heading + " ";
  for (const char* figure : {" attempts ", " tokens ", " usd ", " wasted "}) {
    CHECK(all.find(figure) == all.rfind(figure));
    CHECK_THAT(all, ContainsSubstring(figure));
  }
  CHECK_THAT(ran.out, !ContainsSubstring("e+0"));
}

TEST_CASE("a policy without a result costs the others nothing", "[cli]") {
  const TempFolder folder;
  const std::string path = experiment_with(folder, "long.yaml", R"(experiment: long
seeds: 4
agent: {steps: 3, recovers: 1}
policies: [blind_retry, {r: {default: {strategy: retry, delay: 400d}}}]
faults: [{x: [{trouble: timeout}]}]
)");
  const std::string store = folder.file("runs.db");
  for (int i = 0; i < 2; ++i) {  // And when it is only printed again.
    const Printed told = triage_command({"experiment", path, "--store", store});
    CHECK(told.status == 2);
    CHECK_THAT(told.out, ContainsSubstring("blind_retry  100.0 %") &&
                             ContainsSubstring("\nWithout a result:\npolicy=r\n"));
    CHECK_THAT(told.error, ContainsSubstring("triage: policy=r has no result: seed "));
  }
}

TEST_CASE("a real store comes to the same as one in memory, and its time may be asked for",
          "[cli]") {
  const TempFolder folder;
  const std::string path = experiment_with(folder, "real.yaml", R"(experiment: real
seeds: 12
agent: {steps: 4, effect: reconciled, effect_step: 2}
stores: [immediate, sqlite, file]
real_time: true
compare: store
policies: [blind_retry]
faults:
  - kills: [{fault: kill, site: store, rate: 0.05}, {fault: fails, site: step, rate: 0.1}]
)");
  const Json report =
      json_of(triage_command({"experiment", path, "--json", "--store", folder.file("runs.db")}));
  REQUIRE(report["conditions"].size() == 3);
  Json in_memory = report["conditions"][0];
  CHECK(in_memory["figures"]["real_ms"]["mean"] > 0.0);
  in_memory["figures"].erase("real_ms");
  for (int i = 1; i < 3; ++i) {
    Json real = report["conditions"][static_cast<std::size_t>(i)];
    real["figures"].erase("real_ms");
    CHECK(real["figures"] == in_memory["figures"]);
    CHECK(real["rate"] == in_memory["rate"]);
  }
}

TEST_CASE("a report is one page that refers to no other", "[cli]") {
  const TempFolder folder;
  const std::string path =
      experiment_with(folder, "coins.yaml", std::string(coins) + R"(about: A <b> & c.
)");
  const std::string page = folder.file("coins.html");
  const std::string picture = folder.file("coins.svg");
  const Printed printed = triage_command({"experiment", path, "--html", page, "--svg", picture,
                                          "--store", folder.file("runs.db"), "--seeds", "5"});
  CHECK(printed.status == 0);
  const std::string html = read_text(page);
  CHECK_THAT(html, ContainsSubstring("A &lt;b> &amp; c.") && ContainsSubstring("blind_retry"));
  CHECK_THAT(html, !ContainsSubstring("src=") && !ContainsSubstring("<link"));
  CHECK_THAT(html, ContainsSubstring("<canvas id=\"success\">") ||
                       ContainsSubstring("This build of triage has no chart library"));
  CHECK(html.size() < 2'000'000);
  CHECK_THAT(read_text(picture), ContainsSubstring("<svg ") && ContainsSubstring("</svg>"));
  // Nothing runs if the report cannot be written.
  const Printed unwritable = triage_command(
      {"experiment", path, "--html", "/proc/none/x.html", "--store", folder.file("other.db")});
  CHECK(unwritable.status == 9);
  CHECK_THAT(unwritable.error, ContainsSubstring("\"/proc/none/x.html\" cannot be written"));
  CHECK_FALSE(std::filesystem::exists(folder.file("other.db")));
}

TEST_CASE("an experiment that another release began is not continued", "[cli]") {
  const TempFolder folder;
  const char* const text = R"({"experiment": "old", "seeds": 4, "policies": ["none"]})";
  std::ofstream(folder.file("e.json")) << text;
  const auto read = lab::experiment_from_json(
      Json::parse(text), [](const std::string&) -> Result<Json> { return Json(); });
  REQUIRE_OK(read);
  lab::ExperimentOptions options = read.value().options();
  options.name = read.value().name();
  options.trial = read.value().fingerprint();  // Without a release.
  options.store = SqliteStore::open(folder.file("runs.db")).value();
  REQUIRE_OK(lab::run_experiment([](const lab::Condition&, std::uint64_t) { return lab::Sample{}; },
                                 options));
  options.store.reset();
  const Printed printed = triage_command(
      {"experiment", folder.file("e.json"), "--store", folder.file("runs.db"), "--json"});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.error, !ContainsSubstring("had finished before"));
  CHECK(json_of(printed)["conditions"][0]["rate"] == 1.0);
}
