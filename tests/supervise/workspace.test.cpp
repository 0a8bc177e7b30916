// SPDX-License-Identifier: MIT
// The files of a workspace: kept with the checkpoints of a run, and restored exactly.
#include "supervise/workspace/workspace.hpp"
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>

#include <sys/socket.h>
#include <sys/un.h>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace {

namespace fs = std::filesystem;

class Room {
 public:
  Room() {
    fs::create_directories(tree());
    write("a.txt", "one\n");
  }
  [[nodiscard]] fs::path tree() const { return folder_.path() / "tree"; }
  [[nodiscard]] fs::path at(const std::string& name) const { return tree() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary | std::ios::trunc) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const { return read_text(at(name)); }
  [[nodiscard]] mode_t mode(const std::string& name) const {
    struct stat found {};
    REQUIRE(::lstat(at(name).c_str(), &found) == 0);
    return found.st_mode & 07777U;
  }
  [[nodiscard]] WorkspaceOptions options() const {
    return {.folder = fs::canonical(tree()), .shadows = folder_.file("shadows"), .run = "r"};
  }
  [[nodiscard]] Workspace open() const { return Workspace::open(options()).value(); }
  [[nodiscard]] int git(const std::string& command) const {
    const std::string line = "cd '" + tree().string() + "' && git -c user.name=a -c user.email=b " +
                             command + " >/dev/null 2>&1";
    return std::system(line.c_str());
  }

 private:
  TempFolder folder_{};
};

}  // namespace

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

TEST_CASE("sockets, pipes and files that are too large are left out", "[workspace]") {
  const Room room;
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const fs::path before = fs::current_path();
  fs::current_path(room.tree());  // Socket paths must be short.
  std::string("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const int bound = ::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  fs::current_path(before);
  REQUIRE(bound == 0);
  ::close(file);
  REQUIRE(::mkfifo(room.at("pipe").c_str(), 0600) == 0);
  room.write("huge", "");
  fs::resize_file(room.at("huge"), 5ULL << 30U);  // Sparse: it has no blocks.
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  CHECK(files.too_large() == std::set<std::string>{"huge"});
  room.write("a.txt", "two");
  REQUIRE(files.keep());
  REQUIRE(files.restore(then));
  CHECK(fs::file_size(room.at("huge")) == 5ULL << 30U);
  CHECK(fs::is_socket(room.at("socket")));
}

TEST_CASE("a file that became too large is not lost when an older one comes back", "[workspace]") {
  const Room room;
  WorkspaceOptions options = room.options();
  options.largest_file = 10;
  Workspace files = Workspace::open(options).value();
  const FilesId then = files.keep().value();
  room.write("a.txt", "longer than ten bytes\n");
  CHECK(files.keep().value() == then);
  CHECK(files.restore(then).value().conflicts.size() == 1);
  CHECK(room.read("a.txt") == "one\n");
  CHECK(room.read("a.txt.triage-conflict") == "longer than ten bytes\n");
  CHECK(files.restore(then).value().conflicts.empty());
}

TEST_CASE("a file that cannot be read is left out, and not lost when an older one comes back",
          "[workspace]") {
  const Room room;
  room.write("b.txt", "two\n");
  const std::string path = room.tree().parent_path();
  REQUIRE(std::system(("chown -R 65534 '" + path + "' 2>/dev/null; true").c_str()) == 0);
  // Nothing is unreadable for root.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    const WorkspaceOptions options = room.options();
    auto files = Workspace::open(options);
    const auto then = files ? files.value().keep() : files.error();
    if (!then) ::_exit(2);
    room.write("a.txt", "changed\n");
    fs::permissions(room.at("a.txt"), fs::perms::none);
    const auto now = files.value().keep();
    if (!now || files.value().unreadable() != std::set<std::string>{"a.txt"}) ::_exit(3);
    const auto restored = files.value().restore(then.value());
    if (!restored || restored.value().conflicts.size() != 1) ::_exit(4);
    ::_exit(room.read("a.txt") == "one\n" ? 0 : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(room.read("a.txt.triage-conflict") == "changed\n");
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
  shop.script("bin/git",
              "case \"$*\" in *cat-file*) [ -e $W/armed ] && rm $W/armed && kill -KILL $PPID ;; "
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
