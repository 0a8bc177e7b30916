// SPDX-License-Identifier: MIT
// Which files a supervised program finds after a rollback or in a branch, and where.
#include "supervise/running.hpp"
#include "supervise/workspace/git.hpp"
#include "supervise/workspace/shadow.hpp"

#include "triage/json.hpp"

#include "support/catch.hpp"

#include <set>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

namespace {

// A workshop with the workspace $W/tree and a policy that rolls every failure back.
class Tree : public Workshop {
 public:
  explicit Tree(const std::string& strategy = R"({"strategy": "rollback", "or_start": true})") {
    fs::create_directories(file("tree"));
    ::setenv("XDG_STATE_HOME", file("state").c_str(), 1);
    std::ofstream(file("policy")) << R"({"default": )" << strategy << "}";
  }
  ~Tree() { ::unsetenv("XDG_STATE_HOME"); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // Runs in the folder of the run, with the command as $T.
  [[nodiscard]] std::string program(const std::string& text) const {
    return script("a", std::string("T='") + TRIAGE_COMMAND + "'\n" + text);
  }
  [[nodiscard]] Printed run_here(std::vector<std::string> options,
                                 const std::string& program) const {
    options.insert(options.end(), {"--run", "r", "--workspace", file("tree")});
    return run(options, {program});
  }
};

}  // namespace

TEST_CASE("each checkpoint of a label has its own files", "[workspace]") {
  const Tree tree;
  const std::string program = tree.program(
      "cd $W/tree\n[ -n \"$TRIAGE_RECOVERY\" ] && exec cat page\n"
      "for i in 1 2 3; do echo \"page $i\" > page; $T state set n=$i\n"
      "$T checkpoint label saved || exit 9; done");
  REQUIRE(tree.run_here({}, program).status == 0);
  const auto store = SqliteStore::open(tree.store()).value();
  const JournalReading reading = store->read("r", {}).value();
  std::vector<std::string> labelled;
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::checkpoint_labelled) continue;
    if (record.body().value().value("label", std::string()) == "saved") {
      labelled.push_back(to_string(CheckpointId{"r", record.seq()}));
    }
  }
  REQUIRE(labelled.size() == 3);
  for (std::size_t i = 0; i < labelled.size(); ++i) {
    const Printed branch = tree.triage({"fork", labelled[i]});
    INFO(branch.error);
    CHECK(branch.out == "page " + std::to_string(i + 1) + "\n");
    // What a branch has left is not taken for a change by others.
    CHECK_THAT(branch.error, !ContainsSubstring("conflict"));
  }
}

TEST_CASE("what a branch has left in a later attempt is not taken for a change by others",
          "[workspace]") {
  const Tree tree(R"("retry")");
  const std::string program = tree.program(
      "cd $W/tree\n"
      "[ -n \"$TRIAGE_RECOVERY\" ] || { echo base > page; exec $T checkpoint label saved; }\n"
      "echo \"attempt $TRIAGE_ATTEMPT\" > page; [ -e $W/failed ] && exit 0\n"
      ": > $W/failed; echo x; exit 1");
  REQUIRE(tree.run_here({"--policy", tree.file("policy")}, program).status == 0);
  const auto all = SqliteStore::open(tree.store()).value()->checkpoints("r").value();
  const auto saved = std::find_if(all.begin(), all.end(),
                                  [](const CheckpointInfo& one) { return one.label == "saved"; });
  REQUIRE(saved != all.end());
  const Printed first = tree.triage({"fork", to_string(saved->id)});
  INFO(first.error);
  CHECK_THAT(first.error, ContainsSubstring("attempt 1 failed"));
  CHECK(first.status == 0);
  const Printed second = tree.triage({"fork", to_string(saved->id)});
  INFO(second.error);
  CHECK(second.status == 0);
  CHECK_THAT(second.error, !ContainsSubstring("conflict"));
}

TEST_CASE("a checkpoint without files of its own has those that were kept last before it",
          "[workspace]") {
  const Tree tree;
  const std::string program = tree.program(
      "cd $W/tree\nif [ $TRIAGE_ATTEMPT = 1 ]; then for i in 1 2 3; do\n"
      "echo \"page $i\" > page; $T state set n=$i; $T checkpoint label saved; done\n"
      "else echo \"state $($T state get n), file $(cat page)\"; fi\n"
      "[ $TRIAGE_ATTEMPT = 4 ] || { echo HTTP 503 >&2; exit 1; }");
  const Printed ran = tree.run_here({"--policy", tree.file("policy")}, program);
  INFO(ran.error);
  // The state of the second one was acknowledged before its files were kept with the label.
  CHECK(ran.out == "state 3, file page 3\nstate 3, file page 2\nstate 2, file page 2\n");
}

