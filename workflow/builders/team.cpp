// SPDX-License-Identifier: MIT
// A fixed graph: coordinator -> board <-> agents, board -> synthesis. The changing plan is the
// board's state.
#include "triage/workflow/team.hpp"
#include "definition/team_message.hpp"
#include "plan_board.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

using detail::PlanBoard;
using detail::TeamMessage;

// A team inside a workflow may get several goals and keeps a plan for each. Messages about the
// first goal carry no number.
constexpr const char* goal_number = "goal_number";

int goal_of(const Json& message) { return message.value(goal_number, 1); }

Json about_goal(Json message, int goal) {
  if (goal > 1) message[goal_number] = goal;
  return message;
}

Error wrong_team(std::string text) { return {Errc::invalid_argument, std::move(text)}; }

std::vector<TaskOutput> outputs_from(const Json& json) {
  std::vector<TaskOutput> outputs;
  for (const Json& one : json) {
    outputs.push_back({one.at("task").get<std::string>(), one.at("output")});
  }
  return outputs;
}

Message ended(const Json& order, const char* how, Json value) {
  Json json = about_goal({{"task", order.at("task")}}, goal_of(order));
  json[how] = std::move(value);
  return make_message(TeamMessage{std::move(json)});
}

auto agent_handler(Team::Work work) {
  return stateless([work = std::move(work)](const Json& order, Context& context) -> Result<void> {
    TRIAGE_TRY(output, work({.id = order.at("task").get<std::string>(),
                             .description = order.at("description").get<std::string>(),
                             .context = outputs_from(order.at("context"))},
                            context));
    // As deep as it will be in orders for other tasks, and in questions.
    Json deep = Json::array({Json::array({Json::array({std::move(output)})})});
    TRIAGE_TRYV(check_json(deep, "the output"));
    context.send_message(ended(order, "output", std::move(deep[0][0][0])));
    return outcome::success();
  });
}

// What an agent's policy leaves of a failure fails its task.
ExecutorOptions of_agent(ExecutorOptions own) {
  own.instead = [](const Error& error, const Message& order) {
    return ended(order.json(), "failed", error.message());
  };
  own.instead_is_failure = false;
  own.fallback = [](const Json& value, const Message& order, Context&) {
    return ended(order.json(), "output", value);
  };
  return own;
}

struct Asked {
  TeamQuestion question{};
  int goal = 1;  // Its number.
};

Asked asked_about_failure(const Json& json) {
  return {.question = {.goal = json.at("goal"),
                       .failed = json.at("triage.failed").get<std::string>(),
                       .why = json.at("why").get<std::string>(),
                       .done = outputs_from(json.at("done")),
                       .refused = json.value("refused", std::string())},
          .goal = goal_of(json)};
}

Asked asked_about_goal(const Json& goal, Context& context) {
  Scope team = context.shared("team");
  const int number = team.value("goals", 0) + 1;
  team.set("goals", number);
  team.set(PlanBoard::goal_key(number), goal);
  return {.question = {.goal = goal}, .goal = number};
}

TeamMessage answer(const Asked& asked, Json patch) {
  Json json = about_goal({{"patch", std::move(patch)}}, asked.goal);
  if (!asked.question.failed.empty()) json["about"] = asked.question.failed;
  return {std::move(json)};
}

// A goal may be anything, so only its type tells a question of the team's own from it.
auto coordinator_handlers(Team::Coordinator plan) {
  return stateless(handlers(
      [plan](const TeamMessage& question, Context& context) {
        const Asked asked = asked_about_failure(question.json);
        return answer(asked, plan(asked.question, context));
      },
      [plan](const Json& goal, Context& context) {
        const Asked asked = asked_about_goal(goal, context);
        return answer(asked, plan(asked.question, context));
      }));
}

ExecutorOptions of_coordinator(ExecutorOptions own) {
  own.fallback = [](const Json& value, const Message& message, Context& context) {
    const bool is_goal = message.type != TeamMessage::message_type;
    return make_message(answer(
        is_goal ? asked_about_goal(message.json(), context) : asked_about_failure(message.json()),
        value));
  };
  return own;
}

auto synthesis_handler(Team::Synthesis synthesis) {
  return stateless([synthesis = std::move(synthesis)](const Json& all, Context& context) -> Json {
    std::vector<TaskOutput> outputs;
    for (const auto& [task, output] : all.at("outputs").items()) outputs.push_back({task, output});
    return synthesis(outputs, context);
  });
}

