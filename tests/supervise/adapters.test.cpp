// SPDX-License-Identifier: MIT
// Adapters: how they are parsed, and how they handle a command line and a stream.
#include "adapter_text.hpp"
#include "supervise/adapters/command_line.hpp"
#include "supervise/adapters/find_adapter.hpp"
#include "supervise/adapters/session_mark.hpp"
#include "supervise/adapters/stream_reader.hpp"
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <algorithm>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace {

Adapter tool() {
  return adapter(R"({"adapter": 1, "name": "tool", "programs": ["tool"],
    "command": {"needs": ["-p"], "values": ["--model"], "lists": ["--allow"], "prompt_after": ["-p"]},
    "resume": {"arguments": ["--resume", "{session}", "{prompt}"], "prompt": "go on",
               "without": ["--resume"]},
    "model_option": ["--model", "{model}"]})");
}

}  // namespace

TEST_CASE("a broken adapter is refused with the key that is wrong", "[adapters]") {
  const auto why = [](const std::string& text) {
    return adapter_from_text(text, &read_json).error().detail;
  };
  CHECK_THAT(why("{}"), ContainsSubstring("adapter is missing"));
  CHECK_THAT(why(R"({"adapter": 2, "name": "a"})"), ContainsSubstring("another version"));
  CHECK_THAT(why(R"({"adapter": 1})"), ContainsSubstring("name is missing"));
  CHECK_THAT(why(R"({"adapter": 1, "name": "a", "evnts": []})"), ContainsSubstring("evnts"));
  CHECK_THAT(why(R"({"adapter": 1, "name": "a", "events": [{"end": "finished"}]})"),
             ContainsSubstring("events[0].when is missing"));
  CHECK_THAT(why(R"({"adapter": 1, "name": "a", "events": [{"when": {"t": 1}, "end": "soon"}]})"),
             ContainsSubstring("events[0].end"));
  CHECK_THAT(why(R"({"adapter": 1, "name": "a", "resume": {"after": ["tired"]}})"),
             ContainsSubstring("resume.after"));
}

TEST_CASE("a broken or unknown adapter ends the command before anything runs", "[adapters]") {
  const Workshop shop;
  std::ofstream(shop.file("bad.yaml")) << "adapter: 1\nname: [\n";
  const Printed bad = shop.run({"--adapter", shop.file("bad.yaml")}, {"echo", "ran"});
  CHECK(bad.status == 2);
  CHECK(bad.out.empty());
  CHECK_THAT(bad.error, ContainsSubstring("bad.yaml"));
  const Printed unknown = shop.run({"--adapter", "cluade"}, {"echo", "ran"});
  CHECK(unknown.status == 1);
  CHECK(unknown.out.empty());
  CHECK_THAT(unknown.error, ContainsSubstring("claude, codex"));
}

TEST_CASE("a session goes on with the command line that was given", "[adapters]") {
  const Adapter known = tool();
  const CommandLine line(known, {"tool", "-p", "--model", "big", "do it", "--allow", "a", "b"});
  REQUIRE(line.fits());
  CHECK(line.prompt() == "do it");
  CHECK(line.resumed("s1", "go on") ==
        Words{"tool", "-p", "--model", "big", "--allow", "a", "b", "--resume", "s1", "go on"});
  const CommandLine again(known, {"env", "X=1", "tool", "-p", "do it", "--resume=s0"});
  CHECK(again.resumed("s1", "go on") ==
        Words{"env", "X=1", "tool", "-p", "--resume", "s1", "go on"});
  const CommandLine from_input(known, {"tool", "-p"});
  CHECK(from_input.resumed("s1", "go on") == Words{"tool", "-p", "--resume", "s1", "go on"});
  CHECK_FALSE(CommandLine(known, {"tool", "do it"}).fits());
}

TEST_CASE("a session goes on with the values of options that the adapter does not know",
          "[adapters]") {
  Adapter known = tool();
  known.command.prompt_after = {"-p"};
  const CommandLine line(known, {"tool", "-p", "do it", "--verbose", "--new-option", "value"});
  CHECK(line.resumed("s1", "go on") ==
        Words{"tool", "-p", "go on", "--verbose", "--new-option", "value", "--resume", "s1"});
  const CommandLine before(known, {"tool", "--new-option", "value", "-p", "do it"});
  CHECK(before.resumed("s1", "go on") ==
        Words{"tool", "--new-option", "value", "-p", "go on", "--resume", "s1"});
  const CommandLine behind(known, {"tool", "-p", "do it", "--new-option", "--", "-x"});
  CHECK_FALSE(behind.resumed("s1", "go on").has_value());
}

