// SPDX-License-Identifier: MIT
#include "lab/simulation/world_stores.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/stores/memory.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("a dead process does nothing more, and its runs are free", "[lab][simulation]") {
  const auto memory = MemoryStore::create();
  lab::detail::MortalStore store(memory);
  RunInfo info;
  info.id = "r";
  const Lease lease = store.start(info, {}).value();
  const Record record(1, RecordKind::usage, {}, std::make_shared<const Json>(Json::object()));
  REQUIRE_OK(store.append(lease, {&record, 1}, RunStatus::running));
  CHECK_ERRC(Errc::busy, memory->acquire("r"));

  store.die();
  const Record late(2, RecordKind::usage, {}, std::make_shared<const Json>(Json::object()));
  CHECK_ERRC(Errc::io, store.append(lease, {&late, 1}, RunStatus::running));
  CHECK_ERRC(Errc::io, store.read("r", {}));
  CHECK_ERRC(Errc::io, store.put_if("space", "key", 0, "value"));
  CHECK(memory->read("r", {}).value().records.size() == 1);
  CHECK(memory->acquire("r").has_value());
}
