// SPDX-License-Identifier: MIT
#include "classifier/blame/loops.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

using namespace triage;
using detail::canonical_hash;
using detail::find_loop;

namespace {

Step call(const std::string& tool, Json input) {
  return {.action = "call", .tool_called = tool, .tool_input = std::move(input)};
}

// Different calls first, then `repetitions` periods of `period` calls.
Trajectory planted(std::size_t before, std::size_t period, std::size_t repetitions) {
  Trajectory trajectory;
  for (std::size_t i = 0; i < before; ++i) trajectory.append(call("read", {{"page", i}}));
  for (std::size_t i = 0; i < period * repetitions; ++i) {
    trajectory.append(call("walk", {{"stop", i % period}}));
  }
  return trajectory;
}

}  // namespace

TEST_CASE("loops of period 1 to 8 are found with their first step", "[classifier][loops]") {
  for (std::size_t period = 1; period <= 8; ++period) {
    for (const std::size_t before : {0U, 1U, 70U}) {
      INFO("period " << period << ", steps before " << before);
      const auto loop = find_loop(planted(before, period, 3), 0, 3, 8);
      REQUIRE(loop);
      CHECK(loop->first_step == before);
      REQUIRE(loop->steps.size() == period);
      for (std::size_t i = 0; i < period; ++i) CHECK(loop->steps[i] == before + i);
      CHECK_FALSE(find_loop(planted(before, period, 2), 0, 3, 8));
    }
  }
  CHECK_FALSE(find_loop(planted(0, 9, 5), 0, 3, 8));
}

TEST_CASE("a long loop is followed back to where it began", "[classifier][loops]") {
  const auto loop = find_loop(planted(100, 2, 400), 0, 3, 8);
  REQUIRE(loop);
  CHECK(loop->first_step == 100);
  CHECK(loop->calls == 800);
}

TEST_CASE("steps without a tool do not hide a loop", "[classifier][loops]") {
  Trajectory trajectory;
  for (int i = 0; i < 3; ++i) {
    trajectory.append({.action = "think", .llm_output = "thought " + std::to_string(i)});
    trajectory.append(call("search", {{"q", "cats"}}));
    trajectory.append({.action = "tool end"});
  }
  const auto loop = find_loop(trajectory, 0, 3, 8);
  REQUIRE(loop);
  CHECK(loop->steps == std::vector<std::size_t>{1});
}

TEST_CASE("restored steps are no new repetition", "[classifier][loops]") {
  const Trajectory trajectory = planted(0, 1, 4);
  CHECK(find_loop(trajectory, 1, 3, 8));
  CHECK_FALSE(find_loop(trajectory, 2, 3, 8));
}

TEST_CASE("two calls, different inputs or no tool are no loop", "[classifier][loops]") {
  CHECK_FALSE(find_loop(planted(0, 1, 2), 0, 3, 8));
  CHECK_FALSE(find_loop(planted(5, 1, 0), 0, 3, 8));
  CHECK_FALSE(find_loop(test::trajectory_of({{}, {}, {}}), 0, 3, 8));
  CHECK_FALSE(find_loop(planted(0, 1, 3), 0, 4, 8));
  CHECK(find_loop(planted(0, 1, 4), 0, 4, 8));
}

TEST_CASE("the same call with another answer makes progress", "[classifier][loops]") {
  Trajectory trajectory;
  for (int i = 0; i < 12; ++i) {
    Step poll = call("status", {{"job", "j"}});
    poll.tool_output = {{"done_percent", i}};
    trajectory.append(poll);
  }
  CHECK_FALSE(find_loop(trajectory, 0, 3, 8));
}

TEST_CASE("a retry that succeeds makes progress", "[classifier][loops]") {
  Trajectory trajectory;
  for (int i = 0; i < 4; ++i) {
    trajectory.append(call("fetch", {{"url", "u"}}));
    Step fetch = call("fetch", {{"url", "v"}});
    fetch.error = "503";
    trajectory.append(fetch);
    fetch.error.reset();
    fetch.tool_output = "page";
    trajectory.append(fetch);
    CHECK_FALSE(find_loop(trajectory.prefix(trajectory.size()), trajectory.size() - 2, 2, 8));
  }
}

