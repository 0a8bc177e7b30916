// SPDX-License-Identifier: MIT
// The files of a workspace: kept with the checkpoints of a run, and restored exactly.
#include "supervise/workspace/workspace.hpp"
#include "supervise/room.hpp"
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

TEST_CASE("files come back with their bytes, permissions, links and absences", "[workspace]") {
  const Room room;
  const std::string bytes("a\r\nb\0c\xff\n", 8);
  room.write("sub/data.bin", bytes);
  room.write("run.sh", "#!/bin/sh\n");
  room.write("strange\nname \"ü\"", "x");
  fs::permissions(room.at("run.sh"), static_cast<fs::perms>(0750));
  fs::permissions(room.at("sub/data.bin"), static_cast<fs::perms>(0400));
  fs::create_symlink("nowhere", room.at("link"));
  room.write("folder/file", "f");
  room.write("plain", "p");
  Workspace files = room.open();
  const FilesId then = files.keep().value();

  room.write("a.txt", "two\n");
  room.write("new/deep/file", "new");
  fs::remove_all(room.at("folder"));
  room.write("folder", "a file now");
  fs::remove(room.at("plain"));
  room.write("plain/file", "in a folder now");
  fs::remove(room.at("sub/data.bin"));
  fs::remove(room.at("link"));
  room.write("link", "a file now");
  fs::remove(room.at("strange\nname \"ü\""));
  fs::permissions(room.at("run.sh"), static_cast<fs::perms>(0644));
  REQUIRE(files.keep());
  const Restored restored = files.restore(then).value();

  CHECK(restored.conflicts.empty());
  CHECK(room.read("a.txt") == "one\n");
  CHECK(room.read("sub/data.bin") == bytes);
  CHECK(room.mode("sub/data.bin") == 0400);
  CHECK(room.mode("run.sh") == 0750);
  CHECK(fs::read_symlink(room.at("link")) == "nowhere");
  CHECK(room.read("strange\nname \"ü\"") == "x");
  CHECK(room.read("folder/file") == "f");
  CHECK(room.read("plain") == "p");
  CHECK_FALSE(fs::exists(room.at("new")));
  CHECK(files.keep().value() == then);
}

TEST_CASE("a file that only its owner may read comes back without a moment for others",
          "[workspace]") {
  const Room room;
  const Workshop shop;
  room.write("keys/deep/secret", "s");
  fs::permissions(room.at("keys/deep/secret"), static_cast<fs::perms>(0600));
  room.write("keys/plain", "p");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  const mode_t folder = room.mode("keys/deep");
  fs::remove_all(room.at("keys"));
  REQUIRE(files.keep());
  const std::string path = std::getenv("PATH");
  // Looks as soon as git has written it.
  shop.script("git", "PATH='" + path + "'\ngit \"$@\" || exit\ncase \"$*\" in *checkout-index*)" +
                         " stat -c %a '" + room.at("keys/deep/secret").string() +
                         "' >$W/mode ;; esac");
  ::setenv("PATH", (shop.file("") + ":" + path).c_str(), 1);
  const auto restored = files.restore(then);
  ::setenv("PATH", path.c_str(), 1);
  REQUIRE(restored);
  CHECK(read_text(shop.file("mode")) == "600\n");
  CHECK(room.mode("keys/deep/secret") == 0600);
  CHECK(room.mode("keys/plain") == 0644);
  CHECK(room.mode("keys/deep") == folder);
  CHECK(files.keep().value() == then);
}

TEST_CASE("a folder that became a link comes back, and what the link leads to is left alone",
          "[workspace]") {
  const Room room;
  const TempFolder elsewhere;
  std::ofstream(elsewhere.file("f")) << "theirs";
  room.write("d/f", "ours");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  fs::remove_all(room.at("d"));
  fs::create_symlink(elsewhere.path(), room.at("d"));
  SECTION("as the program left it") { REQUIRE(files.keep()); }
  SECTION("by somebody else") {}
  SECTION("where the link itself is not kept") {
    room.write(".gitignore", "d\n");
    REQUIRE(files.keep());
  }
  REQUIRE(files.restore(then));
  CHECK_FALSE(fs::is_symlink(room.at("d")));
  CHECK(room.read("d/f") == "ours");
  CHECK(read_text(elsewhere.file("f")) == "theirs");
  CHECK(std::distance(fs::directory_iterator(elsewhere.path()), {}) == 1);
}

