// SPDX-License-Identifier: MIT
// The demonstration runs unchanged on every store that a URL can name.
#include "support/catch.hpp"
#include "support/needs_server.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/json.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// It starts processes of its own, kills one of them, and compares all results with the oracle's.
void check_demo(const std::string& url) {
  const TempFolder folder;
  const Printed shown = run_program({DEMO_CRAWL, "--docs", DOCS_FOLDER, "--out", folder.file("out"),
                                     "--store", url, "--seeds", "2", "--max-pages", "8"});
  INFO(url << "\n" << shown.out << shown.error);
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, ContainsSubstring("Triage finished every seed that the oracle finished"));
  CHECK_THAT(shown.out, ContainsSubstring("the agent's process was killed"));
  const Printed listed = run_program({TRIAGE_COMMAND, "checkpoint", "list", url, "--json"});
  INFO(listed.out << listed.error);
  REQUIRE(listed.status == 0);
  CHECK(Json::parse(listed.out)["runs"].size() >= 3);  // One a seed, and the one that was killed.
}

}  // namespace

TEST_CASE("the demo runs on a SQLite file, and in a folder of JSON files", "[examples][stores]") {
  const TempFolder folder;
  check_demo(folder.file("a.db"));
  check_demo("file:" + folder.file("runs"));
}

TEST_CASE("the demo runs on Redis", "[examples][stores]") {
  const RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  NEEDS_SERVER(server);
  check_demo(server.url());
}

TEST_CASE("the demo runs on PostgreSQL", "[examples][stores]") {
  const PostgresServer server;
  NEEDS_SERVER(server);
  check_demo(server.url());
}
