// SPDX-License-Identifier: MIT
// The built command on intact stores.
#include "cli/stores.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace triage;
using namespace triage::test;

TEST_CASE("list shows the runs of a store, the newest first", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Printed table = triage_command({"checkpoint", "list", folder.file("a.db")});
  CHECK(table.status == 0);
  CHECK(table.error.empty());
  CHECK_THAT(table.out, ContainsSubstring("RUN"));
  CHECK(table.out.find("lost") < table.out.find("good"));
  const Json all =
      json_of(triage_command({"checkpoint", "list", "sqlite:" + folder.file("a.db"), "--json"}));
  REQUIRE(all["runs"].size() == 2);
  CHECK(all["more"] == false);
  const Json& good = all["runs"][1];
  CHECK(good["id"] == "good");
  CHECK(good["agent"] == "crawler");
  CHECK(good["label"] == "nightly");
  CHECK(good["status"] == "finished");
  CHECK(good["owned"] == false);
  CHECK(all["runs"][0]["status"] == "escalated");
}

TEST_CASE("list narrows the runs down by status, agent, label and number", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const auto ids = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"checkpoint", "list", folder.file("a.db"), "--json"});
    const Json document = json_of(triage_command(arguments));
    std::vector<std::string> found;
    for (const Json& run : document["runs"]) found.push_back(run["id"]);
    return found;
  };
  using Ids = std::vector<std::string>;
  CHECK(ids({"--status", "escalated"}) == Ids{"lost"});
  CHECK(ids({"--agent", "crawler"}) == Ids{"good"});
  CHECK(ids({"--label", "nightly"}) == Ids{"good"});
  CHECK(ids({"--label", "daily"}).empty());
  CHECK(ids({"--status", "running"}).empty());
  CHECK(ids({"--limit", "1"}) == Ids{"lost"});
  const Printed one = triage_command({"checkpoint", "list", folder.file("a.db"), "--limit", "1"});
  CHECK_THAT(one.error, ContainsSubstring("--limit"));
}

TEST_CASE("list --run shows checkpoints, and which of them were abandoned", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Json document = json_of(
      triage_command({"checkpoint", "list", folder.file("a.db"), "--run", "good", "--json"}));
  const Json& checkpoints = document["checkpoints"];
  REQUIRE(checkpoints.size() >= 3);
  CHECK(checkpoints[0]["steps"] == 1);
  CHECK(checkpoints[0]["label"] == "planned");
  CHECK(checkpoints[0]["abandoned"] == false);
  CHECK(checkpoints[1]["steps"] == 2);
  CHECK(checkpoints[1]["abandoned"] == true);
  CHECK(checkpoints.back()["abandoned"] == false);
  CHECK(checkpoints.back()["attempt"] == 2);
  const Printed table =
      triage_command({"checkpoint", "list", folder.file("a.db"), "--run", "good"});
  const auto row_of = [&](std::size_t index) {
    const std::size_t at = table.out.find(checkpoints[index]["id"].get<std::string>() + " ");
    REQUIRE(at != std::string::npos);
    return table.out.substr(at, table.out.find('\n', at) - at);
  };
  CHECK_THAT(row_of(0), ContainsSubstring("planned"));
  CHECK_THAT(row_of(0), !ContainsSubstring("yes"));
  CHECK_THAT(row_of(1), ContainsSubstring("yes"));
}

TEST_CASE("show tells what a suspended run waits for, without what was taken out", "[cli]") {
  struct Guard final : StepGuard {
    GuardVerdict judge(const Step&) const override {
      return {.kind = GuardVerdict::Kind::ask, .risk = 0.75, .reason = "it deletes"};
    }
  };
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const TriageAgent agent{[](const Json&, Attempt& attempt) -> Result<int> {
                            const auto allowed = attempt.propose_step(
                                {.action = "delete it",
                                 .tool_called = "delete_user",
                                 .tool_input = {{"user", "ana"}, {"key", "secret"}}});
                            if (!allowed) return allowed.error();
                            return 1;
                          },
                          FailurePolicy(),
                          {.name = "cleaner",
                           .store = SqliteStore::open(path).value(),
                           .guard = std::make_shared<Guard>(),
                           .redact = [](Suspension& shown) {
                             shown.task["password"] = "***";
                             shown.proposed->input["key"] = "***";
                           }}};
  REQUIRE_FALSE(agent.run(Json{{"clean", "users"}, {"password", "pw"}}, {.run_id = "r"}));
  const Printed shown = triage_command({"checkpoint", "show", path, "r"});
  for (const char* part : {"cleaner", "delete_user", "ana", "0.75", "it deletes", "users"}) {
    CHECK_THAT(shown.out, ContainsSubstring(part));
  }
  const Printed printed = triage_command({"checkpoint", "show", path, "r", "--json"});
  const Json waiting = json_of(printed)["waiting"];
  CHECK(waiting["agent"] == "cleaner");
  CHECK(waiting["task"] == Json{{"clean", "users"}, {"password", "***"}});
  CHECK(waiting["step"]["tool"] == "delete_user");
  CHECK(waiting["step"]["input"] == Json{{"user", "ana"}, {"key", "***"}});
  CHECK(waiting["step"]["risk"] == 0.75);
  for (const std::string& out : {shown.out, printed.out}) {
    CHECK_THAT(out, !ContainsSubstring("secret") && !ContainsSubstring("\"pw\""));
  }
}