TEST_CASE("no attribute and no configuration changes a byte", "[workspace]") {
  const Room room;
  room.write(".gitattributes",
             "* text=auto eol=crlf ident filter=lfs working-tree-encoding=UTF-16\n");
  room.write("mixed", "a\r\nb\n$Id$\n");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  room.write("mixed", "else");
  REQUIRE(files.keep());
  REQUIRE(files.restore(then));
  CHECK(room.read("mixed") == "a\r\nb\n$Id$\n");
}

TEST_CASE("the user's own repository, index and stash are not touched", "[workspace]") {
  const Room room;
  REQUIRE(room.git("init") == 0);
  REQUIRE(room.git("add a.txt && git -c user.name=a -c user.email=b commit -m x") == 0);
  room.write("b.txt", "staged");
  REQUIRE(room.git("add b.txt") == 0);
  const auto state = [&room] {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(room.at(".git"))) {
      if (entry.is_regular_file()) all[entry.path().string()] = read_text(entry.path());
    }
    return all;
  };
  const auto before = state();
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  room.write("a.txt", "changed");
  REQUIRE(files.keep());
  REQUIRE(files.restore(then));
  CHECK(room.read("b.txt") == "staged");
  CHECK(state() == before);
}

TEST_CASE("what is ignored stays as it is", "[workspace]") {
  const Room room;
  room.write(".gitignore", "build/\n");
  room.write(".triageignore", "*.secret\n");
  room.write("build/out", "1");
  room.write("key.secret", "1");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  room.write("build/out", "2");
  room.write("key.secret", "2");
  room.write("a.txt", "two");
  REQUIRE(files.keep());
  REQUIRE(files.restore(then));
  CHECK(room.read("build/out") == "2");
  CHECK(room.read("key.secret") == "2");
  CHECK(room.read("a.txt") == "one\n");
}

TEST_CASE("a change by somebody else is kept beside the file that comes back", "[workspace]") {
  const Room room;
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  room.write("a.txt", "by the program");
  REQUIRE(files.keep());
  room.write("a.txt", "by somebody else");
  room.write("theirs.txt", "theirs");
  const Restored restored = files.restore(then).value();
  CHECK(room.read("a.txt") == "one\n");
  CHECK(room.read("a.txt.triage-conflict") == "by somebody else");
  CHECK(room.read("theirs.txt.triage-conflict") == "theirs");
  CHECK(restored.conflicts.size() == 2);
}

TEST_CASE("a restoration that was cut off is finished by the next start", "[workspace]") {
  const Room room;
  for (int i = 0; i < 20; ++i) room.write("f" + std::to_string(i), "then");
  FilesId then;
  {
    Workspace files = room.open();
    then = files.keep().value();
    for (int i = 0; i < 20; ++i) room.write("f" + std::to_string(i), "later");
    room.write("extra", "later");
    REQUIRE(files.keep());
  }
  // The state after a kill: the journal exists, half of the files are restored, the index locked.
  const std::string shadows = room.options().shadows;
  const fs::path shadow = fs::directory_iterator(shadows)->path();
  std::string index;
  for (const auto& entry : fs::directory_iterator(shadow)) {
    if (entry.path().filename().string().starts_with("index-")) index = entry.path().string();
  }
  REQUIRE_FALSE(index.empty());
  std::ofstream(index + ".restoring") << then << "\n";
  std::ofstream(index + ".lock") << "half";
  for (int i = 0; i < 10; ++i) room.write("f" + std::to_string(i), "then");
  fs::remove(room.at("f11"));
  // What somebody has changed since is not lost.
  room.write("f5", "by hand");
  room.write("f15", "by hand");
  room.write("extra", "by hand");
  Workspace files = room.open();
  CHECK(files.completed().conflicts.size() == 3);
  for (const char* changed : {"f5", "f15", "extra"}) {
    CHECK(room.read(std::string(changed) + ".triage-conflict") == "by hand");
    fs::remove(room.at(std::string(changed) + ".triage-conflict"));
  }
  for (int i = 0; i < 20; ++i) CHECK(room.read("f" + std::to_string(i)) == "then");
  CHECK_FALSE(fs::exists(room.at("extra")));
  CHECK_FALSE(fs::exists(index + ".restoring"));
  CHECK(files.keep().value() == then);
}

