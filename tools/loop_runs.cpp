// SPDX-License-Identifier: MIT
#include "loop_runs.hpp"

#include "office.hpp"
#include "triage/step.hpp"

#include <optional>
#include <string>
#include <utility>

namespace triage::evaluation {
namespace {

class Scene {
 public:
  explicit Scene(std::uint64_t seed) : dice_(seed * 0xd1342543de82ef95U + seed) {}

  Trajectory clean(Clean kind) {
    for (std::size_t i = dice_.between(1, 4); i > 0; --i) {
      if (dice_.chance(0.5)) item();
      repeat_rightly(kind);
    }
    if (dice_.chance(0.7)) item();
    return std::move(steps_);
  }

  Trajectory stuck(Stuck kind) {
    for (std::size_t i = dice_.below(5); i > 0; --i) {
      item();
      if (dice_.chance(0.3)) repeat_rightly(static_cast<Clean>(dice_.below(6)));
    }
    get_stuck(kind);
    return std::move(steps_);
  }

 private:
  void call(const std::string& tool, Json input, Json output, const std::string& agent = "") {
    Step step{.action = "call " + tool,
              .tool_called = tool,
              .tool_input = std::move(input),
              .tool_output = std::move(output)};
    if (!agent.empty()) step.agent_id = agent;
    steps_.append(std::move(step));
  }
  void fail(const std::string& tool, Json input, const std::string& error) {
    steps_.append({.action = "call " + tool,
                   .tool_called = tool,
                   .tool_input = std::move(input),
                   .error = error});
  }
  void think() {
    steps_.append({.action = "think", .llm_output = thought(dice_, office_.subject)});
  }
  std::string tool(std::size_t stage) const { return office_.tools[stage]; }

  // One item through two to four stages. Every other run records no results.
  void item(const std::string& agent = "") {
    std::string given = dice_.id("topic-");
    const std::size_t last = dice_.between(get, put);
    for (std::size_t stage = find; stage <= last; ++stage) {
      const std::string next = dice_.id(office_.id_prefixes[stage]);
      call(tool(stage), {{office_.input_keys[stage], given}},
           records_ ? Json{{office_.input_keys[stage + 1], next}} : Json(nullptr), agent);
      given = next;
      if (dice_.chance(0.2)) think();
    }
  }

  void repeat_rightly(Clean kind) {
    switch (kind) {
      case Clean::plain: item(); break;
      case Clean::pages: {
        const std::string query = dice_.id("topic-");
        for (std::size_t page = 1; page <= dice_.between(3, 12); ++page) {
          call(tool(find), {{office_.input_keys[find], query}, {"page", page}},
               {{office_.list_key, Json::array({dice_.id("row-")})}});
        }
        break;
      }
      case Clean::polling: {
        const Json input{{"job", dice_.id("job-")}};
        std::size_t done = 0;
        for (; done < 100; done += dice_.between(3, 40)) {
          call("job_status", input, {{"state", "running"}, {"done_percent", done}});
          if (dice_.chance(0.2)) think();
        }
        call("job_status", input, {{"state", "finished"}, {"done_percent", 100}});
        break;
      }
      case Clean::waiting: {
        const Json input{{"job", dice_.id("job-")}};
        for (std::size_t i = dice_.between(1, 8); i > 0; --i) {
          call("job_status", input, {{"state", "pending"}});
        }
        call("job_status", input, {{"state", "finished"}});
        break;
      }
      case Clean::retries: {
        const Json input{{office_.input_keys[get], dice_.id(office_.id_prefixes[find])}};
        const std::string error = distant_error(dice_);
        for (std::size_t i = dice_.between(1, 4); i > 0; --i) fail(tool(get), input, error);
        call(tool(get), input, {{office_.input_keys[make], dice_.id(office_.id_prefixes[get])}});
        break;
      }
      case Clean::mending: {
        std::size_t failing = dice_.between(2, 6);
        const Json input{{"suite", dice_.id("suite-")}};
        while (failing > 0) {
          call("edit", {{"line", dice_.between(1, 900)}, {"text", dice_.id("x")}}, {{"ok", true}});
          if (dice_.chance(0.75)) --failing;  // An edit may not help.
          call("run_tests", input, {{"failing", failing}});
        }
        break;
      }
      case Clean::several_agents: work_together(); break;
    }
  }

  void work_together() {
    const Json suite{{"suite", dice_.id("suite-")}};
    const Json job{{"job", dice_.id("job-")}};
    std::size_t failing = dice_.between(2, 6);
    std::size_t done = 0;
    bool edited = false;
    while (failing > 0 || done < 100) {
      switch (dice_.below(4)) {
        case 0:
          call("edit", {{"line", dice_.between(1, 900)}, {"text", dice_.id("x")}}, {{"ok", true}},
               "coder");
          if (failing > 0 && dice_.chance(0.75)) --failing;
          edited = true;
          break;
        case 1:
          if (edited) call("run_tests", suite, {{"failing", failing}}, "tester");
          edited = false;
          break;
        case 2:
          done += dice_.between(5, 40);
          call("job_status", job, {{"done_percent", done}}, "watcher");
          break;
        default: call("ping", {{"to", "coordinator"}}, nullptr, "watcher");
      }
      if (dice_.chance(0.2)) item("researcher");
    }
  }

  void get_stuck(Stuck kind) {
    const std::size_t turns = dice_.between(3, 6);
    const Json input{{office_.input_keys[get], dice_.id(office_.id_prefixes[find])}};
    const Json output{{office_.input_keys[make], dice_.id(office_.id_prefixes[get])}};
    const std::string words = thought(dice_, dice_.id("topic-"));
    const std::string error = plain_error(dice_, input.front().get<std::string>());
    const std::size_t period =
        kind == Stuck::in_turn || kind == Stuck::without_results ? dice_.between(2, 3) : 1;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      switch (kind) {
        case Stuck::one_call: call(tool(get), input, output); break;
        case Stuck::in_turn:
        case Stuck::without_results:
          for (std::size_t i = 0; i < period; ++i) {
            call(tool(i), input, kind == Stuck::in_turn ? output : Json(nullptr));
          }
          break;
        case Stuck::failing: fail(tool(get), input, error); break;
        case Stuck::one_of_agents:
          call(tool(get), input, output, "stuck");
          for (std::size_t i = dice_.between(0, 2); i > 0 && turn + 1 < turns; --i) item("busy");
          break;
        case Stuck::back_and_forth:
          call("hand_over", {{"to", "reviewer"}, {"work", input.front()}}, nullptr, "author");
          call("hand_over", {{"to", "author"}, {"work", input.front()}}, nullptr, "reviewer");
          break;
        case Stuck::same_words: steps_.append({.action = "think", .llm_output = words}); break;
      }
      if (kind != Stuck::same_words && dice_.chance(0.2)) think();
    }
  }

  Dice dice_;
  const Office& office_ = some_office(dice_);
  bool records_ = dice_.chance(0.5);
  Trajectory steps_{};
};

}  // namespace

Trajectory clean_run(std::uint64_t seed) {
  return Scene(seed).clean(static_cast<Clean>(seed % clean_names.size()));
}

Trajectory stuck_run(std::uint64_t seed) {
  return Scene(seed).stuck(static_cast<Stuck>(seed % stuck_names.size()));
}

}  // namespace triage::evaluation
