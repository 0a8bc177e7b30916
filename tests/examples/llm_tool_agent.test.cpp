// SPDX-License-Identifier: MIT
// The LLM tool loop on a server that provokes one kind of failure after another: the run finishes,
// the decision was right, and nothing happened twice.
#include "tool_loop/agent.hpp"

#include "support/kit.hpp"
#include "support/program.hpp"
#include "support/result.hpp"
#include "support/scripted_server.hpp"

#include <filesystem>
#include <fstream>
#include <map>

using namespace triage;
using namespace triage::test;

namespace {

ServerAnswer reply(const Json& message, const std::string& finish = "stop") {
  return {.body =
              Json{{"choices", Json::array({{{"message", message}, {"finish_reason", finish}}})},
                   {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10}}}}
                  .dump()};
}

ServerAnswer says(const std::string& text) {
  return reply({{"role", "assistant"}, {"content", text}});
}

Json call(const std::string& id, const std::string& tool, const std::string& arguments) {
  return {
      {"id", id}, {"type", "function"}, {"function", {{"name", tool}, {"arguments", arguments}}}};
}

ServerAnswer calls(std::vector<Json> all) {
  return reply({{"role", "assistant"}, {"content", nullptr}, {"tool_calls", std::move(all)}},
               "tool_calls");
}

ServerAnswer refuses(int status, const std::string& code, const std::string& text,
                     std::map<std::string, std::string> headers = {}) {
  return {.status = status,
          .body = Json{{"error", {{"message", text}, {"code", code}}}}.dump(),
          .headers = std::move(headers)};
}

const Json note = call("c1", "save_note", R"({"title": "sum", "text": "42 words"})");

// A folder with a file, a scripted server, and the result of a run on them.
struct Scene {
  explicit Scene(std::vector<ServerAnswer> script) : server(std::move(script)) {
    std::ofstream(folder.file("a.txt")) << "one two three";
    setup = {.base_url = server.url() + "/v1",
             .model = "test-model",
             .api_key = "sk-test",
             .tools = tool_loop::make_tools(folder.path())};
    // Counts how often each tool is executed.
    for (tool_loop::Tool& tool : setup.tools) {
      tool.run = [this, name = tool.promise.name, run = tool.run](const Json& in,
                                                                  Attempt& attempt) {
        ++tool_runs[name];
        return run(in, attempt);
      };
    }
  }

  auto records() const { return store->read(RunId("scene"), {}).value().records; }

  Result<std::string> run() {
    AgentOptions options{.name = "scene",
                         .store = store,
                         .limits = {.max_attempts_per_type = 5},
                         .observer = observe([this](const Event& event) { note_event(event); }),
                         .clock = clock,
                         .random = seeded_random(1),
                         .contract = contract(setup.tools)};
    const TriageAgent agent{[this](const std::string& task, Attempt& attempt) {
                              return tool_loop::answer(setup, task, attempt);
                            },
                            tool_loop::recovery_policy(), options};
    auto answer = agent.run("Count the words of a.txt.", {.run_id = RunId("scene")});
    for (const Record& record : records()) effects += record.kind() == RecordKind::effect_completed;
    return answer;
  }

  void note_event(const Event& event) {
    if (event.kind == EventKind::attempt_started) attempts = event.attempt;
    if (event.kind == EventKind::run_finished) finished = true;
    if (event.kind != EventKind::recovery_chosen) return;
    decisions.push_back(std::string(to_string(event.failure->type())) + " -> " +
                        std::string(to_string(event.action->kind)));
    usage = event.failure->usage;
    trajectory = event.failure->trajectory;
  }

  // The messages of the n-th request, from 0.
  [[nodiscard]] Json messages(std::size_t n) const {
    return Json::parse(server.requests().at(n).body).at("messages");
  }