TEST_CASE("with the same answer a loop is found within two turns and one call",
          "[classifier][loops]") {
  for (std::size_t period = 1; period <= 8; ++period) {
    INFO("period " << period);
    Trajectory trajectory = planted(3, 0, 0);
    for (std::size_t i = 0; i < 2 * period + 1; ++i) {
      if (i > 0) CHECK_FALSE(find_loop(trajectory, 0, 3, 8));
      Step step = call("walk", {{"stop", i % period}});
      step.tool_output = {{"seen", i % period}, {"took_ms", i}, {"request_id", i}};
      trajectory.append(step);
    }
    const auto loop = find_loop(trajectory, 0, 3, 8);
    REQUIRE(loop);
    CHECK(loop->first_step == 3);
    CHECK(loop->without_progress);
  }
}

TEST_CASE("an agent that repeats itself between others is found, by its results",
          "[classifier][loops]") {
  const auto run = [](bool results) {
    Trajectory trajectory;
    for (std::size_t turn = 0; turn < 6; ++turn) {
      Step stuck = call("search", {{"q", "cats"}});
      stuck.agent_id = "stuck";
      if (results) stuck.tool_output = {{"hits", 0}};
      trajectory.append(stuck);
      Step busy = call("save", {{"page", turn}});
      busy.agent_id = "busy";
      busy.tool_output = "ok";
      trajectory.append(busy);
    }
    return trajectory;
  };
  const auto loop = find_loop(run(true), 0, 3, 8);
  REQUIRE(loop);
  CHECK(loop->agent == "stuck");
  CHECK(loop->first_step == 0);
  CHECK(loop->calls == 6);
  CHECK_FALSE(find_loop(run(true).prefix(8), 0, 3, 8));
  CHECK_FALSE(find_loop(run(false), 0, 3, 8));
}

TEST_CASE("a model that says the same again is a loop, a short word is not",
          "[classifier][loops]") {
  const auto said = [](const std::string& words) {
    return test::trajectory_of(
        {{.llm_output = words}, {}, {.llm_output = words}, {.llm_output = words}});
  };
  const auto loop = find_loop(said("I will look at the file once more."), 0, 3, 8);
  REQUIRE(loop);
  CHECK(loop->words_only);
  CHECK_FALSE(find_loop(said("Done."), 0, 3, 8));
}

TEST_CASE("different agents that do the same are a loop", "[classifier][loops]") {
  std::vector<Step> steps;
  for (const char* agent : {"a", "b", "c"}) {
    steps.push_back(call("search", {{"q", "cats"}}));
    steps.back().agent_id = agent;
  }
  const Classification found = test::classify({.text = "gave up"}, steps);
  CHECK(found.type == FailureType::loop_detected);
  CHECK(found.critical_step == 0U);
  CHECK(found.loop_steps == std::vector<std::size_t>{0});
}

TEST_CASE("the name of a tool alone makes no loop", "[classifier][loops]") {
  for (const Json& nothing : {Json(nullptr), Json(""), Json::object(), Json::array()}) {
    INFO(nothing.dump());
    const std::vector<Step> steps(6, call("next_page", nothing));
    CHECK_FALSE(find_loop(test::trajectory_of(steps), 0, 3, 8));
    CHECK(test::classify({.text = "gave up"}, steps).type == FailureType::unknown);
    CHECK(test::classify({.http_status = 503}, steps).type == FailureType::external_fault);
    // Between comparable calls, it may be what distinguishes them.
    std::vector<Step> mixed;
    for (int i = 0; i < 4; ++i) {
      mixed.push_back(call("next_page", nothing));
      mixed.push_back(call("read", {{"what", "page"}}));
    }
    CHECK_FALSE(find_loop(test::trajectory_of(mixed), 0, 3, 8));
  }
  // Its results can be compared.
  Step step = call("next_page", nullptr);
  step.tool_output = "the last page";
  CHECK(find_loop(test::trajectory_of({step, step, step}), 0, 3, 8));
}

