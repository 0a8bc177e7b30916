// SPDX-License-Identifier: MIT
#include "triage/stores/open_store.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"

#include <filesystem>
#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

RunInfo a_run() { return {.id = "run-1", .agent = "crawler"}; }

}  // namespace

TEST_CASE("a URL opens the store that it names, and finds it again", "[stores][open_store]") {
  const TempFolder folder;
  const std::string url =
      GENERATE(as<std::string>(), "sqlite:", "sqlite://", "file:", "file://", "") +
      folder.file("store");
  INFO(url);
  {
    const auto store = open_store(url);
    REQUIRE_OK(store);
    REQUIRE_OK(store.value()->start(a_run(), {}));
  }
  const auto again = open_store(url, {.read_only = true});
  REQUIRE_OK(again);
  CHECK(again.value()->run("run-1").value().agent == "crawler");
  CHECK_ERRC(Errc::unsupported, again.value()->put_if("s", "k", 0, "x"));
}

TEST_CASE("a plain path is what lies there", "[stores][open_store]") {
  const TempFolder folder;
  REQUIRE_OK(open_store("file:" + folder.file("files")));
  REQUIRE_OK(open_store(folder.file("files")));
  CHECK_FALSE(std::filesystem::is_regular_file(folder.file("files")));
  REQUIRE_OK(open_store(folder.file("new:name.db")));
  CHECK(std::filesystem::is_regular_file(folder.file("new:name.db")));
}

TEST_CASE("a URL can ask for durability", "[stores][open_store]") {
  const TempFolder folder;
  for (const std::string scheme : {"sqlite:", "file:"}) {
    const auto store =
        open_store(scheme + folder.file(scheme.substr(0, 4)), {.durability = Durability::power});
    REQUIRE_OK(store);
    CHECK(store.value()->capabilities().durability == Durability::power);
  }
  REQUIRE_OK(open_store("memory:"));
  CHECK_ERRC(Errc::invalid_argument, open_store("memory:", {.read_only = true}));
}

TEST_CASE("an unknown scheme is told which ones there are, without its password",
          "[stores][open_store]") {
  const auto refused = open_store("mongodb://me:hunter2@host/db?authToken=abc&x=1");
  CHECK_ERRC(Errc::invalid_argument, refused);
  const std::string& text = refused.error().detail;
  CHECK(text.find("mongodb") != text.npos);
  CHECK(text.find("sqlite:PATH, file:FOLDER") != text.npos);
  CHECK(text.find("hunter2") == text.npos);
  CHECK(text.find("abc") == text.npos);
  CHECK_ERRC(Errc::invalid_argument, open_store(""));
}

TEST_CASE("secrets of URLs are not shown", "[stores][open_store]") {
  CHECK(without_secrets("redis://:p@ss:w/rd@host:6379/0") == "redis://:***@host:6379/0");
  CHECK(without_secrets("postgresql://me:x@host/db?sslpassword=y&a=b&api_key=z") ==
        "postgresql://me:***@host/db?sslpassword=***&a=b&api_key=***");
  CHECK(without_secrets("redis://:p?ss/w@host/0?prefix=x") == "redis://:***@host/0?prefix=x");
  CHECK(without_secrets("redis::p@ss:w@host:6379") == "redis::***@host:6379");
  CHECK(without_secrets("postgresql:me:x@host/db") == "postgresql:me:***@host/db");
  CHECK(without_secrets("postgresql://h/db?password=ab#secret9&x=1") ==
        "postgresql://h/db?password=***&x=1");
  CHECK(without_secrets("postgresql://h/db?%70assword=secret9&x=%1") ==
        "postgresql://h/db?%70assword=***&x=%1");
  CHECK(without_secrets("sqlite:with@signs:and:colons@x.db") ==
        "sqlite:with@signs:and:colons@x.db");
  CHECK(without_secrets("postgresql://me@host/db") == "postgresql://me@host/db");
  CHECK(without_secrets("redis://host:6379") == "redis://host:6379");
  CHECK(without_secrets("a/path:with@signs") == "a/path:with@signs");
}