TEST_CASE("home folders and the root are no workspaces", "[workspace]") {
  const Room room;
  CHECK(check_workspace(room.tree()).has_value());
  CHECK(check_workspace("/").error().code == Errc::invalid_argument);
  CHECK(check_workspace(std::getenv("HOME")).error().code == Errc::invalid_argument);
  CHECK(check_workspace(fs::path(std::getenv("HOME")) / "..").error().code ==
        Errc::invalid_argument);
  CHECK(check_workspace(room.at("a.txt")).error().code == Errc::not_found);
  CHECK(check_workspace(room.at("none")).error().code == Errc::not_found);
}

TEST_CASE("a rollback brings the files of a run back, and a retry leaves them", "[workspace]") {
  const Room room;
  const Workshop shop;
  ::setenv("XDG_STATE_HOME", shop.file("state").c_str(), 1);
  std::ofstream(shop.file("policy")) << R"({"default": "rollback"})";
  const std::string tree = room.tree().string();
  const std::string program =
      shop.script("a", "cd '" + tree + "'\nTRIAGE='" + TRIAGE_COMMAND +
                           "'\n[ $TRIAGE_ATTEMPT -gt 1 ] && { cat a.txt; exit 0; }\n"
                           "echo kept > a.txt; $TRIAGE step first || exit 9\n"
                           "echo spoilt > a.txt; echo x > b.txt\n$TRIAGE step second || exit 9\n"
                           "echo gone > a.txt\nexit 1");
  const Printed back = shop.run(
      {"--workspace", tree, "--run", "ws.back", "--policy", shop.file("policy")}, {program});
  INFO(back.error);
  CHECK(back.status == 0);
  CHECK((back.out == "kept\n" || back.out == "spoilt\n"));
  const Printed stays = shop.run({"--workspace", tree, "--run", "ws.stays"}, {program});
  CHECK(stays.out == "gone\n");
  CHECK(shop.run({"--workspace", "/"}, {"true"}).status == 2);
  auto without_git = shop.run_line({"--workspace", tree, "--run", "no.git"}, {"/bin/true"});
  without_git.insert(without_git.begin(), {"/usr/bin/env", "PATH=/nonexistent"});
  const Printed refused = run_program(without_git);
  CHECK(refused.status == 9);
  CHECK(refused.error == "triage: a workspace needs git, which is not in the PATH\n");
  ::unsetenv("XDG_STATE_HOME");
}

TEST_CASE("a branch brings the files back as they were at its checkpoint", "[workspace]") {
  const Room room;
  const Workshop shop;
  ::setenv("XDG_STATE_HOME", shop.file("state").c_str(), 1);
  const std::string tree = room.tree().string();
  const std::string program = shop.script(
      "a",
      "cd '" + tree + "'\nTRIAGE='" + TRIAGE_COMMAND +
          "'\nif [ -n \"$TRIAGE_RECOVERY\" ]; then cat a.txt; ls b.txt; exit 0; fi\n"
          "echo kept > a.txt; $TRIAGE step first || exit 9\n"
          "echo named > a.txt; $TRIAGE checkpoint label here || exit 9\n"
          "echo later > a.txt; echo x > b.txt\n$TRIAGE step second || exit 9\necho gone > a.txt");
  REQUIRE(shop.run({"--workspace", tree, "--run", "ws"}, {program}).status == 0);
  const auto store = SqliteStore::open(shop.store()).value();
  std::string step;
  std::string label;
  std::string start;
  const auto checkpoints = store->checkpoints("ws").value();
  for (const CheckpointInfo& one : checkpoints) {
    if (one.label == "here") label = to_string(one.id);
    if (one.label.empty() && one.steps == 1 && step.empty()) step = to_string(one.id);
    if (one.steps == 0 && start.empty()) start = to_string(one.id);
  }
  const auto at = [&](const std::string& checkpoint) {
    const Printed printed = shop.triage({"fork", checkpoint});
    INFO(checkpoint << ": " << printed.error);
    CHECK_THAT(printed.error, !ContainsSubstring("no files are kept"));
    return printed.out;
  };
  CHECK(at(label) == "named\n");
  CHECK(at(start) == "one\n");
  if (!step.empty()) CHECK((at(step) == "kept\n" || at(step) == "named\n"));
  ::unsetenv("XDG_STATE_HOME");
}

