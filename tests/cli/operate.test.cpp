// SPDX-License-Identifier: MIT
// Operator actions on runs from the command line.
#include "cli/stores.hpp"

#include <filesystem>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

using Agent = TriageAgent<std::function<Result<std::string>(const std::string&, Attempt&)>>;

// Waits for a signal if its task is "signal"; otherwise its first attempt asks for a decision.
Agent waiting_agent(const std::string& path) {
  auto store = SqliteStore::open(path);
  REQUIRE_OK(store);
  return {[](const std::string& task, Attempt& attempt) -> Result<std::string> {
            if (task == "signal") {
              const auto until = real_clock()->wall_now() + 48h;
              return attempt.wait("approved", until)->get<std::string>();
            }
            if (attempt.number() == 1) return attempt.fail({.text = "may I?"});
            return std::string("done");
          },
          FailurePolicy().otherwise(suspend({.message = "Look."})),
          {.name = "waiter", .store = store.value()}};
}

}  // namespace

TEST_CASE("a signal is sent from the command line", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const Agent agent = waiting_agent(path);
  CHECK_ERRC(Errc::suspended, agent.run("signal", {.run_id = "r"}));
  const auto send = [&](const std::string& value) {
    return triage_command({"signal", "send", "--store", path, "r", "approved", value});
  };
  CHECK(send("by all means").status == 2);  // Not JSON.
  CHECK(send("\"yes\"").status == 0);
  CHECK(send("\"no\"").status == 2);
  CHECK(triage_command({"signal", "send", "--store", path, "other", "approved"}).status == 1);
  CHECK(triage_command({"signal"}).status == 2);
  const auto due = agent.resume_due();
  REQUIRE_OK(due);
  REQUIRE(due.value().size() == 1);
  CHECK(due.value()[0].result.value() == "yes");
}

TEST_CASE("a run is cancelled from the command line, its id shortened", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const Agent agent = waiting_agent(path);
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "waiting-run"}));
  const Printed done = triage_command({"cancel", "--store", path, "waiti…run", "--who", "ann"});
  CHECK(done.status == 0);
  CHECK(done.out == "Run waiting-run is cancelled.\n");
  CHECK(triage_command({"cancel", "--store", path, "waiting-run"}).status == 2);
  CHECK_THAT(triage_command({"explain", "--store", path, "waiting-run"}).out,
             ContainsSubstring("cancelled from outside by ann"));
  CHECK(triage_command({"cancel", "--store", folder.file("none.db"), "r"}).status == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file("none.db")));
}

TEST_CASE("a doubt is settled from the command line", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  make_store(path);
  const auto settle = [&](std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"settle", "--store", path});
    return triage_command(rest);
  };
  CHECK(settle({"lost", "mail:1", "perhaps"}).status == 2);
  CHECK(settle({"lost", "mail:2", "done"}).status == 1);
  CHECK(settle({"lost", "mail:1", "not-done", "7"}).status == 2);
  const Printed done = settle({"lost", "mail:1", "done", "7"});
  CHECK(done.status == 0);
  CHECK(done.out == "Effect \"mail:1\" of run lost is settled: done.\n");
  CHECK(settle({"lost", "mail:1", "not-done"}).status == 2);
  const Json shown = json_of(triage_command({"checkpoint", "show", path, "lost", "--json"}));
  REQUIRE(shown["effects"].size() == 1);
  CHECK(shown["effects"][0]["result"] == 7);
  CHECK_THAT(triage_command({"explain", "--store", path, "lost"}).out,
             ContainsSubstring("Effect \"mail:1\" was in doubt and did happen"));
}

TEST_CASE("a lost token is made anew from the command line", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const Agent agent = waiting_agent(path);
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  const Printed printed = triage_command({"reissue", "--store", path, "r"});
  CHECK(printed.status == 0);
  REQUIRE(printed.out.size() == 65);
  CHECK(agent.decide(printed.out.substr(0, 64), RecoveryAction::retry()).value() == "done");
  CHECK(triage_command({"reissue", "--store", path, "r", "--json"}).status == 2);
  CHECK(triage_command({"reissue", "--store", path, "nobody"}).status == 1);
}

TEST_CASE("a run of another program is decided from the command line, and goes on in its program",
          "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const Agent agent = waiting_agent(path);
  const auto waiting = agent.run("x", {.run_id = "r"});
  const auto given_up = agent.run("x", {.run_id = "no"});
  const auto decide = [&](const Result<std::string>& run, std::vector<std::string> more) {
    std::vector<std::string> words{"decide", "--store", path, run.error().suspension()->token};
    words.insert(words.end(), more.begin(), more.end());
    return triage_command(words);
  };
  CHECK(decide(waiting, {"dance"}).status == 2);
  const Printed done = decide(waiting, {"retry", "approved", "--who", "ann"});
  INFO(done.error);
  CHECK(done.status == 0);
  CHECK_THAT(done.out, ContainsSubstring("Run r: the decision is recorded."));
  CHECK_THAT(triage_command({"suspended", "--store", path}).out,
             ContainsSubstring("its program: retry"));
  CHECK_THAT(triage_command({"explain", "--store", path, "r"}).out,
             ContainsSubstring("Decided  by ann"));
  CHECK(decide(waiting, {"retry"}).status == 1);
  CHECK(agent.run_or_resume("r", "x").value() == "done");
  const Printed aborted = decide(given_up, {"abort", "no", "--json"});
  CHECK(aborted.status == 0);
  CHECK(json_of(aborted) == Json{{"run", "no"}, {"action", "abort"}, {"status", "aborted"}});
  CHECK_ERRC(Errc::aborted, agent.run_or_resume("no", "x"));
}