  const TempFolder folder{};
  const ScriptedServer server;
  tool_loop::Setup setup{};
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<MemoryStore> store = MemoryStore::create();
  std::map<std::string, int> tool_runs{};
  std::vector<std::string> decisions{};
  Usage usage{.calls = 0};
  Trajectory trajectory{};
  int attempts = 0;
  int effects = 0;
  bool finished = false;
};

using Decisions = std::vector<std::string>;

}  // namespace

TEST_CASE("without faults the model calls its tools and answers", "[examples][llm]") {
  Scene scene({calls({call("c1", "list_folder", R"({"path": "."})"),
                      call("c2", "read_file", R"({"path": "a.txt"})")}),
               calls({call("c3", "count_words", R"({"text": "one two three"})"),
                      call("c4", "calculate", R"({"a": 3, "operator": "*", "b": 14})")}),
               calls({note}), says("There are 3.")});
  const auto answer = scene.run();
  REQUIRE_OK(answer);
  CHECK(answer.value() == "There are 3.");
  CHECK(scene.decisions.empty());
  CHECK(scene.attempts == 1);
  const auto requests = scene.server.requests();
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].path == "/v1/chat/completions");
  CHECK(requests[0].headers.at("authorization") == "Bearer sk-test");
  CHECK(Json::parse(requests[0].body)["tools"].size() == 5);
  CHECK(scene.messages(1)[2]["content"] == R"(["a.txt"])");
  CHECK(scene.messages(1)[3]["content"] == R"({"text":"one two three"})");
  CHECK(scene.messages(2)[5]["content"] == R"({"words":3})");
  CHECK(scene.messages(2)[6]["content"] == R"({"result":42.0})");
  CHECK(scene.effects == 1);
  CHECK(read_text(scene.folder.file("sum.md")) == "42 words");
}

TEST_CASE("a tool that does not exist: the model is told which ones do, and goes on",
          "[examples][llm]") {
  Scene scene({calls({note}), calls({call("c2", "count_wrods", R"({"text": "a"})")}),
               calls({call("c3", "count_words", R"({"text": "a b"})")}), says("2")});
  REQUIRE_OK(scene.run());
  CHECK(scene.finished);
  CHECK(scene.decisions == Decisions{"wrong_tool_called -> rollback"});
  CHECK(scene.server.requests().size() == 4);
  // The conversation has no bad call, but one note about it.
  const Json told = scene.messages(2);
  REQUIRE(told.size() == 4);
  CHECK(told[1]["tool_calls"][0]["id"] == "c1");
  CHECK_THAT(told[3]["content"].get<std::string>(),
             ContainsSubstring("count_wrods") && ContainsSubstring("nearest are count_words"));
  CHECK(scene.messages(3).size() == 5);
  CHECK(scene.tool_runs == std::map<std::string, int>{{"count_words", 1}, {"save_note", 1}});
}

TEST_CASE("a side effect in the message of a broken call happens once", "[examples][llm]") {
  // The model saves a note and calls a non-existent tool in one message; asked again, it saves the
  // same note under another call id.
  Json again = note;
  again["id"] = "other";
  Scene scene({calls({note, call("c2", "no_such_tool", "{}")}), calls({again}), says("done")});
  REQUIRE_OK(scene.run());
  CHECK(scene.decisions == Decisions{"wrong_tool_called -> rollback"});
  CHECK(scene.effects == 1);
  CHECK(scene.messages(2)[2]["content"] == R"({"saved":"sum.md"})");
  CHECK(read_text(scene.folder.file("sum.md")) == "42 words");
  CHECK_FALSE(std::filesystem::exists(scene.folder.file("sum.md.part")));
}

