// SPDX-License-Identifier: MIT
// The official JSON Schema test suite (Debian package json-schema-test-suite) for the supported
// drafts. Known differences are in schema_suite_exceptions.tsv, with their reasons.
#include "triage/json_schema.hpp"

#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace triage;
namespace fs = std::filesystem;

namespace {

// Draft, file, group and test; "*" matches any, also at the end of a name.
struct Known {
  std::string draft{};
  std::string file{};
  std::string group{};
  std::string test{};
  std::string reason{};
  std::size_t met = 0;
  std::size_t failed = 0;

  [[nodiscard]] static bool fits(const std::string& wanted, const std::string& name) {
    if (!wanted.ends_with('*')) return wanted == name;
    return name.starts_with(std::string_view(wanted).substr(0, wanted.size() - 1));
  }
  [[nodiscard]] bool covers(const std::string& in_draft, const std::string& in_file,
                            const std::string& in_group, const std::string& of_test) const {
    return fits(draft, in_draft) && fits(file, in_file) && fits(group, in_group) &&
           fits(test, of_test);
  }
};

std::vector<Known> known_exceptions() {
  std::ifstream file(TRIAGE_SOURCE_DIR "/tests/contract/schema_suite_exceptions.tsv");
  REQUIRE(file);
  std::vector<Known> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    Known one;
    std::getline(fields, one.draft, '\t');
    std::getline(fields, one.file, '\t');
    std::getline(fields, one.group, '\t');
    std::getline(fields, one.test, '\t');
    std::getline(fields, one.reason, '\t');
    INFO(line);
    REQUIRE_FALSE(one.reason.empty());
    all.push_back(std::move(one));
  }
  return all;
}

// The suite's folders determine the draft of their files.
Json with_draft(Json schema, const std::string& draft) {
  if (schema.is_object() && !schema.contains("$schema")) {
    const std::string number = draft.substr(5);
    schema["$schema"] = number.size() == 1 ? "http://json-schema.org/draft-0" + number + "/schema#"
                                           : "https://json-schema.org/draft/" + number + "/schema";
  }
  return schema;
}

// Empty if the suite's expectation is met.
std::string difference(const JsonSchema& schema, const Json& test) {
  if (schema.problem()) return schema.problem()->detail;
  const auto checked = schema.check(test.at("data"));
  if (!checked) return checked.error().detail;
  const bool fits = !checked.value().has_value();
  if (fits == test.at("valid").get<bool>()) return {};
  return fits ? "found to fit, but it must not" : "must fit, but: " + describe(*checked.value());
}

}  // namespace

TEST_CASE("the official test suite of JSON Schema passes, known exceptions apart",
          "[classifier][schema]") {
  const fs::path suite = TRIAGE_SCHEMA_SUITE;
  INFO("install the package json-schema-test-suite, as scripts/setup does; looked in " << suite);
  REQUIRE(fs::is_directory(suite / "tests"));
  std::vector<Known> exceptions = known_exceptions();
  std::size_t run = 0;
  std::size_t excepted = 0;
  for (const std::string draft : {"draft4", "draft6", "draft7", "draft2020-12"}) {
    const fs::path folder = suite / "tests" / draft;
    const bool packaged = draft.size() == 6;  // Debian 12's package ends with draft 7.
    if (!packaged && !fs::is_directory(folder)) continue;
    REQUIRE(fs::is_directory(folder));
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      const std::string file = fs::relative(entry.path(), folder).string();
      std::ifstream input(entry.path());
      for (const Json& group : Json::parse(input)) {
        const JsonSchema schema(with_draft(group.at("schema"), draft));
        for (const Json& test : group.at("tests")) {
          ++run;
          const auto name = group.at("description").get<std::string>();
          const auto what = test.at("description").get<std::string>();
          const auto known =
              std::find_if(exceptions.begin(), exceptions.end(),
                           [&](const Known& one) { return one.covers(draft, file, name, what); });
          if (known != exceptions.end()) ++known->met;
          const std::string wrong = difference(schema, test);
          if (wrong.empty()) continue;
          if (known != exceptions.end()) {
            ++known->failed;
            if (!file.starts_with("optional")) ++excepted;
            continue;
          }
          FAIL_CHECK(draft << '\t' << file << '\t' << name << '\t' << what << "\n  " << wrong);
        }
      }
    }
  }
  CHECK(run > 1'400);
  for (const Known& one : exceptions) {
    INFO(one.draft << ' ' << one.file << ' ' << one.group << ' ' << one.test);
    // An exception that passes must be removed from the list. Releases of the suite differ.
    CHECK((one.met == 0 || one.failed > 0));
  }
  CHECK(excepted < run / 20);
}