ExecutorOptions of_synthesis(ExecutorOptions own) {
  own.instead = [](const Error& error, const Message& all) {
    Json raw = all.json();
    raw["synthesis_failed"] = error.message();
    return make_message(raw);
  };
  own.instead_is_failure = false;
  return own;
}

// Hands out ready tasks; at the end, passes on the results.
void give_work(PlanBoard& board, int goal, bool synthesises, Context& context) {
  for (const Json& order : board.take_ready()) {
    context.send_to(order.at("assignee").get<std::string>(), TeamMessage{about_goal(order, goal)});
  }
  if (!board.finished()) return;
  if (synthesises) {
    context.send_to("synthesis", board.results());
  } else {
    context.output(board.results());
  }
}

// What a board needs to know of its team.
struct Members {
  std::vector<std::string> agents{};
  TeamLimits limits{};
  bool synthesises = false;
};

auto board_handler(Members team) {
  return stateless([team = std::move(team)](const Json& news, Context& context) -> Result<void> {
    const int goal = goal_of(news);
    PlanBoard board(context, team.agents, team.limits, goal);
    const auto ask = [&](const Json& question) {
      context.send_to("coordinator", TeamMessage{about_goal(question, goal)});
    };
    if (news.contains("patch")) {
      const auto about = news.value("about", std::string());
      if (auto applied = board.apply(news.at("patch"), about); !applied) {
        if (!board.may_ask_again()) return applied;
        ask(board.question_again(about, applied.error().detail));
        return outcome::success();
      }
      context.plan_patched();
    } else if (news.contains("failed")) {
      const auto task = news.at("task").get<std::string>();
      const auto why = news.at("failed").get<std::string>();
      board.fail(task, why);
      if (board.may_change()) {  // The coordinator may find another way.
        ask(board.question(task, why));
        return outcome::success();
      }
      board.give_up_on(task);
    } else {
      board.complete(news.at("task").get<std::string>(), news.at("output"));
    }
    give_work(board, goal, team.synthesises, context);
    return outcome::success();
  });
}

Result<void> check_agent_name(const std::string& team, const std::string& name,
                              const std::vector<std::string>& before) {
  if (name == "coordinator" || name == "board" || name == "synthesis") {
    return wrong_team("team \"" + printable(team) + "\" has an agent \"" + name +
                      "\"; the team itself has executors coordinator, board and synthesis, so "
                      "agents have other names");
  }
  if (std::find(before.begin(), before.end(), name) != before.end()) {
    return wrong_team("team \"" + printable(team) + "\" has agent \"" + printable(name) +
                      "\" twice");
  }
  return outcome::success();
}

}  // namespace

Result<Workflow> Team::build() const {
  if (!coordinator_) return wrong_team("team \"" + printable(id_) + "\" has no coordinator");
  if (agents_.empty()) return wrong_team("team \"" + printable(id_) + "\" has no agents");
  if (limits_.max_tasks < 1 || limits_.max_patches < 1) {
    return wrong_team("max_tasks is " + std::to_string(limits_.max_tasks) + " and max_patches " +
                      std::to_string(limits_.max_patches) + "; allowed is 1 or more");
  }
  WorkflowOptions of_workflow = options_;
  of_workflow.schedule = Schedule::supersteps;
  of_workflow.max_supersteps = 1'000'000;
  // The board is the team's own machinery, so that they are not for it.
  const ExecutorDefaults defaults = std::exchange(of_workflow.defaults, {});
  const ExecutorOptions own{.policy = defaults.policy,
                            .timeout = defaults.timeout,
                            .idle_timeout = defaults.idle_timeout,
                            .limits = defaults.limits};
  WorkflowBuilder builder(id_, std::move(of_workflow));
  for (const auto& declare : ports_) declare(builder);
  Members team{.limits = limits_, .synthesises = synthesis_ != nullptr};
  for (const auto& [name, work] : agents_) {
    TRIAGE_TRYV(check_agent_name(id_, name, team.agents));
    builder.executor(name, agent_handler(work), of_agent(own)).edge(name, "board");
    team.agents.push_back(name);
  }
  std::vector<std::string> targets = team.agents;
  targets.emplace_back("coordinator");
  builder.executor("coordinator", coordinator_handlers(coordinator_), of_coordinator(own))
      .start("coordinator")
      .executor("board", board_handler(std::move(team)), {.patches_plan = true})
      .edge("coordinator", "board");
  if (synthesis_) {
    builder.executor("synthesis", synthesis_handler(synthesis_), of_synthesis(own));
    targets.emplace_back("synthesis");
  }
  return builder.fan_out("board", targets, {}, {.name = "board"}).build();
}

}  // namespace triage::inline v0_1::workflow