TEST_CASE("broken arguments: the model is told what was wrong, and goes on", "[examples][llm]") {
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"path": "a.t)", R"(expected {"type":"object"})"},
           {"[]", R"(expected {"type":"object"}, found [])"},
           {R"("{\"path\": \"a.txt\"}")", "an object of arguments"},  // JSON in JSON.
           {"{}", R"(expected {"required":["path"]}, found {})"},
           {R"({"path": 7})", R"(at /path: expected {"type":"string"}, found 7)"}}) {
    INFO(arguments);
    Scene scene({calls({note}), calls({call("c2", "read_file", arguments)}),
                 calls({call("c3", "read_file", R"({"path": "a.txt"})")}), says("3")});
    REQUIRE_OK(scene.run());
    CHECK(scene.decisions == Decisions{"schema_mismatch -> rollback"});
    CHECK(scene.server.requests().size() == 4);
    CHECK_THAT(scene.trajectory.back().error.value_or(""), ContainsSubstring(why));
    CHECK_THAT(scene.messages(2).back()["content"].get<std::string>(),
               ContainsSubstring("fits its parameters") && ContainsSubstring(why));
    CHECK(scene.tool_runs == std::map<std::string, int>{{"read_file", 1}, {"save_note", 1}});
  }
}

TEST_CASE("a call without a name or without arguments is refused, too", "[examples][llm]") {
  const Json bare{{"id", "c1"}, {"function", {{"name", "read_file"}}}};
  for (const auto& [broken, why] : std::vector<std::pair<Json, std::string>>{
           {bare, R"(expected {"required":["path"]}, found {})"},
           {call("c1", "", "{}"), "the name of a tool"}}) {
    Scene scene({calls({broken}), says("done")});
    REQUIRE_OK(scene.run());
    CHECK(scene.decisions == Decisions{"schema_mismatch -> rollback"});
    CHECK_THAT(scene.trajectory.back().error.value_or(""), ContainsSubstring(why));
  }
}