TEST_CASE("what was undone is not looked at for the files of a checkpoint", "[workspace]") {
  const Tree tree(R"({"strategy": "rollback", "label": "first"})");
  const std::string program = tree.program(
      "cd $W/tree\n[ -n \"$TRIAGE_RECOVERY\" ] && exec cat page\n"
      "echo first > page; $T checkpoint label first\n"
      "echo undone > page; $T step undone; echo HTTP 503 >&2; exit 1");
  const Printed ran = tree.run_here({"--policy", tree.file("policy")}, program);
  INFO(ran.error);
  CHECK(ran.out == "first\n");
  // Made by the second attempt.
  const auto newest = SqliteStore::open(tree.store()).value()->checkpoints("r").value().back();
  CHECK(newest.attempt == 2);
  CHECK(tree.triage({"fork", to_string(newest.id)}).out == "first\n");
}

TEST_CASE("a rollback leaves the folder that the program runs in", "[workspace]") {
  const Tree tree(R"({"strategy": "rollback", "label": "base", "or_start": true})");
  fs::create_directories(tree.file("tree/build"));
  const std::string program = tree.program(
      "[ $TRIAGE_ATTEMPT = 1 ] || { ls; exit 0; }\n"
      "$T checkpoint label base; echo x > out.o; echo HTTP 503 >&2; exit 1");
  auto line = tree.run_line({"--workspace", "..", "--policy", tree.file("policy")}, {program});
  line.insert(line.begin(),
              {"/bin/sh", "-c", "cd '" + tree.file("tree/build") + "' && exec \"$@\"", "sh"});
  const Printed ran = run_program(line);
  INFO(ran.error);
  CHECK(ran.status == 0);
  CHECK(ran.out.empty());
}

TEST_CASE("a workspace that the program removed comes back with a rollback, and ends a run without",
          "[workspace]") {
  const Tree tree(R"({"strategy": "rollback", "label": "base", "or_start": true})");
  std::ofstream(tree.file("tree/f")) << "kept\n";
  const std::string program = tree.program(
      "[ $TRIAGE_ATTEMPT = 1 ] || exec cat $W/tree/f\n"
      "$T checkpoint label base; rm -r $W/tree; echo HTTP 503 >&2; exit 1");
  SECTION("with") {
    const Printed ran = tree.run_here({"--policy", tree.file("policy")}, program);
    INFO(ran.error);
    CHECK(ran.out == "kept\n");
    CHECK_THAT(ran.error, ContainsSubstring("tree\" is gone") && !ContainsSubstring("git") &&
                              !ContainsSubstring("no files are kept"));
  }
  SECTION("without") {
    const Printed ran = tree.run_here({}, program);
    INFO(ran.error);
    CHECK(ran.status == 126);
    CHECK_THAT(ran.error, ContainsSubstring("attempt 2 failed: unknown (not_executed)") &&
                              ContainsSubstring("is gone") && !ContainsSubstring("attempt 3"));
  }
}

TEST_CASE("the metadata of a step is kept beside its files", "[workspace]") {
  const Tree tree;
  const std::string program = tree.program(
      "echo '{\"step\": {\"action\": \"x\", \"metadata\": \"my note\"}}' >&$TRIAGE_FD\n"
      "echo '{\"step\": {\"action\": \"y\", \"metadata\": "
      "{\"files\": [\"a.c\"], \"k\": 1}}}' >&$TRIAGE_FD");
  REQUIRE(tree.run_here({}, program).status == 0);
  const auto store = SqliteStore::open(tree.store()).value();
  const JournalReading reading = store->read("r", {}).value();
  std::vector<Json> metadata;
  for (const Record& record : reading.records) {
    if (record.kind() == RecordKind::step) metadata.push_back(record.step().value().metadata);
  }
  REQUIRE(metadata.size() == 2);
  CHECK(metadata[0]["value"] == "my note");
  CHECK(metadata[1]["files"] == Json{"a.c"});
  CHECK(metadata[1]["k"] == 1);
  for (const Json& one : metadata) CHECK(one["triage/files"].is_string());
}

TEST_CASE("a run with the name of one that is gone begins with the files of today", "[workspace]") {
  const Tree tree(R"({"strategy": "rollback", "label": "no such", "or_start": true})");
  const std::string program = tree.program(
      "cd $W/tree\n[ $TRIAGE_ATTEMPT = 1 ] || exec cat f\n"
      "echo spoilt > f; echo HTTP 503 >&2; exit 1");
  const auto begin = [&](const std::string& text) {
    std::ofstream(tree.file("tree/f")) << text;
    return tree.run_here({"--policy", tree.file("policy")}, program);
  };
  CHECK(begin("yesterday\n").out == "yesterday\n");
  for (const char* companion : {"", "-wal", "-shm"}) fs::remove(tree.store() + companion);
  // Its supervisor died in a restoration.
  const fs::path shadow = fs::directory_iterator(tree.file("state/triage/workspaces"))->path();
  std::string newest;
  for (const auto& entry : fs::directory_iterator(shadow / "refs" / shadow_name("r"))) {
    if (entry.path().filename() == "newest") newest = read_text(entry.path());
  }
  REQUIRE_FALSE(newest.empty());
  std::ofstream(index_of(shadow, shadow_name("r")) + ".restoring") << newest;
  const Printed today = begin("today\n");
  INFO(today.error);
  CHECK(today.out == "today\n");
  CHECK_THAT(today.error, !ContainsSubstring("conflict"));
}

