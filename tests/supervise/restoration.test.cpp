// SPDX-License-Identifier: MIT
// A restoration loses nothing that is not among the kept files.
#include "supervise/process/file_descriptor.hpp"
#include "supervise/room.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

namespace {

Workspace open_as(const Room& room, const std::string& run) {
  WorkspaceOptions options = room.options();
  options.run = run;
  return Workspace::open(options).value();
}

// Whether a file of the folder has that text.
bool is_there(const Room& room, const std::string& text) {
  const auto files = fs::recursive_directory_iterator(room.tree());
  return std::any_of(begin(files), end(files), [&text](const fs::directory_entry& entry) {
    return entry.is_regular_file() && read_text(entry.path()) == text;
  });
}

}  // namespace

TEST_CASE("what was there without being kept stays, whatever the program does to the reason",
          "[workspace]") {
  const Room room;
  WorkspaceOptions options = room.options();
  options.largest_file = 50;
  room.write(".gitignore", ".env\nnode_modules/\n");
  room.write(".env", "SECRET=1");
  room.write("node_modules/m/m.js", "m");
  room.write("venv/.gitignore", "*\n");  // Which is ignored itself.
  room.write("venv/bin/python", "p");
  room.write("vendor/lib.c", "lib");
  REQUIRE(room.git("init vendor") == 0);
  room.write("big.log", std::string(100, 'l'));
  Workspace files = Workspace::open(options).value();
  const FilesId then = files.keep().value();

  room.write(".gitignore", "*.o\n");
  fs::remove(room.at("venv/.gitignore"));
  fs::remove_all(room.at("vendor/.git"));
  room.write("big.log", "short now");
  room.write("new.c", "by the program");
  REQUIRE(files.keep());
  const Restored restored = files.restore(then).value();

  CHECK(restored.conflicts.empty());
  CHECK(room.read(".env") == "SECRET=1");
  CHECK(room.read("node_modules/m/m.js") == "m");
  CHECK(room.read("venv/bin/python") == "p");
  CHECK(room.read("vendor/lib.c") == "lib");
  CHECK(room.read("big.log") == "short now");
  CHECK(room.read(".gitignore") == ".env\nnode_modules/\n");
  CHECK_FALSE(fs::exists(room.at("new.c")));
}

TEST_CASE("a folder that could not be read stays when it can be", "[workspace]") {
  const Room room;
  room.write("locked/f", "theirs");
  const std::string path = room.tree().parent_path();
  REQUIRE(std::system(("chown -R 65534 '" + path + "' 2>/dev/null; true").c_str()) == 0);
  const pid_t child = ::fork();  // Nothing is unreadable for root.
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    fs::permissions(room.at("locked"), fs::perms::none);
    auto files = Workspace::open(room.options());
    const auto then = files ? files.value().keep() : files.error();
    if (!then) ::_exit(2);
    fs::permissions(room.at("locked"), fs::perms::owner_all);
    if (!files.value().keep() || !files.value().restore(then.value())) ::_exit(3);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(room.read("locked/f") == "theirs");
}

TEST_CASE("a conflict outlives the restorations after it", "[workspace]") {
  const Room room;
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  room.write("a.txt", "by somebody else");
  REQUIRE(files.restore(then).value().conflicts.size() == 1);
  for (int attempt = 2; attempt < 4; ++attempt) {
    room.write("a.txt", "by the program");
    REQUIRE(files.keep());
    CHECK(files.restore(then).value().conflicts.empty());
    CHECK(room.read("a.txt") == "one\n");
    CHECK(room.read("a.txt.triage-conflict") == "by somebody else");
  }
}

TEST_CASE("a conflict in a file with a very long name is kept beside it", "[workspace]") {
  const Room room;
  const std::string name(255, 'n');
  room.write(name, "then");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  for (int round = 1; round < 3; ++round) {
    room.write(name, "by somebody else");
    const Restored restored = files.restore(then).value();
    REQUIRE(restored.conflicts.size() == 1);
    CHECK(read_text(restored.conflicts[0]) == "by somebody else");
    CHECK(room.read(name) == "then");
    // It is a conflict from now on.
    CHECK(files.keep().value() == then);
  }
}

