// SPDX-License-Identifier: MIT
// The store used when none is named.
#include "cli/stores.hpp"

#include <cstdlib>

using namespace triage;
using namespace triage::test;

namespace {

// Sets an environment variable of this process and the commands it runs, for its lifetime.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_{};
};

}  // namespace

TEST_CASE("without a store, every command means the one in the user's state folder", "[cli]") {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "triage");
  make_store(folder.file("triage/runs.db"));
  const Environment state("XDG_STATE_HOME", folder.path().string());
  CHECK_THAT(triage_command({"checkpoint", "list"}).out, ContainsSubstring("crawler"));
  CHECK_THAT(triage_command({"checkpoint", "show", "good"}).out, ContainsSubstring("crawler"));
  CHECK(triage_command({"checkpoint", "verify"}).status == 0);
  CHECK_THAT(triage_command({"checkpoint", "release", "good"}).out, ContainsSubstring("free"));
  const std::string corrections = folder.file("corrections.jsonl");
  CHECK(triage_command({"correct", "lost", "--type", "timeout", "--corrections", corrections})
            .status == 0);
}

TEST_CASE("a relative state folder counts as not set, and the home folder is used", "[cli]") {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / ".local/state/triage");
  make_store(folder.file(".local/state/triage/runs.db"));
  const Environment home("HOME", folder.path().string());
  const Environment state("XDG_STATE_HOME", "somewhere");
  CHECK_THAT(triage_command({"checkpoint", "show", "good"}).out, ContainsSubstring("crawler"));
}

TEST_CASE("before anything has run there are no runs, and nothing is made by looking", "[cli]") {
  const TempFolder folder;
  const Environment state("XDG_STATE_HOME", folder.path().string());
  CHECK(triage_command({"runs"}).out == "No runs.\n");
  CHECK(json_of(triage_command({"runs", "--json"}))["runs"].empty());
  CHECK(triage_command({"suspended"}).out == "No run waits.\n");
  CHECK(triage_command({"checkpoint", "list"}).status == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
  // A named store must exist.
  CHECK(triage_command({"runs", "--store", folder.file("other.db")}).status == 1);
}

TEST_CASE("a store is named once, as an argument or as an option", "[cli]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const std::string store = folder.file("a.db");
  CHECK(triage_command({"checkpoint", "show", "--store", store, "good"}).status == 0);
  CHECK(triage_command({"checkpoint", "list", "--store", store}).status == 0);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"checkpoint", "list", store, "--store", store},
        std::vector<std::string>{"checkpoint", "show", store, "good", "--store", store},
        std::vector<std::string>{"checkpoint", "show", "--store", store}}) {
    const Printed refused = triage_command(wrong);
    CHECK(refused.status == 2);
    CHECK_FALSE(refused.error.empty());
  }
}

TEST_CASE("a state folder that cannot be looked into is not taken for an empty one", "[cli]") {
  const TempFolder folder;
  std::filesystem::create_directory_symlink("loop", folder.path() / "loop");
  const Environment state("XDG_STATE_HOME", folder.file("loop"));
  for (const char* command : {"runs", "suspended"}) {
    const Printed printed = triage_command({command});
    CHECK(printed.status == 9);
    CHECK(printed.out.empty());
  }
}

TEST_CASE("a file whose store was never made, because of a kill, counts as no store", "[cli]") {
  const TempFolder folder;
  const Environment state("XDG_STATE_HOME", folder.path().string());
  std::filesystem::create_directory(folder.file("triage"));
  const std::string store = folder.file("triage/runs.db");
  SECTION("it is empty") { std::ofstream{store}; }
  SECTION("it has nothing but a header") {
    tamper(store, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL");
    REQUIRE(std::filesystem::file_size(store) == 8192);
  }
  CHECK(triage_command({"runs"}).out == "No runs.\n");
  CHECK(triage_command({"resume", "--due"}).status == 0);
  const Printed named = triage_command({"runs", store});
  CHECK(named.status == 1);
  CHECK_THAT(named.error, ContainsSubstring("no store has been made"));
  CHECK(triage_command({"checkpoint", "prune", store, "--keep", "1"}).status == 1);
  // The next run makes it.
  CHECK(triage_command({"run", "--run", "r1", "--", "true"}).status == 0);
  CHECK_THAT(triage_command({"runs"}).out, ContainsSubstring("r1"));
}
