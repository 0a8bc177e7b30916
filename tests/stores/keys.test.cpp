// SPDX-License-Identifier: MIT
// What the key space of every store must do.
#include "stores/contract.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/forwarding_store.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("keys are removed only as they were read, and begin anew then", "[stores]") {
  const TempFolder folder;
  const StoreKind kind = GENERATE(from_range(store_kinds()));
  INFO(kind.name);
  const auto store = kind.make(folder);
  CHECK(store->put_if("space", "key", 0, "one").value() == 1);
  CHECK(store->put_if("space", "key", 1, "two").value() == 2);
  CHECK(store->put_if("space", "other", 0, "one").value() == 1);
  CHECK_ERRC(Errc::conflict, store->erase_if("space", "key", 1));
  CHECK_ERRC(Errc::conflict, store->erase_if("space", "key", 0));
  CHECK(store->get("space", "key").value()->bytes == "two");
  REQUIRE_OK(store->erase_if("space", "key", 2));
  CHECK_FALSE(store->get("space", "key").value().has_value());
  CHECK(store->list("space", "").value() == std::vector<std::string>{"other"});
  REQUIRE_OK(store->erase_if("space", "key", 2));  // It is gone, as requested.
  REQUIRE_OK(store->erase_if("none", "key", 0));
  CHECK(store->put_if("space", "key", 0, "again").value() == 1);
}

TEST_CASE("nobody but the library writes into its spaces, of whatever store", "[stores]") {
  const TempFolder folder;
  const StoreKind kind = GENERATE(from_range(store_kinds()));
  INFO(kind.name);
  const auto made = kind.make(folder);
  const bool wrapped = GENERATE(true, false);
  const std::shared_ptr<CheckpointStore> store =
      wrapped ? std::make_shared<ForwardingStore>(made) : made;
  const std::string_view ours = triage::detail::own_space(triage::detail::OwnSpace::signals);
  for (const std::string& space :
       {std::string(ours), std::string("triage/mine"), std::string("triage/")}) {
    CHECK_ERRC(Errc::invalid_argument, store->put_if(space, "run/approval", 0, "yes"));
  }
  CHECK(store->put_if(ours, "run/approval", 0, "yes").value() == 1);
  CHECK_ERRC(Errc::invalid_argument, store->erase_if(std::string(ours), "run/approval", 1));
  CHECK(store->get(std::string(ours), "run/approval").value()->bytes == "yes");
  REQUIRE_OK(store->erase_if(ours, "run/approval", 1));
  CHECK(store->put_if("triage", "key", 0, "mine").value() == 1);
}
