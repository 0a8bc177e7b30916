// SPDX-License-Identifier: MIT
// Runs from the Redis keys of triage-agent, the Python library, and back.
#include "triage/stores/redis_reference.hpp"

#include "support/catch.hpp"
#include "support/needs_server.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/stores/interchange_reference.hpp"
#include "triage/stores/memory.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// As that library writes them: the value and its entries in two indexes.
void put(const RedisServer& server, const std::string& id, const std::string& run, double time,
         const std::string& value) {
  const std::string score = std::to_string(time);
  REQUIRE_OK(server.ask({"SET", "triage:checkpoint:" + id, value}));
  REQUIRE_OK(server.ask({"ZADD", "triage:checkpoint:index", score, id}));
  REQUIRE_OK(server.ask({"ZADD", "triage:checkpoint:run:" + run + ":index", score, id}));
}

std::string value_of(const std::string& id, const std::string& run, double time, int page,
                     int steps) {
  Json value{{"id", id},
             {"timestamp", time},
             {"state", {{"page", page}}},
             {"trajectory", Json::array()},
             {"run_id", run}};
  for (int i = 0; i < steps; ++i) {
    value["trajectory"].push_back({{"index", i},
                                   {"action", "step " + std::to_string(i)},
                                   {"timestamp", time},
                                   {"state_hash", nullptr},
                                   {"metadata", Json::object()}});
  }
  return value.dump();
}

std::vector<std::string> ids_in(ReferenceStore& store) {
  std::vector<std::string> ids;
  REQUIRE_OK(store.visit([&](Result<ReferenceCheckpoint> one) -> Result<void> {
    ids.push_back(one ? one.value().id : one.error().detail);
    return outcome::success();
  }));
  return ids;
}

}  // namespace

TEST_CASE("checkpoints of triage-agent in Redis come here and go to another server",
          "[stores][redis][reference]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  for (const int page : {1, 2, 3}) {
    const std::string id = "cp-" + std::to_string(page);
    put(server, id, "crawl", 1000.25 + page, value_of(id, "crawl", 1000.25 + page, page, page));
  }
  const auto store = MemoryStore::create();
  const auto source = open_reference(server.url(), false);
  REQUIRE_OK(source);
  REQUIRE_OK(import_reference(*store, *source.value()));
  CHECK(store->checkpoints("crawl").value().size() == 3);
  CHECK(store->latest("crawl").value().state.json() == Json{{"page", 3}});
  CHECK(store->latest("crawl").value().trajectory.size() == 3);

  const auto target = open_redis_reference(server.url() + "/1");
  REQUIRE_OK(target);
  REQUIRE_OK(export_reference(*store, {}, *target.value()));
  const std::vector<std::string> ids{"cp-1", "cp-2", "cp-3"};
  CHECK(ids_in(*target.value()) == ids);
  const auto other = MemoryStore::create();
  REQUIRE_OK(import_reference(*other, *target.value()));
  CHECK(other->latest("crawl").value().state == store->latest("crawl").value().state);

  SECTION("one whose value was evicted is named") {
    REQUIRE_OK(server.ask({"DEL", "triage:checkpoint:cp-2"}));
    const auto again = MemoryStore::create();
    const auto refused = import_reference(*again, *source.value());
    CHECK_ERRC(Errc::corrupt, refused);
    CHECK_THAT(refused.error().detail, Catch::Matchers::ContainsSubstring("cp-2"));
    CHECK(import_reference(*again, *source.value(), {.leave_out_damaged = true}).value().left_out ==
          1);
  }
  SECTION("an export that meets another checkpoint of the same id takes back what it added") {
    REQUIRE_OK(server.ask({"DEL", "triage:checkpoint:cp-1", "triage:checkpoint:cp-2"}));
    REQUIRE_OK(server.ask({"DEL", "triage:checkpoint:index"}));
    put(server, "cp-3", "crawl", 1003.25, value_of("cp-3", "crawl", 1003.25, 99, 0));
    {
      const auto refusing = open_redis_reference(server.url());
      REQUIRE_OK(refusing);
      CHECK_ERRC(Errc::conflict, export_reference(*store, {}, *refusing.value()));
    }
    CHECK(ids_in(*source.value()) == std::vector<std::string>{"cp-3"});
  }
}

TEST_CASE("keys of triage-agent that nobody serves are an error at once",
          "[stores][redis][reference]") {
  CHECK_ERRC(Errc::io, open_redis_reference("redis://127.0.0.1:1"));
  CHECK_ERRC(Errc::invalid_argument, open_redis_reference("redis://127.0.0.1:1?prefix=mine:"));
}