TEST_CASE("a store in the workspace is no part of it, however it is named", "[workspace]") {
  const Tree tree;
  const std::string program =
      tree.program("[ $TRIAGE_ATTEMPT = 1 ] || exec ls\n$T step one; echo HTTP 503 >&2; exit 1");
  const char* scheme = GENERATE("", "sqlite:", "sqlite://", "file:", "file://");
  const std::string store = scheme + std::string("runs.here");
  const Printed ran = run_program({"/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh",
                                   tree.file("tree"), TRIAGE_COMMAND, "run", "--store", store,
                                   "--workspace", ".", "--policy", tree.file("policy"), program});
  INFO(scheme << ran.error);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, ContainsSubstring("runs.here") && !ContainsSubstring("conflict"));
  const fs::path shadow = fs::directory_iterator(tree.file("state/triage/workspaces"))->path();
  const auto kept = run_git({.repository = shadow, .index = shadow / "index"},
                            {"log", "--all", "--name-only", "--format="});
  REQUIRE(kept);
  CHECK_THAT(kept.value(), !ContainsSubstring("runs.here"));
}

TEST_CASE("a state whose files could not be kept gets no older ones", "[workspace]") {
  const Tree tree;
  const std::string after = GENERATE("step two", "checkpoint label two");
  // Git refuses to work where another one seems to be at work.
  const std::string program = tree.program(
      "cd $W/tree\n[ -n \"$TRIAGE_RECOVERY\" ] && exec cat f\n"
      "echo one > f; $T step one; $T state set page=1\n"
      "for index in $W/state/triage/workspaces/*/index-*; do lock=$index.lock; done\n"
      "echo two > f; : > $lock; $T state set page=2; $T " +
      after +
      "\nrm $lock; echo three > f; $T step --error broken three; echo HTTP 503 >&2; exit 1");
  const Printed ran = tree.run_here({"--policy", tree.file("policy")}, program);
  INFO(ran.error);
  CHECK_THAT(ran.error, ContainsSubstring("the files of the workspace were not kept"));
  CHECK_THAT(ran.error, ContainsSubstring("could not be kept when it was made"));
  CHECK(ran.out.empty());
  CHECK(ran.status == 126);
}

TEST_CASE("a label whose maker was killed before its files were named has them", "[workspace]") {
  const Tree tree(R"({"strategy": "rollback", "label": "saved"})");
  const std::string program = tree.program(
      "cd $W/tree\n[ -n \"$TRIAGE_RECOVERY\" ] && exec cat f\n"
      "echo one > f; $T step one; echo two > f; $T checkpoint label saved\n"
      "rm $W/state/triage/workspaces/*/refs/*/at-*\n"
      "echo three > f; echo HTTP 503 >&2; exit 1");
  const Printed ran = tree.run_here({"--policy", tree.file("policy")}, program);
  INFO(ran.error);
  CHECK(ran.out == "two\n");
}

TEST_CASE("patterns of secrets leave a workspace its files", "[workspace][redaction]") {
  const Tree tree;
  const std::string program = tree.program(
      "cd $W/tree\n[ -n \"$TRIAGE_RECOVERY\" ] && exec cat f\n"
      "echo good > f; $T step one; echo bad > f; $T step --error broken two\n"
      "echo HTTP 503 >&2; exit 1");
  const Printed ran =
      tree.run_here({"--policy", tree.file("policy"), "--redact-pattern", "[0-9a-f]{40}"}, program);
  INFO(ran.error);
  CHECK(ran.out == "good\n");
  CHECK(ran.status == 0);
}

TEST_CASE("a stop is heard while the files of a workspace are kept", "[workspace][signals]") {
  const Tree tree;
  tree.script("git", "echo begun > $W/told; exec sleep 1000");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (tree.file("") + ":" + path).c_str(), 1);
  Beside running(tree.run_line({"--run", "r", "--workspace", tree.file("tree")}, {"true"}));
  ::setenv("PATH", path.c_str(), 1);
  CHECK(tree.next_word() == "begun");
  running.signal(SIGTERM);
  CHECK(running.wait() == 128 + SIGTERM);
  CHECK_THAT(tree.triage({"runs"}).out, ContainsSubstring("cancelled"));
}