TEST_CASE("show tells in sentences what failed, why, and what was done about it", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Printed shown = triage_command({"checkpoint", "show", folder.file("a.db"), "good"});
  CHECK(shown.status == 0);
  CHECK(shown.error.empty());
  CHECK_THAT(shown.out,
             ContainsSubstring("Attempt 1 failed at step 1 (fetch): external_fault, rate_limited"));
  CHECK_THAT(shown.out, ContainsSubstring("HTTP 429: too many requests"));
  CHECK_THAT(shown.out, ContainsSubstring("rollback to the checkpoint labelled \"planned\""));
  CHECK_THAT(shown.out, ContainsSubstring("Rolled back to checkpoint good@"));
  CHECK_THAT(shown.out, ContainsSubstring("page = 1"));
  CHECK_THAT(shown.out, ContainsSubstring("charge:42"));
  CHECK_THAT(shown.out, ContainsSubstring("Result: \"done\""));
}

TEST_CASE("show keeps an effect in doubt in sight", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Printed shown = triage_command({"checkpoint", "show", folder.file("a.db"), "lost"});
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, ContainsSubstring("in doubt"));
  CHECK_THAT(shown.out, ContainsSubstring("mail:1"));
  CHECK_THAT(shown.out, ContainsSubstring("Ask somebody."));
  CHECK_THAT(shown.out, ContainsSubstring("State: empty"));
}

TEST_CASE("show gives one JSON document, with bytes that are not UTF-8 escaped", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Json good =
      json_of(triage_command({"checkpoint", "show", folder.file("a.db"), "good", "--json"}));
  CHECK(good["task"] == "https://example.org");
  CHECK(good["state"]["page"] == 1);
  CHECK_THAT(good["state"]["plan"].get<std::string>(), ContainsSubstring("caf"));
  CHECK(good["steps"].size() == 2);
  CHECK(good["steps"][1]["http_status"] == 200);
  CHECK(good["effects"][0] == Json{{"key", "charge:42"}, {"status", "done"}, {"result", 7}});
  CHECK(good["result"] == "done");
  CHECK(good["damaged_records"] == 0);
}

TEST_CASE("show of a checkpoint gives the state and steps as they were there", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Json list = json_of(
      triage_command({"checkpoint", "list", folder.file("a.db"), "--run", "good", "--json"}));
  const std::string id = list["checkpoints"][0]["id"];
  const Json then =
      json_of(triage_command({"checkpoint", "show", folder.file("a.db"), id, "--json"}));
  CHECK(then["checkpoint"]["id"] == id);
  CHECK(then["steps"].size() == 1);
  CHECK_FALSE(then["state"].contains("page"));
  CHECK(then["timeline"].empty());
  CHECK(then["effects"].empty());
  const Json none = json_of(triage_command(
      {"checkpoint", "show", folder.file("a.db"), "good", "--json", "--steps", "0"}));
  CHECK(none["steps"].empty());
}

TEST_CASE("verify finds nothing wrong with a good store, nor with an empty one", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Json good =
      json_of(triage_command({"checkpoint", "verify", folder.file("a.db"), "--json"}));
  CHECK(good["intact"] == true);
  CHECK(good["runs"] == 2);
  REQUIRE_OK(SqliteStore::open(folder.file("empty.db")));
  const Printed empty = triage_command({"checkpoint", "verify", folder.file("empty.db")});
  CHECK(empty.status == 0);
  CHECK_THAT(empty.out, ContainsSubstring("0 runs, 0 records read: all intact"));
  CHECK(triage_command({"checkpoint", "list", folder.file("empty.db")}).out == "No runs.\n");
}

