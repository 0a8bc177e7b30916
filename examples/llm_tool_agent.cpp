// SPDX-License-Identifier: MIT
// An LLM with tools over the OpenAI-compatible protocol, on any server, that finishes its task
// although the model and the server fail in several ways. The recipe itself is tool_loop/agent.cpp.

#include "tool_loop/agent.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/triage.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

using triage::Result;

namespace {

constexpr const char* usage =
    "usage: llm_tool_agent --base-url URL --model NAME [--folder DIR] [--store FILE --run-id ID] "
    "TASK\n"
    "  --base-url  for instance https://api.openai.com/v1 or http://127.0.0.1:11434/v1\n"
    "  --folder    whose files the tools may read, and where notes are saved; default: .\n"
    "  --store     SQLite file: a run that was interrupted goes on where it stood\n"
    "The key, if the server wants one, is read from OPENAI_API_KEY.\n";

void tell(const triage::Event& event) {
  if (event.kind != triage::EventKind::recovery_chosen) return;
  const auto& why = event.failure->classification;
  std::fprintf(stderr, "attempt %d: %s (%s): %s\n", event.attempt,
               std::string(to_string(why.type)).c_str(), why.reason.c_str(),
               describe(*event.action).c_str());
}

std::map<std::string, std::string> parse(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--folder", "."}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      options["task"] += (options["task"].empty() ? "" : " ") + name;
    } else if (std::string(usage).find(name + " ") == std::string::npos || i + 1 == argc) {
      throw std::invalid_argument("unknown option, or one without a value: " + name);
    } else {
      options[name] = argv[++i];
    }
  }
  for (const char* needed : {"--base-url", "--model", "task"}) {
    if (options[needed].empty()) throw std::invalid_argument(std::string(needed) + " is missing");
  }
  if (options["--store"].empty() != options["--run-id"].empty()) {
    throw std::invalid_argument("--store and --run-id go together");
  }
  return options;
}

int run(std::map<std::string, std::string> options) {
  const char* key = std::getenv("OPENAI_API_KEY");
  const tool_loop::Setup setup{.base_url = options["--base-url"],
                               .model = options["--model"],
                               .api_key = key == nullptr ? "" : key,
                               .tools = tool_loop::make_tools(options["--folder"])};
  triage::AgentOptions agent_options{.name = "llm_tool_agent",
                                     .limits = {.max_attempts_per_type = 6, .max_tokens = 200'000},
                                     .observer = triage::observe(tell),
                                     .contract = contract(setup.tools)};
  if (!options["--store"].empty()) {
    agent_options.store = triage::SqliteStore::open(options["--store"]).value();
  }
  triage::TriageAgent agent{[&setup](const std::string& task, triage::Attempt& attempt) {
                              return tool_loop::answer(setup, task, attempt);
                            },
                            tool_loop::recovery_policy(), agent_options};
  const Result<std::string> answer =
      options["--run-id"].empty() ? agent.run(options["task"])
                                  : agent.run_or_resume(options["--run-id"], options["task"]);
  if (!answer) {
    std::fprintf(stderr, "llm_tool_agent: %s\n", answer.error().message().c_str());
    switch (answer.error().code) {
      case triage::Errc::aborted: return 6;
      case triage::Errc::suspended: return 7;  // A long wait: run it again later.
      default: return 5;
    }
  }
  std::printf("%s\n", answer.value().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::string(argv[1]) == "--help") {
      std::fputs(usage, stdout);
      return 0;
    }
    return run(parse(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "llm_tool_agent: %s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "llm_tool_agent: %s\n", error.what());
    return 1;
  }
}
