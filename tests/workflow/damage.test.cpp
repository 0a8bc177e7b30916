// SPDX-License-Identifier: MIT
// Stored runs with values of the wrong kind: each is a typed error, and never an exception, a crash
// or an endless loop.
#include "asking_graph.hpp"
#include "base/json_words.hpp"
#include "definition/parts.hpp"
#include "kit.hpp"
#include "triage/workflow/inspect.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Workflow asking() {
  return asking_graph(
      [](const Json& in, Context& context) {
        context.memory("m").set("x", 1);
        return in.at("topic");
      },
      [](const std::string& topic, Context& context) {
        static_cast<void>(context.memory("m").find("x"));
        return "left " + topic;
      });
}

// Of a run that waits for the score, with this among its last records.
std::shared_ptr<CheckpointStore> damaged(const std::string& key, const Json& value) {
  const auto store = memory();
  CHECK_ERRC(Errc::suspended,
             WorkflowRun(asking(), {.run_id = "w", .store = store}).run({{"topic", "tea"}}));
  const auto info = store->run("w");
  REQUIRE_OK(info);
  const auto lease = store->acquire("w");
  REQUIRE_OK(lease);
  const Record record(info.value().last + 1, RecordKind::state_changed, WallTime{},
                      std::make_shared<const Json>(Json{{key, value}}));
  REQUIRE_OK(store->append(lease.value(), {&record, 1}, RunStatus::suspended));
  REQUIRE_OK(store->release(lease.value()));
  return store;
}

// What is told about it: by name, and in words.
template <class T>
void check_told(const Result<T>& done, const std::string& key) {
  CHECK_ERRC(Errc::corrupt, done);
  CHECK_THAT(done.error().detail, ContainsSubstring("\"" + key + "\" is damaged"));
  CHECK_THAT(done.error().detail, !ContainsSubstring("json.exception"));
}

const WorkflowRunOptions& in(const std::shared_ptr<CheckpointStore>& store,
                             WorkflowRunOptions& options) {
  options.store = store;
  options.threads = 1;
  options.resources = {{"db", "file", "1"}};
  return options;
}

std::string newest(CheckpointStore& store) {
  return to_string(CheckpointId{"w", store.run("w").value().last});
}

}  // namespace

TEST_CASE("a damaged key of the library is named, by whatever looks at the run",
          "[workflow][damage]") {
  const std::string request = "triage/request/right/1/score/1";
  const std::string answer = "triage/answer/right/1/score/1";
  const std::vector<std::pair<std::string, Json>> all{
      {request, 1},
      {request, nullptr},
      {request, {{"executor", 1}}},
      {request, {{"expires_ms", "soon"}}},
      {request, {{"branch", 5}}},
      {request, {{"expires_ms", 1e300}}},
      {"triage/request/other", Json::array({1})},
      {answer, 1},
      {answer, Json::object()},
      {"triage/joins", 1},
      {"triage/joins", Json::array({Json{{"executor", "left"}, {"from", "left"}}})},
      {"triage/stopped", "yes"},
      {"triage/stopped", {{"how", 1}}},
      {"triage/stopped", {{"how", "paused"}, {"why", 1}}},
      {"triage/edits", 1},
      {"triage/edits", nullptr},
      {"triage/edits", {{"effects", 1}}},
      {"triage/edits", {{"state", {1}}}},
      {"triage/edits", {{"inputs", 1}}},
      {"triage/migrated/plan", 1},
      {"triage/migrated/plan", {{"after", "x"}, {"state", Json::object()}, {"saved", 1}}},
      {"triage/migrated/plan", {{"after", 1}, {"state", 1}, {"saved", 1}}},
      {"triage/withheld/plan", "x"},
      {"triage/timeline", 1},
      {"triage/resources", 1},
      {"triage/resources", {{"db", 1}}},
      {"triage/resources", {{"db", {{"digest", 1}}}}},
      {"triage/retried", "x"},
      {"triage/rolled_back", "x"},
      {"triage/root", 1},
      {"triage/parts", {{"executor plan", 1}}}};
  for (const auto& [key, value] : all) {
    INFO(key << " is " << value.dump());
    const auto store = damaged(key, value);
    const std::string last = newest(*store);
    WorkflowRunOptions options{.run_id = "w"};
    WorkflowRun run(asking(), in(store, options));
    check_told(run.stopped(), key);
    check_told(run.pending_requests(), key);
    check_told(run.state(), key);
    check_told(run.deliveries(), key);
    check_told(inspect(*store, "w"), key);
    check_told(inspect(*store, last), key);
    check_told(preview_fork(*store, last, {.inputs = {{"topic", "x"}}}), key);
    WorkflowRun branch(asking(), {.run_id = "b", .store = store});
    check_told(branch.fork(last, {.label = "b"}), key);
    check_told(run.answer("right/1/score/1", 4), key);
    check_told(run.resume(), key);
    check_told(run.restore(last), key);
    REQUIRE_OK(branches(*store, "w"));
  }
}