TEST_CASE("a run that is under way is told apart from one whose process died", "[cli]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto work = [](const std::string& store, const std::string& run, auto in_the_middle) {
    TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                        attempt.record_step({.action = "work"});
                        in_the_middle();
                      },
                      FailurePolicy().otherwise(escalate()),
                      {.name = "worker",
                       .store = SqliteStore::open(store).value(),
                       .write_mode = WriteMode::immediate}};
    return agent.run("task", {.run_id = run});
  };
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    static_cast<void>(work(path, "dead", [] { ::_exit(0); }));
    ::_exit(1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  Json alive;
  Json dead;
  REQUIRE_OK(work(path, "alive", [&] {
    alive = json_of(triage_command({"checkpoint", "list", path, "--status", "running", "--json"}));
    dead = json_of(triage_command({"checkpoint", "list", path, "--status", "died", "--json"}));
  }));
  REQUIRE(alive["runs"].size() == 1);
  CHECK(alive["runs"][0]["id"] == "alive");
  CHECK(alive["runs"][0]["owned"] == true);
  REQUIRE(dead["runs"].size() == 1);
  CHECK(dead["runs"][0]["id"] == "dead");
  CHECK(dead["runs"][0]["status"] == "died");
  const Json steps = json_of(triage_command({"checkpoint", "show", path, "dead", "--json"}));
  CHECK(steps["steps"].size() == 1);
}

TEST_CASE("tables fit 80 columns, and an id that was cut in its middle is understood", "[cli]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  auto store = SqliteStore::open(path);
  REQUIRE_OK(store);
  TriageAgent agent{[](const std::string& task, Attempt& attempt) {
                      attempt.record_step({.action = std::string(90, 'a'),
                                           .tool_called = std::string(90, 't'),
                                           .tool_input = {{"task", task}},
                                           .llm_output = std::string(90, 'o')});
                      attempt.effect("charge:" + std::string(90, 'k'), [] { return 1; });
                    },
                    FailurePolicy().otherwise(escalate()),
                    {.name = "an-agent-with-a-long-name", .store = store.value()}};
  const std::string id = "first-" + std::string(60, '0') + "-the-end";
  REQUIRE_OK(agent.run("x", {.run_id = id, .label = "a label of some length"}));
  REQUIRE_OK(agent.run("x", {.run_id = "first-" + std::string(60, '0') + "-other"}));
  const auto fits = [](const Printed& printed) {
    CHECK(printed.status == 0);
    std::istringstream lines(printed.out);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(std::count_if(line.begin(), line.end(), [](char byte) {
              return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
            }) <= 80);
    }
    return printed.out;
  };
  const std::string listed = fits(triage_command({"checkpoint", "list", path}));
  INFO(listed);
  const std::size_t row = listed.find("\nfirs") + 1;
  const std::string shown_id = listed.substr(row, listed.find(' ', row) - row);
  CHECK_THAT(shown_id, ContainsSubstring("…"));
  CHECK(triage_command({"checkpoint", "show", path, "first-…-the-end"}).status == 0);
  CHECK(json_of(triage_command(
            {"checkpoint", "show", path, "first-…-the-end@3", "--json"}))["run"]["id"] == id);
  CHECK(triage_command({"checkpoint", "show", path, "first-…"}).status == 2);
  CHECK(triage_command({"checkpoint", "show", path, "last-…"}).status == 1);
  const std::string checkpoints =
      fits(triage_command({"checkpoint", "list", path, "--run", "first-…-the-end"}));
  CHECK_THAT(checkpoints, ContainsSubstring("@"));
}

TEST_CASE("a repair sets damaged keys of a folder aside", "[cli][damage]") {
  const TempFolder folder;
  const std::string path = "file:" + folder.file("runs");
  REQUIRE(triage_command({"run", "--store", path, "--", "true"}).status == 0);
  std::ofstream(folder.file("runs") + "/keys.jsonl") << "no key\n";
  const Printed found = triage_command({"checkpoint", "verify", path});
  CHECK(found.status == 3);
  CHECK_THAT(found.out, ContainsSubstring("1 problem of the store itself"));
  const Printed repaired = triage_command({"checkpoint", "verify", path, "--repair"});
  CHECK(repaired.status == 0);
  CHECK_THAT(repaired.out, ContainsSubstring("Set aside: the damaged line at byte 0"));
  CHECK(triage_command({"checkpoint", "verify", path}).status == 0);
}