// Only on request: `supervise_tests "[.figure]"` prints the figures of docs/agents.md.
TEST_CASE("what keeping 10,000 files takes of which 100 have changed", "[.figure]") {
  const Room room;
  for (int i = 0; i < 10'000; ++i) {
    room.write("d" + std::to_string(i % 100) + "/f" + std::to_string(i), std::to_string(i));
  }
  REQUIRE(room.git("init && git add -A") == 0);
  Workspace files = room.open();
  REQUIRE(files.keep());
  using Clock = std::chrono::steady_clock;
  std::vector<double> beyond;
  for (int round = 0; round < 9; ++round) {
    for (int i = 0; i < 100; ++i) {
      room.write("d" + std::to_string(i) + "/f" + std::to_string(i),
                 std::to_string(round * 1000 + i));
    }
    const auto begin = Clock::now();
    REQUIRE(room.git("status --porcelain") == 0);
    const auto between = Clock::now();
    REQUIRE(files.keep());
    const auto end = Clock::now();
    const std::chrono::duration<double, std::milli> status = between - begin;
    const std::chrono::duration<double, std::milli> kept = end - between;
    std::printf("git status %.1f ms, keep %.1f ms\n", status.count(), kept.count());
    beyond.push_back(kept.count() - status.count());
  }
  std::sort(beyond.begin(), beyond.end());
  std::printf("beyond git status: median %.1f ms\n", beyond[beyond.size() / 2]);
}

TEST_CASE("a rollback whose supervisor is killed before it restores the files is made up for",
          "[workspace]") {
  const Workshop shop;
  fs::create_directories(shop.file("tree"));
  fs::create_directories(shop.file("bin"));
  std::ofstream(shop.file("p.json"))
      << R"({"default": {"strategy": "rollback", "latest": true, "or_start": true}})";
  // Kills its caller when that begins to restore.
  shop.script(
      "bin/git",
      "case \"$*\" in *'cat-file -e'*) [ -e $W/armed ] && rm $W/armed && kill -KILL $PPID ;; "
      "esac\nPATH=${PATH#*:} exec git \"$@\"");
  const std::string program =
      shop.script("a", "[ $TRIAGE_ATTEMPT = 1 ] || exec cat $W/tree/f\necho good > $W/tree/f\n" +
                           std::string(TRIAGE_COMMAND) +
                           " checkpoint label here\necho bad > $W/tree/f\n: > $W/armed\n"
                           "echo HTTP 503 >&2\nexit 1");
  std::vector<std::string> line{"/bin/sh", "-c", "PATH=" + shop.file("bin") + ":$PATH exec \"$@\"",
                                "sh"};
  const auto run = shop.run_line(
      {"--run", "r", "--workspace", shop.file("tree"), "--policy", shop.file("p.json")}, {program});
  line.insert(line.end(), run.begin(), run.end());
  CHECK(run_program(line).status == 128 + SIGKILL);
  CHECK(read_text(shop.file("tree/f")) == "bad\n");
  const Printed resumed = shop.triage({"resume", "r"});
  INFO(resumed.error);
  CHECK(resumed.out == "good\n");
}
