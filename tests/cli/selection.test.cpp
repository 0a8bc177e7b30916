// SPDX-License-Identifier: MIT
// Which runs `triage runs` and `triage checkpoint list` list: both take the same options.
#include "cli/stores.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

struct List {
  std::string store{};
  std::vector<std::string> command{};

  [[nodiscard]] Printed with(const std::vector<std::string>& options) const {
    std::vector<std::string> words = command;
    words.push_back(store);
    words.insert(words.end(), options.begin(), options.end());
    return triage_command(words);
  }
  [[nodiscard]] std::vector<std::string> runs(std::vector<std::string> options) const {
    options.emplace_back("--json");
    std::vector<std::string> ids;
    const Json document = json_of(with(options));
    for (const Json& run : document["runs"]) ids.push_back(run["id"]);
    return ids;
  }
};

std::vector<std::string> one_of_the_commands() {
  return GENERATE(std::vector<std::string>{"runs"}, std::vector<std::string>{"checkpoint", "list"});
}

}  // namespace

TEST_CASE("runs are chosen by status, agent and label, in the order that is asked for",
          "[cli][selection]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));  // "good" and, after it, "lost".
  const List list{folder.file("a.db"), one_of_the_commands()};
  using Ids = std::vector<std::string>;
  CHECK(list.runs({}) == Ids{"lost", "good"});
  CHECK(list.runs({"--status", "escalated"}) == Ids{"lost"});
  CHECK(list.runs({"--label", "nightly", "--agent", "crawler"}) == Ids{"good"});
  tamper(list.store,
         "UPDATE records SET time = time + 1000000 WHERE run = (SELECT run FROM runs WHERE run_id "
         "= 'good')");
  CHECK(list.runs({"--sort", "updated"}) == Ids{"good", "lost"});
  CHECK(list.runs({"--sort", "started"}) == Ids{"lost", "good"});
  CHECK(list.with({"--label", "none"}).out == "No runs that fit.\n");
  CHECK(list.with({"--sort", "size"}).status == 2);
  const Printed odd = list.with({"--status", "o\x1b[dd"});
  CHECK(odd.status == 2);
  CHECK_THAT(odd.error, ContainsSubstring(R"(--status is "o\x1b[dd"; allowed are running, died)"));
}

TEST_CASE("that the limit has left runs out is said", "[cli][selection]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const List list{folder.file("a.db"), one_of_the_commands()};
  const Printed one = list.with({"--limit", "1"});
  CHECK(one.status == 0);
  CHECK(one.error == "triage: only the newest run is shown; --limit N shows more, 0 all\n");
  CHECK(json_of(list.with({"--limit", "1", "--json"}))["more"] == true);
  CHECK(list.with({"--limit", "2"}).error.empty());
  CHECK(json_of(list.with({"--limit", "2", "--json"}))["more"] == false);
}

TEST_CASE("a run whose entry is damaged is listed, and the exit status is 4", "[cli][selection]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const List list{folder.file("a.db"), one_of_the_commands()};
  tamper(list.store, "UPDATE runs SET label = 'other' WHERE run_id = 'good'");
  const Printed printed = list.with({});
  CHECK(printed.status == 4);
  CHECK_THAT(printed.out, ContainsSubstring("other"));
  CHECK_THAT(printed.error, ContainsSubstring("1 run shown here does not match its checksum"));
}

TEST_CASE("the checkpoints of a run are not chosen like runs", "[cli][selection]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const List list{folder.file("a.db"), {"checkpoint", "list"}};
  for (const char* option : {"--status", "--agent", "--sort"}) {
    const Printed refused = list.with({"--run", "good", option, "updated"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring("--run lists checkpoints"));
  }
}