TEST_CASE("a damaged result of an executor is named, and nothing runs after it",
          "[workflow][damage]") {
  const std::string key = "triage/done/plan/1";
  const Json message{{"t", "string"}, {"v", "tea"}, {"to", Json::array()}};
  const std::vector<Json> all{
      7,
      "x",
      Json::array(),
      {{"sent", 1}},
      {{"sent", {1}}},
      {{"sent", {{{"t", 1}, {"v", 1}, {"to", 1}}}}},
      {{"sent", {{{"t", "x"}, {"v", 1}, {"to", 1}}}}},
      {{"read", {{"x", "y"}}}},
      {{"read", {{"900:x", "y"}}}},
      {{"read", {{"99999999999999999999:x", "y"}}}},
      {{"read", {{"0:x", "y"}}}},
      {{"wrote", {{1, 2, 3}}}},
      {{"wrote", {{"", "k", 3}}}},
      {{"wrote", {{"m|m", "x", {{"value", 1}, {"by", "a"}, {"turn", "x"}, {"at", 1}}}}}},
      {{"wrote", {{"m|m", "x", {{"value", 1}, {"by", "a"}, {"turn", 1e300}, {"at", 1}}}}}},
      {{"wrote", {{"m|m", "x", 7}}}},
      {{"out", {1}}},
      {{"step", 99999999999999}},
      {{"step", -1}},
      {{"step", "a"}},
      {{"from", {1, 2}}},
      {{"from", {"plan", "x"}}},
      {{"failed", 1}},
      {{"edited", 1}},
      {{"kept", {{"", "none"}}}},
      {{"kept", {{"", ""}}}},
      {{"kept", {{"", 1}}}}};
  for (const Json& value : all) {
    INFO(value.dump());
    const auto store = damaged(key, value);
    WorkflowRunOptions options{.run_id = "w"};
    WorkflowRun run(asking(), in(store, options));
    check_told(run.state(), key);
    check_told(run.deliveries(), key);
    check_told(run.resume(), key);
    CHECK(run.handler_calls() == 0);
    // Others may not need what is damaged; whatever they tell is an error, in words.
    const auto in_words = [](const auto& told) {
      if (told.has_error()) CHECK_THAT(told.error().detail, !ContainsSubstring("json.exception"));
    };
    in_words(inspect(*store, newest(*store)));
    in_words(events(*store, "w"));
    in_words(preview_fork(*store, newest(*store), {.inputs = {{"topic", "x"}}}));
    in_words(branches(*store, "w"));
    for (const bool outputs : {true, false}) {
      Fork edits{.label = outputs ? "a" : "b", .state = {{"k", 3}}};
      if (outputs) edits.outputs = {{"plan", "coffee"}};
      WorkflowRun branch(asking(), {.run_id = edits.label, .store = store});
      in_words(branch.fork(newest(*store), edits));
      in_words(branches(*store, "w"));
    }
  }
}

TEST_CASE(
    "parts that belong to each other in circles, or to nothing, do not keep a run from reading",
    "[workflow][damage]") {
  for (const Json& value : {Json{{"t", "x"}, {"b", "a"}}, Json{{"t", "x"}, {"b", "gone"}},
                            Json{{"t", "x"}, {"b", 1}}, Json{{"t", 1}}, Json(1)}) {
    INFO(value.dump());
    const auto store = damaged("triage/part/a", value);
    CHECK_ERRC(Errc::suspended, WorkflowRun(asking(), {.run_id = "w", .store = store}).resume());
  }
  auto values = std::make_shared<State::Values>();
  const auto set = [&](const std::string& name, const Json& part) {
    (*values)[std::string(workflow::detail::part_prefix) + name] =
        std::make_shared<const Json>(part);
  };
  set("a", {{"t", "x"}, {"b", "b"}});
  set("b", {{"t", "x"}, {"b", "a"}});
  set("c", {{"t", "x"}, {"b", "d"}});
  set("d", {{"a", Json::array()}});
  workflow::detail::Parts parts;
  parts.begin_with(State(values));
  for (const char* name : {"a", "b", "c"}) {
    CHECK_THROWS_AS(parts.expand(Json{{"", name}}), std::exception);
  }
}

TEST_CASE("a few parts that stand for a great many copies are refused before they fill the memory",
          "[workflow][damage]") {
  auto values = std::make_shared<State::Values>();
  for (int i = 0; i < 60; ++i) {
    const Json next{{"", "p" + std::to_string(i + 1)}};
    (*values)[std::string(workflow::detail::part_prefix) + "p" + std::to_string(i)] =
        std::make_shared<const Json>(i == 59 ? Json{{"t", std::string(1'000, 'x')}}
                                             : Json{{"a", Json::array({next, next})}});
  }
  workflow::detail::Parts parts;
  parts.begin_with(State(values));
  parts.set_most_expanded(1'000'000);
  CHECK_THROWS_WITH(parts.expand(Json{{"", "p0"}}), ContainsSubstring("too much memory"));
  CHECK(parts.expand(Json{{"", "p55"}}).size() == 2);
}

TEST_CASE("what JSON lacks is said in words", "[workflow][damage]") {
  const auto words = [](const auto& use) -> std::string {
    try {
      use();
    } catch (const std::exception& e) {
      return triage::detail::json_words(e.what());
    }
    return "nothing";
  };
  const Json number = 7;
  const Json object = Json::object();
  CHECK(words([&] { number.get<std::string>(); }) == "it must be a string, and is a number");
  CHECK(words([&] { static_cast<void>(number.at("x")); }) ==
        "it is a number, which is not allowed there");
  CHECK(words([&] { static_cast<void>(number.get_ref<const std::string&>()); }) ==
        "it is a number, which is not allowed there");
  CHECK(words([&] { static_cast<void>(object.value("x", 1)); }) == "nothing");
  CHECK(words([&] { static_cast<void>(Json().value("x", 1)); }) ==
        "it is null, which is not allowed there");
  CHECK(words([&] { static_cast<void>(object.at("x y")); }) == "it has no \"x y\"");
  CHECK(words([&] { static_cast<void>(Json::array().at(0)); }) == "it has too few elements");
  CHECK_THAT(words([&] { const Json none = Json::parse("{"); }),
             ContainsSubstring("parse error") && !ContainsSubstring("json.exception"));
  CHECK(triage::detail::json_words("no [json.exception.x] at the front") ==
        "no [json.exception.x] at the front");
  CHECK(triage::detail::json_words("[json.exception.") == "[json.exception.");
}