TEST_CASE("what an operator did is told as JSON, too", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const Agent agent = waiting_agent(path);
  CHECK_ERRC(Errc::suspended, agent.run("signal", {.run_id = "s"}));
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "d"}));
  make_store(path);
  const auto told = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--store", path, "--json"});
    return json_of(triage_command(words));
  };
  CHECK(told({"signal", "send", "s", "approved", "[1]"}) ==
        Json{{"run", "s"}, {"signal", "approved"}, {"value", Json::array({1})}});
  CHECK(told({"settle", "lost", "mail:1", "not-done"}) ==
        Json{{"run", "lost"}, {"effect", "mail:1"}, {"done", false}, {"result", nullptr}});
  const Json reissued = told({"reissue", "d"});
  CHECK(reissued["run"] == "d");
  CHECK(reissued["token"].get<std::string>().size() == 64);
  CHECK(told({"cancel", "d"}) == Json{{"run", "d"}, {"status", "cancelled"}});
  CHECK(triage_command({"settle", "lost", "mail:1", "done", "--store", path, "--json"}).out == "");
}

TEST_CASE("old runs are removed from the command line", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  make_store(path);
  const auto prune = [&](std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"checkpoint", "prune", path});
    return triage_command(rest);
  };
  CHECK(prune({}).status == 2);
  CHECK(prune({"--older-than", "soon"}).status == 2);
  CHECK(prune({"--keep", "-1"}).status == 2);
  CHECK(prune({"--keep-bytes", "99999999999999999999"}).status == 2);
  CHECK(prune({"--older-than", "1h"}).out == "0 runs are removed.\n");
  CHECK(prune({"--keep", "1"}).out == "0 runs are removed.\n");  // Two agents with one run each.
  CHECK(prune({"--keep", "0", "--dry-run"}).out == "lost\n");    // The other one has a label.
  CHECK(json_of(prune({"--keep", "0", "--labelled", "--dry-run", "--json"}))["removable"] ==
        Json::array({"lost", "good"}));
  CHECK(prune({"--keep-bytes", "0"}).out == "1 run is removed.\n");
  CHECK(json_of(prune({"--keep", "0", "--labelled", "--json"}))["removed"] == 1);
  CHECK(json_of(triage_command({"checkpoint", "list", path, "--json"}))["runs"].empty());
}

TEST_CASE("a run that waits is removed only if that is asked for", "[cli][operate]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const Agent agent = waiting_agent(path);
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  CHECK(triage_command({"checkpoint", "prune", path, "--keep", "0"}).out ==
        "0 runs are removed.\n");
  CHECK(triage_command({"checkpoint", "prune", path, "--keep", "0", "--unended"}).out ==
        "1 run is removed.\n");
}

TEST_CASE("the examples in the help of operators' commands work as they stand", "[cli][operate]") {
  const TempFolder folder;
  std::filesystem::create_directories(folder.file("triage"));
  const std::string path = folder.file("triage/runs.db");
  const auto example = [&](std::vector<std::string> words) {
    words.emplace_back("--help");
    const std::string help = triage_command(words).out;
    const std::size_t at = help.find("Example: ");
    REQUIRE(at != std::string::npos);
    const std::string line = help.substr(at + 9, help.find('\n', at) - at - 9);
    INFO(line);
    const Printed printed = run_program(
        {"/usr/bin/env", "XDG_STATE_HOME=" + folder.path().string(),
         "PATH=" + std::filesystem::path(TRIAGE_COMMAND).parent_path().string() + ":/usr/bin:/bin",
         "sh", "-c", line});
    INFO(printed.error);
    CHECK(printed.status == 0);
  };
  const RunId run = "01JDZ3K5W8A";
  {
    const Agent agent = waiting_agent(path);
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = run}));
  }
  example({"reissue"});
  example({"cancel"});
  example({"signal", "send"});
  example({"checkpoint", "prune"});
  std::filesystem::remove(path);
  {
    auto store = SqliteStore::open(path);
    REQUIRE_OK(store);
    TriageAgent charges{[](const std::string&, Attempt& attempt) {
                          attempt.effect("charge:42",
                                         []() -> int { throw std::runtime_error("reset"); });
                        },
                        FailurePolicy().otherwise(escalate("Ask somebody.")),
                        {.name = "charges", .store = store.value()}};
    CHECK_ERRC(Errc::escalated, charges.run("x", {.run_id = run}));
  }
  example({"settle"});
}

TEST_CASE("a run of an encrypted store is released, with its key and without", "[cli]") {
  const TempFolder folder;
  const std::string key = folder.file("key");
  std::ofstream(key) << "k1 " << std::string(64, 'a') << "\n";
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  const std::string store = folder.file("sealed.db");
  make_store(folder.file("a.db"));
  const std::string lines = folder.file("a.jsonl");
  REQUIRE(triage_command({"checkpoint", "export", folder.file("a.db"), "--out", lines}).status ==
          0);
  REQUIRE(
      triage_command({"checkpoint", "import", store, "--in", lines, "--key-file", key}).status ==
      0);
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--key-file", key}, {}}) {
    tamper(store, "UPDATE runs SET owner = 'another-boot/1 17 99 1234'");
    std::vector<std::string> release{"checkpoint", "release", store, "good", "--force"};
    release.insert(release.end(), more.begin(), more.end());
    const Printed released = triage_command(release);
    INFO(released.error);
    CHECK(released.status == 0);
    CHECK_THAT(released.out, ContainsSubstring("taken from another-boot/1"));
  }
  // The address of a file is no name of one.
  CHECK(triage_command({"checkpoint", "release", "sqlite:" + store, "good"}).status == 0);
  CHECK_FALSE(std::filesystem::exists("sqlite:" + store));
}
