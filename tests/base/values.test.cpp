// SPDX-License-Identifier: MIT
// The small values: errors, taxonomy, ids, clocks, random numbers, state.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <fcntl.h>

#include <set>
#include <thread>

using namespace triage;
using namespace triage::test;

TEST_CASE("an error is an error code that carries its text and its failure", "[result]") {
  const auto context = std::make_shared<const FailureContext>();
  const Result<int> failed = Error{Errc::escalated, "no luck", context};
  CHECK(failed.error().failure() == context);
  CHECK(failed.error().suspension() == nullptr);
  CHECK(make_error_code(failed.error()) == make_error_code(Errc::escalated));
  CHECK(make_error_code(Errc::busy).message() == "busy");
  CHECK(std::string(make_error_code(Errc::busy).category().name()) == "triage");
  try {
    static_cast<void>(failed.value());
    FAIL("value() of an error returned");
  } catch (const BadResult& bad) {
    CHECK(bad.error().detail == "no luck");
    CHECK(bad.error().failure() == context);
    CHECK(bad.code() == Errc::escalated);
    CHECK_THAT(bad.what(), ContainsSubstring("no luck"));
  }
}

TEST_CASE("error codes have stable values and names", "[result]") {
  const std::vector<std::string> names{"escalated",        "aborted",   "suspended",   "cancelled",
                                       "invalid_argument", "not_found", "conflict",    "busy",
                                       "fenced",           "corrupt",   "unsupported", "io",
                                       "in_doubt"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(to_string(static_cast<Errc>(i + 1)) == names[i]);
  }
  CHECK(to_string(static_cast<Errc>(99)) == "unknown_error");
}

TEST_CASE("failure types keep their names both ways", "[taxonomy]") {
  const std::vector<std::string> names{"wrong_tool_called",
                                       "constraint_ignored",
                                       "loop_detected",
                                       "plan_incomplete",
                                       "schema_mismatch",
                                       "context_overflow",
                                       "external_fault",
                                       "timeout",
                                       "unknown",
                                       "access_denied",
                                       "quota_exhausted",
                                       "refused",
                                       "crashed"};
  REQUIRE(all_failure_types.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(static_cast<std::size_t>(all_failure_types[i]) == i);
    CHECK(to_string(all_failure_types[i]) == names[i]);
    CHECK(parse_failure_type(names[i]) == all_failure_types[i]);
  }
  CHECK_FALSE(parse_failure_type("").has_value());
  CHECK_FALSE(parse_failure_type("Timeout").has_value());
}

TEST_CASE("recovery kinds keep their names both ways", "[policy]") {
  for (const char* name :
       {"retry", "replan", "rollback", "resume", "escalate", "suspend", "abort", "fallback"}) {
    const auto kind = parse_recovery_kind(name);
    REQUIRE(kind);
    CHECK(to_string(*kind) == name);
  }
  CHECK_FALSE(parse_recovery_kind("again").has_value());
}

TEST_CASE("run ids: 1 to 128 of the allowed characters, not beginning with a dot", "[run_id]") {
  for (const std::string& good : {std::string("a"), std::string("A-Z.a_z:0-9"),
                                  std::string(128, 'x'), std::string("-"), std::string("a.")}) {
    REQUIRE_OK(check_run_id(good));
  }
  CHECK_ERRC(Errc::invalid_argument, check_run_id(""));
  CHECK_THAT(check_run_id(std::string(129, 'x')).error().detail, ContainsSubstring("129"));
  CHECK_THAT(check_run_id("ok but no").error().detail, ContainsSubstring("contains \" \""));
  CHECK_THAT(check_run_id("a/b?").error().detail, ContainsSubstring("contains \"/\""));
  CHECK_THAT(check_run_id(std::string("a\0", 2)).error().detail, ContainsSubstring("\\x00"));
  CHECK_THAT(check_run_id("\xff").error().detail, ContainsSubstring("\\xff"));
}