TEST_CASE("a context that is too long is shortened, and the conversation goes on",
          "[examples][llm]") {
  const ServerAnswer too_long = refuses(400, "context_length_exceeded",
                                        "This model's maximum context length is 8192 tokens.");
  Scene scene({calls({note, call("c2", "read_file", R"({"path": "long.txt"})")}), too_long,
               too_long, says("long")});
  std::ofstream(scene.folder.file("long.txt")) << std::string(40'000, 'x');
  REQUIRE_OK(scene.run());
  CHECK(scene.decisions ==
        Decisions{"context_overflow -> rollback", "context_overflow -> rollback"});
  const auto length = [&](std::size_t n) {
    return scene.messages(n)[3]["content"].get<std::string>().size();
  };
  CHECK(length(1) > 40'000);
  CHECK(length(2) < 20'100);
  CHECK(length(3) < 10'200);
  CHECK(scene.messages(3).size() == 4);
  CHECK(scene.messages(3)[2] == scene.messages(1)[2]);  // Short results stay unchanged.
  CHECK(scene.tool_runs == std::map<std::string, int>{{"read_file", 1}, {"save_note", 1}});
}

TEST_CASE("a rate limit is waited out for as long as the server says", "[examples][llm]") {
  Scene scene({calls({note}),
               refuses(429, "rate_limit_exceeded", "Rate limit reached", {{"Retry-After", "20"}}),
               refuses(503, "overloaded", "The server is overloaded"), says("done")});
  REQUIRE_OK(scene.run());
  CHECK(scene.decisions == Decisions{"external_fault -> rollback", "external_fault -> rollback"});
  REQUIRE(scene.clock->waits.size() == 2);
  CHECK(scene.clock->waits[0] == std::chrono::seconds(20));
  CHECK(scene.clock->waits[1] <= std::chrono::seconds(1));
  // The same question again: nothing was lost or repeated.
  CHECK(scene.messages(2) == scene.messages(1));
  CHECK(scene.messages(3) == scene.messages(1));
  CHECK(scene.tool_runs == std::map<std::string, int>{{"save_note", 1}});
  CHECK(scene.usage.tokens() == 110);
}

TEST_CASE("a connection that breaks off is tried again", "[examples][llm]") {
  ServerAnswer half = says("half an answer");
  half.how = ServerAnswer::How::half;
  Scene scene({half, says("whole")});
  const auto answer = scene.run();
  REQUIRE_OK(answer);
  CHECK(answer.value() == "whole");
  CHECK(scene.decisions == Decisions{"external_fault -> rollback"});
}

TEST_CASE("odd responses: fields that are null, an error page, a message without anything",
          "[examples][llm]") {
  const Json plain{
      {"role", "assistant"}, {"content", "well"}, {"tool_calls", nullptr}, {"refusal", nullptr}};
  const Json choice{{"message", plain}, {"finish_reason", nullptr}};
  const ServerAnswer nulls{.body =
                               Json{{"choices", Json::array({choice})}, {"usage", nullptr}}.dump()};
  const ServerAnswer empty = reply({{"role", "assistant"}, {"content", nullptr}});
  Scene scene({{.body = "<html>Please log in</html>"},
               {.body = "{}"},
               empty,
               reply({{"role", "assistant"}, {"content", "cut"}}, "length"),
               nulls});
  const auto answer = scene.run();
  REQUIRE_OK(answer);
  CHECK(answer.value() == "well");
  CHECK(scene.decisions == Decisions{"external_fault -> rollback", "external_fault -> rollback",
                                     "schema_mismatch -> rollback",
                                     "context_overflow -> rollback"});
  CHECK(scene.trajectory.size() == 4);  // Every failed model call is a step.
}

TEST_CASE("a call of a tool that is none is told to the model", "[examples][llm]") {
  const Json nameless{{"id", "c1"}, {"type", "function"}, {"function", {{"arguments", "{}"}}}};
  const Json without_id{{"function", {{"name", "count_words"}, {"arguments", "{}"}}}};
  Json as_json = call("c2", "count_words", "{}");
  as_json["function"]["arguments"] = {{"text", "one two"}};  // Not a text, as it should be.
  Scene scene({calls({nameless}), calls({without_id}), calls({as_json}), says("ok")});
  REQUIRE_OK(scene.run());
  CHECK(scene.decisions == Decisions{"schema_mismatch -> rollback", "schema_mismatch -> rollback"});
  CHECK(scene.tool_runs["count_words"] == 1);
}

TEST_CASE("a refusal is not asked again unchanged, and a second one ends in a marked answer",
          "[examples][llm]") {
  const ServerAnswer refusal =
      reply({{"role", "assistant"}, {"content", nullptr}, {"refusal", "I can't help with that."}});
  const ServerAnswer filtered = reply({{"role", "assistant"}, {"content", ""}}, "content_filter");
  {
    Scene scene({calls({note}), refusal, says("the rest")});
    const auto answer = scene.run();
    REQUIRE_OK(answer);
    CHECK(answer.value() == "the rest");
    CHECK_FALSE(is_degraded(answer));
    CHECK(scene.decisions == Decisions{"refused -> rollback"});
    CHECK_THAT(scene.messages(2).back()["content"].get<std::string>(),
               ContainsSubstring("say what you left out"));
    CHECK(scene.tool_runs == std::map<std::string, int>{{"save_note", 1}});
  }
  Scene scene({refusal, filtered, says("never asked")});
  const auto answer = scene.run();
  REQUIRE_OK(answer);
  CHECK(is_degraded(answer));
  CHECK(scene.decisions == Decisions{"refused -> rollback", "refused -> fallback"});
  CHECK(scene.server.requests().size() == 2);
}

TEST_CASE("one failure after another, and the run still finishes", "[examples][llm]") {
  Scene scene({refuses(429, "rate_limit_exceeded", "Rate limit reached", {{"Retry-After", "3"}}),
               calls({note}), calls({call("c2", "reed_file", R"({"path": "a.txt"})")}),
               calls({call("c3", "read_file", R"({"path": )")}),
               calls({call("c4", "read_file", R"({"path": "a.txt"})")}),
               refuses(400, "context_length_exceeded", "maximum context length is 10 tokens"),
               reply({{"role", "assistant"}, {"content", nullptr}, {"refusal", "No."}}),
               says("three")});
  const auto answer = scene.run();
  REQUIRE_OK(answer);
  CHECK(answer.value() == "three");
  CHECK(scene.decisions == Decisions{"external_fault -> rollback", "wrong_tool_called -> rollback",
                                     "schema_mismatch -> rollback", "context_overflow -> rollback",
                                     "refused -> rollback"});
  CHECK(scene.attempts == 6);
  CHECK(scene.effects == 1);
  CHECK(scene.tool_runs == std::map<std::string, int>{{"read_file", 1}, {"save_note", 1}});
}

TEST_CASE("a server that fails for good ends the run, and the key is in no record",
          "[examples][llm]") {
  Scene scene({refuses(401, "invalid_api_key", "Incorrect API key provided")});
  const auto answer = scene.run();
  CHECK_ERRC(Errc::escalated, answer);
  CHECK(scene.decisions == Decisions{"access_denied -> escalate"});
  for (const Record& record : scene.records()) {
    CHECK_THAT(show(record.body().value()), !ContainsSubstring("sk-test"));
  }
}

TEST_CASE("the tools stay in their folder, and wrong inputs are told to the model",
          "[examples][llm]") {
  const auto output = [](const std::string& tool, const std::string& arguments) {
    Scene scene({calls({call("c1", tool, arguments)}), says("ok")});
    REQUIRE_OK(scene.run());
    CHECK(scene.decisions.empty());
    return scene.messages(1)[2]["content"].get<std::string>();
  };
  for (const char* path : {"../../../../../../../../etc/passwd", "/etc/passwd", "none.txt", ""}) {
    INFO(path);
    const std::string in = Json{{"path", path}}.dump();
    CHECK_THAT(output("read_file", in), ContainsSubstring("no such file"));
  }
  CHECK_THAT(output("list_folder", R"({"path": "../.."})"), ContainsSubstring("no such folder"));
  CHECK_THAT(output("save_note", R"({"title": "../x", "text": "y"})"),
             ContainsSubstring("a title has"));
  CHECK_THAT(output("calculate", R"({"a": 1, "operator": "/", "b": 0})"),
             ContainsSubstring("divided by 0"));
  Scene twice({calls({note}), calls({call("c2", "save_note", R"({"title": "sum", "text": "z"})")}),
               says("ok")});
  REQUIRE_OK(twice.run());
  CHECK_THAT(twice.messages(2)[4]["content"].get<std::string>(), ContainsSubstring("another text"));
  CHECK(read_text(twice.folder.file("sum.md")) == "42 words");
  Scene taken({calls({note}), says("ok")});
  std::ofstream(taken.folder.file("sum.md")) << "somebody's own";
  REQUIRE_OK(taken.run());
  CHECK_THAT(taken.messages(1)[2]["content"].get<std::string>(), ContainsSubstring("another text"));
  CHECK(read_text(taken.folder.file("sum.md")) == "somebody's own");
}

TEST_CASE("the program answers, tells of its recoveries, and refuses wrong options",
          "[examples][llm]") {
  const TempFolder folder;
  const ScriptedServer server({calls({call("c1", "nothing", "{}")}), says("fine")});
  const std::vector<std::string> arguments{LLM_TOOL_AGENT,
                                           "--base-url",
                                           server.url(),
                                           "--model",
                                           "m",
                                           "--folder",
                                           folder.path().string(),
                                           "--store",
                                           folder.file("a.db"),
                                           "--run-id",
                                           "r1",
                                           "Say",
                                           "fine"};
  const Printed printed = run_program(arguments);
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "fine\n");
  CHECK_THAT(printed.error,
             ContainsSubstring("wrong_tool_called (tool_not_in_manifest): rollback"));
  // Once more: returns the recorded result without asking anyone.
  CHECK(run_program(arguments).out == "fine\n");
  CHECK(server.requests().size() == 2);
  CHECK(run_program({LLM_TOOL_AGENT, "--model", "m", "task"}).status == 2);
  CHECK(run_program({LLM_TOOL_AGENT, "--nonsense", "m", "task"}).status == 2);
}