TEST_CASE("a branch keeps beside the files what others changed since its origin's end",
          "[workspace]") {
  const Room room;
  room.write("build/out", "kept before it was ignored");
  Workspace origin = open_as(room, "origin");
  const FilesId then = origin.keep().value();
  room.write("a.txt", "by the program");
  room.write("b.txt", "by the program");
  room.write(".gitignore", "build/\n");
  REQUIRE(origin.keep());
  Workspace branch = open_as(room, "branch");

  SECTION("if nobody did") {
    CHECK(branch.restore(then, "origin").value().conflicts.empty());
    CHECK_FALSE(fs::exists(room.at("b.txt")));
  }
  SECTION("if somebody did") {
    room.write("a.txt", "precious");
    room.write("notes/new.txt", "notes");
    CHECK(branch.restore(then, "origin").value().conflicts.size() == 2);
    CHECK(room.read("a.txt.triage-conflict") == "precious");
    CHECK(room.read("notes/new.txt.triage-conflict") == "notes");
    CHECK_FALSE(fs::exists(room.at("b.txt")));
  }
  SECTION("all of it, if nobody knows what the origin has left") {
    CHECK(branch.restore(then, "unknown").value().conflicts.size() >= 3);
    CHECK(room.read("a.txt.triage-conflict") == "by the program");
    CHECK(room.read("b.txt.triage-conflict") == "by the program");
  }
  SECTION("but not in a copy that is nobody else's") {
    WorkspaceOptions options = room.options();
    options.run = "copy";
    options.shared = false;
    room.write("a.txt", "precious");
    Workspace copy = Workspace::open(options).value();
    CHECK(copy.restore(then, "origin").value().conflicts.empty());
  }
  CHECK(room.read("a.txt") == "one\n");
  CHECK(room.read("build/out") == "kept before it was ignored");
}

TEST_CASE("what lies in the way of a file that comes back is moved aside", "[workspace]") {
  const Room room;
  room.write(".gitignore", "ignored/\nout/\n");
  room.write("out", "a file");
  room.write("sub/file", "s");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  fs::remove(room.at("out"));
  fs::remove_all(room.at("sub"));
  SECTION("made after the attempt") {
    REQUIRE(files.keep());
    room.write("out/mine", "mine");
    REQUIRE(::mkfifo(room.at("sub").c_str(), 0600) == 0);
  }
  SECTION("made before its end") {
    room.write("out/mine", "mine");
    REQUIRE(::mkfifo(room.at("sub").c_str(), 0600) == 0);
    REQUIRE(files.keep());
  }
  CHECK(files.restore(then).value().conflicts.size() == 2);
  CHECK(room.read("out") == "a file");
  CHECK(room.read("sub/file") == "s");
  CHECK(room.read("out.triage-conflict/mine") == "mine");
  CHECK(fs::is_fifo(room.at("sub.triage-conflict")));
}

TEST_CASE("a file that outgrew the limit after it was made is moved aside, not removed",
          "[workspace]") {
  const Room room;
  WorkspaceOptions options = room.options();
  options.largest_file = 10;
  Workspace files = Workspace::open(options).value();
  const FilesId then = files.keep().value();
  room.write("log", "short");
  REQUIRE(files.keep());
  room.write("log", "longer than ten bytes");
  REQUIRE(files.keep());
  CHECK(files.restore(then).value().conflicts.size() == 1);
  CHECK_FALSE(fs::exists(room.at("log")));
  CHECK(room.read("log.triage-conflict") == "longer than ten bytes");
}

