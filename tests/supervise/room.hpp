// SPDX-License-Identifier: MIT
#pragma once
// A folder with one file, and a workspace of it.

#include "supervise/running.hpp"
#include "supervise/workspace/workspace.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace triage::test {

class Room {
 public:
  Room() {
    std::filesystem::create_directories(tree());
    write("a.txt", "one\n");
  }
  [[nodiscard]] std::filesystem::path tree() const { return folder_.path() / "tree"; }
  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return tree() / name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary | std::ios::trunc) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const { return read_text(at(name)); }
  [[nodiscard]] mode_t mode(const std::string& name) const {
    struct stat found {};
    REQUIRE(::lstat(at(name).c_str(), &found) == 0);
    return found.st_mode & 07777U;
  }
  [[nodiscard]] supervise::WorkspaceOptions options() const {
    return {.folder = std::filesystem::canonical(tree()),
            .shadows = folder_.file("shadows"),
            .run = "r"};
  }
  [[nodiscard]] supervise::Workspace open() const {
    return supervise::Workspace::open(options()).value();
  }
  [[nodiscard]] int git(const std::string& command) const {
    const std::string line = "cd '" + tree().string() + "' && git -c user.name=a -c user.email=b " +
                             command + " >/dev/null 2>&1";
    return std::system(line.c_str());
  }

 private:
  TempFolder folder_{};
};

}  // namespace triage::test
