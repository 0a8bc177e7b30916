// SPDX-License-Identifier: MIT
// How the Redis store groups the records of a journal.
#include "stores/lost_answers.hpp"
#include "support/catch.hpp"
#include "support/needs_server.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/compaction.hpp"
#include "triage/stores/redis.hpp"

#include <span>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

TEST_CASE("a part of a journal is read whole, however its records were grouped",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url()).value();
  const auto lease = store->start({.id = "run-1"}, std::vector<Record>{lost_answer_record(1)});
  REQUIRE_OK(lease);
  Sequence next = 2;
  for (const Sequence size : {1U, 3U, 200U, 1U, 64U, 65U}) {
    std::vector<Record> group;
    for (Sequence i = 0; i < size; ++i) group.push_back(lost_answer_record(next++));
    REQUIRE_OK(store->append(lease.value(), group, RunStatus::running));
    // Once more, as after a lost answer; also in other groups.
    REQUIRE_OK(store->append(lease.value(), group, RunStatus::running));
    REQUIRE_OK(store->append(lease.value(), std::span(group).subspan(group.size() / 2),
                             RunStatus::running));
  }
  const Sequence last = next - 1;
  for (Sequence first = 1; first <= last; first += 7) {
    for (Sequence end = first; end <= last; end += 9) {
      const auto part = store->read("run-1", {.first = first, .last = end});
      REQUIRE_OK(part);
      REQUIRE(part.value().records.size() == end - first + 1);
      CHECK(part.value().records.front().seq() == first);
      CHECK(part.value().records.back().seq() == end);
    }
  }
  std::vector<Record> other{lost_answer_record(100)};
  other[0] = {100, RecordKind::state_changed, other[0].time(),
              std::make_shared<const Json>(Json{{"page", "another"}})};
  CHECK_ERRC(Errc::conflict, store->append(lease.value(), other, RunStatus::running));
}

TEST_CASE("records of a size that no entry of a stream takes together are stored apart",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url()).value();
  std::vector<Record> records;
  for (Sequence seq = 1; seq <= 5; ++seq) {
    records.emplace_back(seq, RecordKind::state_changed, WallTime{},
                         std::make_shared<const Json>(Json(std::string(3U << 20U, 'x'))));
  }
  REQUIRE_OK(store->start({.id = "run-1"}, records));
  REQUIRE_OK(
      server.ask({"EVAL", "assert(redis.call('XLEN', KEYS[1]) == 5)", "1", "triage:{run-1}:log"}));
  CHECK(store->read("run-1", {}).value().records.size() == 5);
  CHECK(store->read("run-1", {.first = 2, .last = 3}).value().records.size() == 2);
}

TEST_CASE("what was stored when a journal had one record an entry is read, and goes on",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url()).value();
  REQUIRE_OK(store->release(
      store
          ->start({.id = "run-1"}, std::vector<Record>{lost_answer_record(1), lost_answer_record(2),
                                                       lost_answer_record(3)})
          .value()));
  // Puts it as format 1 had it.
  const std::string back = R"(
local all = redis.call('XRANGE', KEYS[1], '-', '+')
redis.call('DEL', KEYS[1])
for _, entry in ipairs(all) do
  for i = 1, #entry[2], 2 do
    local epoch, crc, content = string.match(entry[2][i + 1], '^(%d+):(%x+):(.*)$')
    redis.call('XADD', KEYS[1], entry[2][i] .. '-0', 'b', content, 'c',
      epoch .. ':' .. string.format('%.0f', tonumber(crc, 16)))
  end
end
redis.call('SET', KEYS[2], '1'))";
  REQUIRE_OK(server.ask({"EVAL", back, "2", "triage:{run-1}:log", "triage:format"}));
  CHECK(RedisStore::open(server.url(), {.read_only = true})
            .value()
            ->read("run-1", {})
            .value()
            .records.size() == 3);
  const auto next = RedisStore::open(server.url());
  REQUIRE_OK(next);
  REQUIRE_OK(
      server.ask({"EVAL", "assert(redis.call('GET', KEYS[1]) == '2')", "1", "triage:format"}));
  const auto lease = next.value()->acquire("run-1");
  REQUIRE_OK(lease);
  // The first was stored before.
  REQUIRE_OK(next.value()->append(
      lease.value(),
      std::vector<Record>{lost_answer_record(3), lost_answer_record(4), lost_answer_record(5)},
      RunStatus::running));
  CHECK(next.value()->read("run-1", {}).value().records.size() == 5);
  CHECK(next.value()->read("run-1", {.first = 2, .last = 4}).value().records.size() == 3);
  auto* const compacts = dynamic_cast<CompactsRuns*>(next.value().get());
  REQUIRE(compacts != nullptr);
  REQUIRE_OK(compacts->replace(lease.value(), std::vector<SequenceRange>{{2, 2}, {4, 4}}, {}));
  const auto records = next.value()->read("run-1", {}).value().records;
  REQUIRE(records.size() == 3);
  CHECK(records[1].seq() == 3);
  CHECK(records[2].seq() == 5);
}