TEST_CASE("a repair sets aside what is damaged, and says what was lost", "[cli][damage]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  make_store(path);
  tamper(path,
         "UPDATE records SET body = body || x'00' WHERE seq = 4 AND run = (SELECT run FROM "
         "runs WHERE run_id = 'good')");
  CHECK(triage_command({"checkpoint", "verify", path}).status == 3);
  const Printed repaired = triage_command({"checkpoint", "verify", path, "--repair"});
  INFO(repaired.out << repaired.error);
  CHECK(repaired.status == 0);
  CHECK_THAT(repaired.out, ContainsSubstring("Run good:\n  Set aside: record 4"));
  CHECK_THAT(repaired.out, ContainsSubstring("It goes on from good@"));
  CHECK_THAT(repaired.out, ContainsSubstring("intact but for 1 record set aside"));
  const Json again = json_of(triage_command({"checkpoint", "verify", path, "--repair", "--json"}));
  CHECK(again["intact"] == true);
  CHECK(again["set_aside"] == 1);
  CHECK(again["repairs"].empty());
  CHECK(triage_command({"checkpoint", "verify", path}).status == 0);
  CHECK_THAT(triage_command({"explain", "--store", path, "good"}).out,
             ContainsSubstring("A repair set 1 lost place aside."));
  CHECK(triage_command({"checkpoint", "verify", folder.file("none.db"), "--repair"}).status == 1);
}

TEST_CASE("an export does not replace a store or a pipe", "[cli][export]") {
  const TempFolder folder;
  const std::string store = folder.file("a.db");
  make_store(store);
  std::filesystem::copy_file(store, folder.file("other.db"));
  std::filesystem::create_symlink("other.db", folder.file("link.db"));
  for (const char* name : {"a.db", "other.db", "link.db"}) {
    const std::string before = read_text(folder.file(name));
    const Printed refused =
        triage_command({"checkpoint", "export", store, "--out", folder.file(name)});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring(name) && ContainsSubstring("SQLite database"));
    CHECK(read_text(folder.file(name)) == before);
  }
  CHECK(std::filesystem::is_symlink(folder.file("link.db")));
  const std::string exported = triage_command({"checkpoint", "export", store}).out;
  const Printed piped = run_program(
      {"/bin/sh", "-c",
       R"(mkfifo "$1" && { timeout 20 cat "$1" & "$0" checkpoint export "$2" --out "$1"; wait; })",
       TRIAGE_COMMAND, folder.file("pipe"), store});
  CHECK(piped.out == exported);
  CHECK(std::filesystem::is_fifo(folder.file("pipe")));
  // As /dev/stdout, but nothing can be put in its place.
  CHECK(triage_command({"checkpoint", "export", store, "--out", "/proc/self/fd/1"}).out ==
        exported);
}

TEST_CASE("an export to a link goes where it leads, whether or not something is there",
          "[cli][export]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  std::filesystem::create_directory(folder.file("there"));
  std::filesystem::create_symlink("there/runs.jsonl", folder.file("link"));
  for (int time = 1; time <= 2; ++time) {
    CHECK(
        triage_command({"checkpoint", "export", folder.file("a.db"), "--out", folder.file("link")})
            .status == 0);
    CHECK(std::filesystem::is_symlink(folder.file("link")));
    CHECK(read_text(folder.file("there/runs.jsonl")) ==
          triage_command({"checkpoint", "export", folder.file("a.db")}).out);
    std::ofstream(folder.file("there/runs.jsonl")) << "old";
  }
}

TEST_CASE("an export leaves what another one to the same file has written so far alone",
          "[cli][export]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  std::filesystem::create_directory(folder.file("there"));
  const std::string file = folder.file("there/runs.jsonl");
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& one : std::filesystem::directory_iterator(folder.file("there"))) {
      found.insert(one.path().filename().string());
    }
    return found;
  };
  // The name that all exports once used.
  std::ofstream(file + ".part") << "half";
  CHECK(triage_command({"checkpoint", "export", folder.file("a.db"), "--out", file}).status == 0);
  CHECK(read_text(file + ".part") == "half");
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(triage_command(
            {"checkpoint", "export", folder.file("a.db"), "--run", "nobody", "--out", file})
            .status == 1);
  CHECK(names() == std::set<std::string>{"runs.jsonl", "runs.jsonl.part"});
}
