// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/workflow/workflow.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Plan {
  static constexpr const char* message_type = "plan";
  std::string goal{};
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Plan, goal)
};

const auto echo = [](const Json& json) { return json; };

WorkflowBuilder three() {
  WorkflowBuilder builder("three");
  builder.executor("a", echo).executor("b", echo).executor("c", echo).start("a");
  return builder;
}

void check_refused(const WorkflowBuilder& builder, const std::vector<std::string>& says) {
  const auto built = builder.build();
  CHECK_ERRC(Errc::invalid_argument, built);
  for (const std::string& part : says) CHECK_THAT(built.error().detail, ContainsSubstring(part));
}

}  // namespace

TEST_CASE("a workflow is built of executors and edges", "[workflow][build]") {
  const auto built = three().chain({"a", "b", "c"}).build();
  REQUIRE_OK(built);
  CHECK(built.value().id() == "three");
  CHECK(built.value().executors() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("messages have names that survive a change of the compiler", "[workflow][build]") {
  CHECK(type_name<std::string>() == "string");
  CHECK(type_name<int>() == "integer");
  CHECK(type_name<bool>() == "boolean");
  CHECK(type_name<double>() == "number");
  CHECK(type_name<std::vector<int>>() == "list");
  CHECK(type_name<Json>() == "json");
  CHECK(type_name<Plan>() == "plan");
}

TEST_CASE("an executor that does not exist is refused, with the nearest name",
          "[workflow][build]") {
  check_refused(three().chain({"a", "b", "c"}).edge("a", "cc"),
                {"\"cc\"", "allowed are a, b, c", "did you mean \"c\""});
  check_refused(three().chain({"a", "b", "c"}).start("aa"),
                {"start", "\"aa\"", "allowed are a, b, c"});
}

TEST_CASE("an executor that nothing reaches is refused", "[workflow][build]") {
  check_refused(three().edge("a", "b"), {"\"c\"", "cannot be reached"});
}

TEST_CASE("ids that are twice there, empty or reserved are refused", "[workflow][build]") {
  check_refused(three().executor("a", echo), {"\"a\"", "twice"});
  check_refused(three().executor("", echo), {"\"\"", "1 to 128"});
  check_refused(three().executor("a/b", echo), {"\"a/b\"", "A-Z"});
  check_refused(three().executor("triage", echo), {"\"triage\" is reserved", "1 to 128"});
  check_refused(WorkflowBuilder("triage/x").executor("a", echo).start("a"),
                {"\"triage/x\" is reserved", "A-Z"});
}

TEST_CASE("a fan-in of one source is refused", "[workflow][build]") {
  check_refused(three().edge("a", "b").fan_in({"b"}, "c"), {"fan-in", "2 or more"});
  check_refused(three().edge("a", "b").fan_in({"b", "b"}, "c"), {"twice"});
  check_refused(three().edge("a", "b").fan_in({"a", "b"}, "c", Join::of(3)), {"3", "1 to 2"});
}

TEST_CASE("a choice needs cases and a default", "[workflow][build]") {
  const Condition yes = [](const Message&) { return true; };
  check_refused(three().choice("a", {}, "b"), {"no cases"});
  check_refused(three().choice("a", {{yes, "b"}}, ""), {"no default"});
  check_refused(three().choice("a", {{{}, "b"}}, "c"), {"without a condition"});
}

TEST_CASE("an edge from an executor to itself needs a condition", "[workflow][build]") {
  check_refused(three().chain({"a", "b", "c"}).edge("b", "b"), {"itself"});
  const auto bounded = three()
                           .chain({"a", "b", "c"})
                           .edge("b", "b", when<Plan>([](const Plan& p) { return p.goal == "x"; }))
                           .build();
  REQUIRE_OK(bounded);
}

TEST_CASE("two edges of one name are refused", "[workflow][build]") {
  check_refused(three().chain({"a", "b", "c"}).edge("a", "b"), {"\"a->b\"", "twice"});
}

TEST_CASE("a workflow without a start, or with an impossible limit, is refused",
          "[workflow][build]") {
  check_refused(WorkflowBuilder("w").executor("a", echo), {"nothing to start"});
  check_refused(WorkflowBuilder("w", {.max_supersteps = 0}).executor("a", echo).start("a"),
                {"max_supersteps is 0"});
}

TEST_CASE("an eager workflow refuses what would depend on time", "[workflow][build]") {
  const auto eager = [] {
    return WorkflowBuilder("w", {.schedule = Schedule::eager})
        .executor("a", echo)
        .executor("b", echo)
        .executor("c", echo)
        .start("a");
  };
  check_refused(eager().chain({"a", "b", "c"}).edge("a", "c"), {"\"c\"", "two ways in"});
  for (const Join join : {Join::all(), Join::any(), Join::of(2)}) {
    REQUIRE_OK(eager().edge("a", "b").fan_in({"a", "b"}, "c", join).build());
  }
}

TEST_CASE("the fingerprint names each part, lambdas through their version", "[workflow][build]") {
  const auto with_version = [](const std::string& version) {
    return WorkflowBuilder("w")
        .executor("a", echo, {.version = version})
        .executor("b", echo)
        .start("a")
        .edge("a", "b")
        .build()
        .value();
  };
  const auto one = with_version("1").fingerprint();
  const auto two = with_version("2").fingerprint();
  CHECK(one == with_version("1").fingerprint());
  CHECK(one.at("executor a") != two.at("executor a"));
  CHECK(one.at("executor b") == two.at("executor b"));
  CHECK(one.at("edge a->b") == two.at("edge a->b"));
}

TEST_CASE("a nested workflow brings its executors under its own path", "[workflow][build]") {
  const auto inner = three().chain({"a", "b", "c"}).build().value();
  const auto outer = WorkflowBuilder("outer")
                         .executor("first", echo)
                         .executor("inner", inner)
                         .start("first")
                         .edge("first", "inner")
                         .build();
  REQUIRE_OK(outer);
  CHECK(outer.value().executors() ==
        std::vector<std::string>{"first", "inner/a", "inner/b", "inner/c"});
  CHECK(outer.value().fingerprint().contains("edge inner/a->b"));
}

TEST_CASE("what a nested workflow cannot have is refused, with where it belongs",
          "[workflow][build]") {
  const auto inner = three().chain({"a", "b", "c"}).build().value();
  const auto outer = [&](ExecutorOptions own) {
    const WorkflowOptions options{.defaults = {.policy = FailurePolicy()},
                                  .capacities = {{"model", 2}}};
    return WorkflowBuilder("outer", options)
        .executor("inner", inner, std::move(own))
        .start("inner")
        .build();
  };
  const auto refused = [&](ExecutorOptions own, const std::string& option) {
    const auto built = outer(std::move(own));
    CHECK_ERRC(Errc::invalid_argument, built);
    CHECK_THAT(built.error().detail, ContainsSubstring("\"inner\" is a workflow") &&
                                         ContainsSubstring("\"" + option + "\""));
  };
  refused({.version = "2"}, "version");
  refused({.policy = FailurePolicy()}, "policy");
  refused({.timeout = std::chrono::seconds(1)}, "timeout");
  refused({.limits = Limits{}}, "limits");
  refused({.instead = [](const Error&) { return make_message(1); }}, "instead");
  refused({.patches_plan = true}, "patches_plan");
  refused({.rollback = RollbackScope::workflow}, "rollback");
  REQUIRE_OK(outer({.checkpoints = CheckpointChoice::off(), .shares = "model"}));
}

TEST_CASE("defaults, limits and reducers are checked before anything runs", "[workflow][build]") {
  const auto refused = [](WorkflowOptions options, ExecutorOptions own, const std::string& says) {
    const auto built = WorkflowBuilder("w", std::move(options))
                           .executor(
                               "a", [](const int& n) { return n; }, std::move(own))
                           .start("a")
                           .build();
    CHECK_ERRC(Errc::invalid_argument, built);
    CHECK_THAT(built.error().detail, ContainsSubstring(says));
  };
  FailurePolicy null;
  null.otherwise(Strategy("null", std::function<RecoveryAction(const FailureContext&)>()));
  refused({}, {.limits = Limits{.max_attempts = 0}}, "executor \"a\"");
  refused({}, {.timeout = std::chrono::seconds(-1)}, "executor \"a\": the timeout");
  refused({.defaults = {.policy = null}}, {}, "WorkflowOptions::defaults");
  refused({.defaults = {.limits = Limits{.max_attempts = 0}}}, {}, "max_attempts");
  refused({.defaults = {.idle_timeout = std::chrono::seconds(-1)}}, {}, "the idle timeout");
  const auto built = WorkflowBuilder("w")
                         .executor("a", [](const int& n) { return n; })
                         .start("a")
                         .reducer("sum", {})
                         .build();
  CHECK_ERRC(Errc::invalid_argument, built);
  CHECK_THAT(built.error().detail, ContainsSubstring("\"sum\""));
}

TEST_CASE("an edge's name may not pass for that of a nested workflow's edge", "[workflow][build]") {
  const auto pass = [](const int& n) { return n; };
  const auto inner = WorkflowBuilder("inner")
                         .executor("a", pass)
                         .executor("b", pass)
                         .start("a")
                         .edge("a", "b", {}, {.name = "go"})
                         .build();
  REQUIRE_OK(inner);
  const auto outer = [&](const std::string& name) {
    return WorkflowBuilder("w")
        .executor("s", pass)
        .executor("in", inner.value())
        .executor("z", pass)
        .start("s")
        .edge("s", "in")
        .edge("s", "z", {}, {.name = name})
        .build();
  };
  const auto refused = outer("in/go");
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("\"in/go\"") &&
                                         ContainsSubstring("allowed is any text without \"/\""));
  REQUIRE_OK(outer("go"));
}