TEST_CASE("where it is not certain which argument is the prompt, nothing is guessed",
          "[adapters]") {
  const Adapter known = tool();
  const CommandLine line(known, {"tool", "--new-option", "value", "do it", "-p"});
  CHECK(line.fits());
  CHECK_FALSE(line.resumed("s1", "go on").has_value());
  CHECK_FALSE(line.with_prompt("else").has_value());
}

TEST_CASE("another model takes the place of the one that was given", "[adapters]") {
  const Adapter known = tool();
  const CommandLine line(known, {"tool", "-p", "do it", "--model", "big"});
  CHECK(line.with_options(known.model_option, "model", "small") ==
        Words{"tool", "--model", "small", "-p", "do it"});
}

TEST_CASE("names of sessions are safe on a command line", "[adapters]") {
  CHECK(is_session_name("7f3e2a10-5b1c"));
  for (const char* bad : {"", "-rf", "--resume", "a b", "a;b", "a\nb", "../x"}) {
    CHECK_FALSE(is_session_name(bad));
  }
}

TEST_CASE("calls and their results become one step, and what was printed is in its metadata",
          "[adapters]") {
  const Adapter known = adapter(R"({"adapter": 1, "name": "t", "events": [
    {"when": {"e": "call"}, "call": {"id": "id", "tool": "tool", "input": "in"}},
    {"when": {"e": "result"}, "result": {"id": "id", "output": "out", "failed": {"ok": false}}},
    {"when": {"e": "end"}, "usage": {"input_tokens": ["a", "b.c"], "cost_usd": "usd"},
     "end": "finished"}]})");
  std::vector<Step> steps;
  Usage spent{.calls = 0};
  StreamReader reader(known, {.on_step = [&](Step step) { steps.push_back(std::move(step)); },
                              .on_usage = [&](const Usage& usage) { spent += usage; }});
  const std::string stream =
      "{\"e\":\"call\",\"id\":1,\"tool\":\"Bash\",\"in\":{\"c\":\"ls\"}}\n"
      "{\"e\":\"call\",\"id\":2,\"tool\":\"Read\"}\r\nnoise\n"
      "{\"e\":\"result\",\"id\":1,\"out\":\"HTTP 403\",\"ok\":false}\n"
      "{\"e\":\"end\",\"a\":5,\"b\":{\"c\":7},\"usd\":0.5}";
  for (const char c : stream) reader.add(std::string_view(&c, 1));  // In any split.
  reader.finish();
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].tool_called == "Bash");
  CHECK(steps[0].tool_input == Json{{"c", "ls"}});
  CHECK(steps[0].metadata == Json{{"printed", "HTTP 403"}, {"failed", true}});
  CHECK(steps[0].tool_output.is_null());
  CHECK_FALSE(steps[0].error.has_value());
  CHECK(steps[1].metadata == Json{{"unanswered", true}});
  CHECK(spent.input_tokens == 12);
  CHECK(spent.cost_usd == 0.5);
  CHECK(reader.end() == StreamEnd::finished);
  CHECK(reader.events() == 4);
}

TEST_CASE("a line that is too long is passed over, and the next one is read", "[adapters]") {
  const Adapter known =
      adapter(R"({"adapter": 1, "name": "t", "events": [{"when": {"e": 1}, "end": "failed"}]})");
  StreamReader reader(known, {});
  reader.add(std::string(StreamReader::longest_line + 10, 'x'));
  reader.add("x\n{\"e\":1}\n");
  CHECK(reader.end() == StreamEnd::failed);
}

TEST_CASE("adapters are found by the program's name beside the command", "[adapters]") {
  const Workshop shop;
  const std::string claude =
      shop.script("claude",
                  "echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
                  "\"result\":\"Invalid API key\"}'");
  CHECK(shop.run({"--run", "named.1"}, {claude, "-p", "x", "--output-format", "json"}).status == 5);
  CHECK(shop.run({"--run", "named.2", "--adapter", "generic"},
                 {claude, "-p", "x", "--output-format", "json"})
            .status == 0);
  const Printed plain = shop.run({"--run", "named.3"}, {claude, "-p", "x"});
  CHECK(plain.status == 0);
  CHECK_THAT(plain.error, ContainsSubstring("--output-format stream-json"));
}
