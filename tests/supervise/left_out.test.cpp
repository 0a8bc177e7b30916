// SPDX-License-Identifier: MIT
// What a workspace leaves out, and how it comes through a restoration.
#include "supervise/room.hpp"

#include "support/catch.hpp"

#include <set>

#include <sys/socket.h>
#include <sys/un.h>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

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

TEST_CASE("a folder that nobody can look into any more is left out, and the rest is kept",
          "[workspace]") {
  const Room room;
  room.write("d/f", "then");
  const std::string path = room.tree().parent_path();
  REQUIRE(std::system(("chown -R 65534 '" + path + "' 2>/dev/null; true").c_str()) == 0);
  const pid_t child = ::fork();  // Nothing is unreadable for root.
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    auto files = Workspace::open(room.options());
    const auto then = files ? files.value().keep() : files.error();
    if (!then) ::_exit(2);
    room.write("d/f", "later");
    fs::permissions(room.at("d"), fs::perms::none);
    room.write("a.txt", "two");
    const auto now = files.value().keep();
    if (!now || files.value().unreadable() != std::set<std::string>{"d/f"}) ::_exit(3);
    const auto restored = files.value().restore(then.value());
    if (!restored || restored.value().conflicts.size() != 1) ::_exit(4);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(room.read("a.txt") == "one\n");
  CHECK(room.read("d/f") == "then");
  fs::permissions(room.at("d.triage-conflict"), fs::perms::owner_all);
  CHECK(room.read("d.triage-conflict/f") == "later");
}

TEST_CASE("what triage keeps is no part of the files, wherever it lies", "[workspace]") {
  const Room room;
  const TempFolder elsewhere;
  fs::create_directory_symlink(room.tree(), elsewhere.file("link"));
  WorkspaceOptions options = room.options();
  options.shadows = elsewhere.file("link/state/workspaces");
  Workspace files = Workspace::open(options).value();
  const FilesId then = files.keep().value();
  CHECK(files.keep().value() == then);
  room.write("a.txt", "two");
  REQUIRE(files.keep());
  CHECK(files.restore(then).value().conflicts.empty());
  CHECK(room.read("a.txt") == "one\n");
}
