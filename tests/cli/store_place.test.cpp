// SPDX-License-Identifier: MIT
// What tells one store from another.
#include "arguments/store_place.hpp"

#include "support/catch.hpp"
#include "support/temp_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

using namespace triage::cli;
using namespace triage::test;

namespace fs = std::filesystem;

TEST_CASE("a store in a file is one, however it is named, and another one in each folder",
          "[cli]") {
  const TempFolder folder;
  fs::create_directory(folder.path() / "a");
  fs::create_directory_symlink(folder.path() / "a", folder.path() / "link");
  const fs::path before = fs::current_path();
  const std::string whole = fs::canonical(folder.path()) / "a" / "x.db";
  fs::current_path(folder.path() / "link");
  for (const std::string& url :
       {std::string("x.db"), std::string("sqlite:x.db"), std::string("sqlite://x.db"),
        std::string("file:x.db"), std::string("file://x.db"), "sqlite://" + whole, whole}) {
    INFO(url);
    CHECK(store_place(url) == whole);
    CHECK(store_paths(url).back() == whole);
  }
  fs::current_path(folder.path());
  CHECK(store_place("sqlite://x.db") != whole);
  fs::current_path(before);
}

TEST_CASE("servers that only the environment tells apart have different stores", "[cli]") {
  const std::string url = "postgresql:///triage";
  const std::string plain = store_place(url);
  CHECK(plain == url);
  for (const char* name : {"PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE"}) {
    INFO(name);
    ::setenv(name, "1", 1);
    const std::string one = store_place(url);
    ::setenv(name, "2", 1);
    CHECK(one != plain);
    CHECK(store_place(url) != one);
    CHECK(store_place("redis://host") == "redis://host");
    ::unsetenv(name);
  }
  CHECK(store_place("postgresql://me:secret@host/db") == "postgresql://me:***@host/db");
  for (const char* server : {"postgresql:///triage", "redis:host", "memory:"}) {
    CHECK(store_paths(server).empty());
  }
}