TEST_CASE("made run ids are allowed, unique and sort by time", "[run_id]") {
  const auto random = seeded_random(4);
  std::set<RunId> made;
  RunId before;
  WallTime now{std::chrono::milliseconds(1'000)};
  for (int i = 0; i < 1000; ++i) {
    const RunId id = make_run_id(now, *random);
    REQUIRE_OK(check_run_id(id));
    CHECK(id.size() == 26);
    CHECK(id > before);
    CHECK(made.insert(id).second);
    before = id;
    now += std::chrono::milliseconds(1 + i * i);
  }
  for (int i = 0; i < 1000; ++i) CHECK(made.insert(make_run_id(now, *random)).second);
}

TEST_CASE("checkpoint ids are RUN@SEQUENCE both ways", "[run_id]") {
  const CheckpointId id{"crawl:1", 42};
  CHECK(to_string(id) == "crawl:1@42");
  CHECK(parse_checkpoint_id("crawl:1@42").value() == id);
  for (const char* bad : {"", "@", "a@", "@1", "a@x", "a@-1", "a@1x", "a b@1", "a@1@", ".a@1",
                          "a@99999999999999999999999"}) {
    INFO(bad);
    CHECK_ERRC(Errc::invalid_argument, parse_checkpoint_id(bad));
  }
}

TEST_CASE("seeded numbers repeat, and unit_interval is at least 0 and below 1", "[clock]") {
  const auto a = seeded_random(7);
  const auto b = seeded_random(7);
  const auto c = seeded_random(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t bits = a->next();
    CHECK(bits == b->next());
    differs = differs || bits != c->next();
    CHECK(unit_interval(bits) >= 0.0);
    CHECK(unit_interval(bits) < 1.0);
  }
  CHECK(differs);
  CHECK(unit_interval(~std::uint64_t{0}) < 1.0);
  CHECK(unit_interval(0) == 0.0);
  // SplitMix64 of seed 0, from its authors' reference implementation.
  CHECK(seeded_random(0)->next() == 0xe220a8397b1dcdafU);
}

TEST_CASE("the real clock's wait ends at once when a stop is requested", "[clock]") {
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(
      real_clock()->sleep_until(real_clock()->now() + std::chrono::hours(1), stop.get_token()));
  CHECK(real_clock()->sleep_until(real_clock()->now() - std::chrono::hours(1), {}));
  CHECK(real_clock() == real_clock());
}

TEST_CASE("the real clock's wait is woken by a stop from another thread", "[clock]") {
  std::stop_source stop;
  std::jthread other([&] { stop.request_stop(); });
  CHECK_FALSE(
      real_clock()->sleep_until(real_clock()->now() + std::chrono::hours(1), stop.get_token()));
}

TEST_CASE("a state is an immutable map that shares its values", "[state]") {
  const State empty;
  CHECK(empty.empty());
  CHECK(empty.json() == Json::object());
  CHECK(empty.find("x") == nullptr);
  auto values = std::make_shared<State::Values>();
  values->emplace("page", std::make_shared<const Json>(3));
  values->emplace("nothing", std::make_shared<const Json>(nullptr));
  const State state(values);
  const State copy = state;
  CHECK(copy == state);
  CHECK(copy.find("page") == state.find("page"));
  CHECK(state.size() == 2);
  CHECK(state.contains("nothing"));
  CHECK(state.value("page", 0) == 3);
  CHECK(state.value("missing", 9) == 9);
  CHECK_THROWS_AS(state.value("page", std::string()), Json::exception);
  const Json json = state;
  CHECK(json == Json{{"page", 3}, {"nothing", nullptr}});
}

TEST_CASE("an observer can be made from a function", "[observer]") {
  int seen = 0;
  const auto observer = observe([&](const Event& event) {
    CHECK(event.kind == EventKind::late_call);
    ++seen;
  });
  Event event;
  event.kind = EventKind::late_call;
  observer->on_event(event);
  CHECK(seen == 1);
}
