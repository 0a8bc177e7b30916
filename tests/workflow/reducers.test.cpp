// SPDX-License-Identifier: MIT
// Reducers that do not agree with what is written.
#include "kit.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a reducer that does not take a value is named with its key", "[workflow][state]") {
  using Reduce = workflow::detail::Reducer;
  const auto writing = [](const char* id, const Reduce& reduce, const Json& first,
                          const Json& second) {
    return built(WorkflowBuilder(id)
                     .reducer("all", reduce)
                     .executor("a", stateless([first](const Json& n, Context& context) {
                                 context.shared().set("all", first);
                                 return n;
                               }))
                     .executor("b", stateless([second](const Json&, Context& context) {
                                 context.shared().set("all", second);
                               }))
                     .executor("c",
                               [](const Json&, Context& context) {
                                 const auto all = context.shared().find("all");
                                 return all ? *all : Json();
                               })
                     .start("a")
                     .start("b")
                     .edge("a", "c"));
  };
  const auto refused = [&](const Reduce& reduce, const Json& first, const Json& second) {
    WorkflowRun run(writing("w", reduce, first, second), {.run_id = "r", .store = memory()});
    const auto result = run.run(1);
    INFO(first.dump() << " " << second.dump());
    REQUIRE_FALSE(result.has_value());
    CHECK_THAT(result.error().detail, ContainsSubstring("reducer of state key \"all\"") &&
                                          !ContainsSubstring("json.exception"));
    CHECK_FALSE(run.state().has_value());  // And does not throw.
  };
  refused(reduce::sum(), 1, "x");
  refused(reduce::sum(), "x", 1);
  refused(reduce::max(), 1, "x");
  refused(reduce::max(), Json::array(), Json::array());
  refused(reduce::merge(), Json::object(), 3);
  const auto value = [&](const Reduce& reduce, const Json& first, const Json& second) {
    const auto result = WorkflowRun(writing("w", reduce, first, second)).run(1);
    REQUIRE_OK(result);
    return result.value().value();
  };
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(value(reduce::sum(), most, 1).is_number_float());
  CHECK(value(reduce::sum(), std::numeric_limits<std::uint64_t>::max(), 1).is_number_float());
  CHECK(value(reduce::sum(), most, -1) == most - 1);
  CHECK(value(reduce::max(), "a", "b") == "b");
}

TEST_CASE("a reducer that gives what cannot be stored, or throws anything, fails with its key",
          "[workflow][state]") {
  const auto refused = [](workflow::detail::Reducer reducer, const std::string& says) {
    const auto writes = [](int n, Context& context) { context.shared().set("key", n); };
    const auto graph = built(WorkflowBuilder("writers")
                                 .executor("left", writes)
                                 .executor("right", writes)
                                 .start("left")
                                 .start("right")
                                 .reducer("key", std::move(reducer)));
    const auto store = memory();
    const auto result = WorkflowRun(graph, {.run_id = "w", .store = store}).run(1);
    REQUIRE_FALSE(result.has_value());
    CHECK_THAT(result.error().detail,
               ContainsSubstring("reducer of state key \"key\"") && ContainsSubstring(says));
    CHECK_ERRC(Errc::invalid_argument, WorkflowRun(graph, {.run_id = "w", .store = store}).state());
  };
  refused([](const Json&, const Json&) -> Json { return std::numeric_limits<double>::quiet_NaN(); },
          "what it gives");
  refused([](const Json&, const Json&) -> Json { throw 42; }, "not a std::exception");
}