TEST_CASE("what the failure says with a code beats a loop that is only guessed",
          "[classifier][loops]") {
  const std::vector<Step> guessed(4, call("search", {{"q", "cats"}}));
  Step failing = call("search", {{"q", "cats"}});
  failing.error = "no answer";
  const std::vector<Step> tried(4, failing);
  const std::vector<Step> said(4, {.llm_output = "I will look at the file once more."});
  const Failure failures[] = {{.http_status = 503},
                              {.json_rpc_code = -32601},
                              {.grpc_status = 16},
                              {.code = std::make_error_code(std::errc::connection_reset)},
                              {.text = "SIGSEGV"}};
  for (const auto& steps : {guessed, tried, said}) {
    const Trajectory trajectory = test::trajectory_of(steps);
    for (const Failure& failure : failures) {
      for (const bool model : {false, true}) {
        const ClassifierInput input{.failure = failure, .trajectory = trajectory};
        const Classification found =
            model ? default_classifier()->classify(input) : RulesClassifier().classify(input);
        INFO(found.evidence.front().detail);
        CHECK(found.type != FailureType::loop_detected);
        CHECK(found.type != FailureType::unknown);
        CHECK(found.loop_steps.empty());
      }
    }
    CHECK(test::classify({.text = "gave up"}, steps).type == FailureType::loop_detected);
    CHECK(test::classify({.http_status = 422}, steps).type == FailureType::loop_detected);
  }
}

TEST_CASE("the same answers to the same call are a loop, whatever ended it",
          "[classifier][loops]") {
  Step step = call("search", {{"q", "cats"}});
  step.tool_output = {{"hits", 0}};
  const std::vector<Step> steps(3, step);
  CHECK(test::classify({.http_status = 503}, steps).type == FailureType::loop_detected);
}

TEST_CASE("an input's hash is the same for the same value only", "[classifier][loops]") {
  CHECK(canonical_hash(Json::parse(R"({"a":1,"b":[2,3]})")) ==
        canonical_hash(Json::parse(R"({"b":[2,3],"a":1.0})")));
  const char* different[] = {"null", "0",   "\"\"",  "[]",    "{}",     "false",        "[[]]",
                             "1",    "1.5", "\"1\"", "[1,2]", "[2,1]",  "{\"a\":1}",    "true",
                             "-1",   "[0]", "[1]",   "[12]",  "[null]", "{\"1\":\"a\"}"};
  for (const char* a : different) {
    for (const char* b : different) {
      INFO(a << " and " << b);
      CHECK((canonical_hash(Json::parse(a)) == canonical_hash(Json::parse(b))) == (a == b));
    }
  }
}

TEST_CASE("10,000 clean runs have no loop", "[classifier][loops]") {
  constexpr std::uint64_t seed = 20240607;
  INFO("seed " << seed);
  const auto random = seeded_random(seed);
  std::size_t loops = 0;
  for (int run = 0; run < 10'000; ++run) {
    Trajectory trajectory;
    const std::uint64_t steps = random->next() % 40;
    for (std::uint64_t i = 0; i < steps; ++i) {
      // Tools repeat, and some inputs, but every page is read once.
      const std::uint64_t kind = random->next() % 4;
      if (kind == 0) {
        trajectory.append({.action = "think"});
      } else {
        trajectory.append(call(kind == 1 ? "fetch" : "save", {{"page", i}, {"kind", kind}}));
      }
    }
    if (find_loop(trajectory, 0, 3, 8)) ++loops;
  }
  CHECK(loops == 0);
}

TEST_CASE("whoever runs what others write is in no loop while they write something new",
          "[classifier][loops]") {
  const auto run = [](const std::vector<std::string>& written, const char* shell = "shell") {
    Trajectory trajectory;
    for (const std::string& code : written) {
      trajectory.append(
          {.action = "say", .llm_output = "```\n" + code + "\n```", .agent_id = "coder"});
      trajectory.append(
          {.action = "act", .tool_called = "shell", .tool_output = "exit 0", .agent_id = shell});
    }
    return trajectory;
  };
  const std::vector<std::string> anew{"make one", "make two", "make three", "make four"};
  CHECK_FALSE(find_loop(run(anew), 0, 3, 8));
  CHECK_FALSE(find_loop(run(anew, "coder"), 0, 3, 8));  // It runs its own code.
  const auto loop = find_loop(run({"make one", "make two", "make two", "make two"}), 0, 3, 8);
  REQUIRE(loop);
  CHECK(loop->first_step == 3);
  const auto long_one = find_loop(run(std::vector<std::string>(40, "make it")), 0, 3, 8);
  REQUIRE(long_one);
  CHECK(long_one->first_step == 1);
}