TEST_CASE("empty folders stay, or come back, and what was written into them goes", "[workspace]") {
  const Room room;
  fs::create_directories(room.at("build/deep"));
  fs::create_directories(room.at("logs"));
  room.write("src/a.c", "a");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  // A shell may stand in them: they must be the same folders.
  std::vector<FileDescriptor> stood_in;
  for (const char* name : {"build", "build/deep", "src"}) {
    stood_in.emplace_back(::open(room.at(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  room.write("build/deep/out.o", "o");
  fs::remove(room.at("logs"));
  fs::remove(room.at("src/a.c"));
  room.write("src/b.c", "b");
  room.write("fresh/file", "f");
  REQUIRE(files.keep());
  REQUIRE(files.restore(then));
  for (const FileDescriptor& folder : stood_in) {
    struct stat found {};
    REQUIRE(::fstat(folder.get(), &found) == 0);
    CHECK(found.st_nlink > 0);
  }
  CHECK(fs::is_empty(room.at("build/deep")));
  CHECK(fs::is_directory(room.at("logs")));
  CHECK(room.read("src/a.c") == "a");
  CHECK_FALSE(fs::exists(room.at("src/b.c")));
  CHECK_FALSE(fs::exists(room.at("fresh")));
  CHECK(files.keep().value() == then);
}

TEST_CASE("a workspace that was removed comes back", "[workspace]") {
  const Room room;
  room.write("sub/file", "s");
  Workspace files = room.open();
  const FilesId then = files.keep().value();
  const std::string folder = room.options().folder;
  fs::remove_all(room.tree());
  const auto gone = files.keep();
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Errc::not_found);
  CHECK(gone.error().detail == "the workspace \"" + folder + "\" is gone");
  REQUIRE(files.restore(then));
  CHECK(room.read("sub/file") == "s");
  CHECK(room.read("a.txt") == "one\n");
}

TEST_CASE("runs that begin in a new workspace at the same time do not disturb each other",
          "[workspace]") {
  const Room room;
  std::atomic<int> ready{0};
  constexpr int runs = 6;
  std::vector<std::string> wrong(runs);
  std::vector<std::jthread> threads;
  for (int i = 0; i < runs; ++i) {
    threads.emplace_back([&, i] {
      WorkspaceOptions options = room.options();
      options.run = std::to_string(i);
      ++ready;
      while (ready < runs) std::this_thread::yield();
      auto files = Workspace::open(options);
      const auto kept = files ? files.value().keep() : files.error();
      if (!kept) wrong[static_cast<std::size_t>(i)] = kept.error().detail;
    });
  }
  threads.clear();
  for (const std::string& text : wrong) CHECK(text.empty());
}

TEST_CASE("what somebody saves while files are restored is not lost", "[workspace]") {
  const bool cut_off = GENERATE(false, true);
  const std::vector<std::string> names{"a.txt", "gone", "new", "same"};
  const Room room;
  room.write("gone", "then");
  room.write("same", "then");
  bool armed = false;
  int moment = 0;
  int looks = 0;
  const auto saved = [&moment](const std::string& name) {
    return name + " as somebody saved it at moment " + std::to_string(moment);
  };
  WorkspaceOptions options = room.options();
  options.watch.meanwhile = [&]() -> Result<void> {
    if (!armed || ++looks <= moment) return outcome::success();
    armed = false;
    for (const std::string& name : names) room.write(name, saved(name));
    return cut_off ? Result<void>(Error{Errc::io, "cut off"}) : outcome::success();
  };
  Workspace files = Workspace::open(options).value();
  const FilesId then = files.keep().value();
  do {
    INFO("moment " << ++moment);
    room.write("a.txt", "by the program");
    fs::remove(room.at("gone"));
    room.write("new", "by the program");
    REQUIRE(files.keep());
    looks = 0;
    armed = true;
    const auto restored = files.restore(then);
    const bool over = std::exchange(armed, false);
    CHECK((restored.has_value() || cut_off));
    for (const std::string& name : names) CHECK((over || is_there(room, saved(name))));
    if (over) break;
    files = Workspace::open(options).value();
    REQUIRE(files.restore(then));
    for (const std::string& name : names) CHECK(is_there(room, saved(name)));
    CHECK(room.read("a.txt") == "one\n");
    CHECK(room.read("gone") == "then");
    CHECK(room.read("same") == "then");
  } while (true);
  CHECK(moment > 10);
}
