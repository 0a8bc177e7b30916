// SPDX-License-Identifier: MIT
// A fixed graph: coordinator -> board <-> agents, board -> synthesis. The changing plan is the
// board's state.
#include "triage/workflow/team.hpp"
#include "base/json_words.hpp"
#include "plan_board.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

using detail::PlanBoard;

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

auto agent_handler(Team::Work work) {
  return stateless([work = std::move(work)](const Json& order, Context& context) -> Result<Json> {
    Json done = about_goal({{"task", order.at("task")}}, goal_of(order));
    try {
      auto output = work({.id = order.at("task").get<std::string>(),
                          .description = order.at("description").get<std::string>(),
                          .context = outputs_from(order.at("context"))},
                         context);
      const bool ends = !output && (output.error().code == Errc::cancelled ||
                                    output.error().code == Errc::suspended);
      if (ends) return std::move(output).error();
      if (output) {
        done["output"] = std::move(output).value();
      } else {
        done["failed"] = output.error().detail;
      }
    } catch (const std::exception& e) {
      done["failed"] = triage::detail::json_words(e.what());
    }
    return done;
  });
}

auto coordinator_handler(Team::Coordinator plan) {
  return stateless([plan = std::move(plan)](const Json& question, Context& context) -> Json {
    TeamQuestion asked;
    Scope team = context.shared("team");
    // A goal may look like a question.
    const int goals = team.find("goal") == nullptr ? 0 : team.value("goals", 1);
    int goal = goals + 1;
    if (goals > 0 && question.is_object() && question.contains("triage.failed")) {
      goal = goal_of(question);
      asked.goal = question.at("goal");
      asked.failed = question.at("triage.failed").get<std::string>();
      asked.why = question.at("why").get<std::string>();
      asked.done = outputs_from(question.at("done"));
      asked.refused = question.value("refused", std::string());
    } else {
      asked.goal = question;
      team.set(PlanBoard::goal_key(goal), question);
      if (goal > 1) team.set("goals", goal);
    }
    Json answer = about_goal({{"patch", plan(asked, context)}}, goal);
    if (!asked.failed.empty()) answer["about"] = asked.failed;
    return answer;
  });
}

auto synthesis_handler(Team::Synthesis synthesis) {
  return stateless([synthesis = std::move(synthesis)](const Json& all, Context& context) -> Json {
    try {
      std::vector<TaskOutput> outputs;
      for (const auto& [task, output] : all.at("outputs").items())
        outputs.push_back({task, output});
      return synthesis(outputs, context);
    } catch (const std::exception& e) {
      Json raw = all;
      raw["synthesis_failed"] = triage::detail::json_words(e.what());
      return raw;
    }
  });
}

// Hands out ready tasks; at the end, passes on the results.
void give_work(PlanBoard& board, int goal, bool synthesises, Context& context) {
  for (const Json& order : board.take_ready()) {
    context.send_to(order.at("assignee").get<std::string>(), about_goal(order, goal));
  }
  if (!board.finished()) return;
  if (synthesises) {
    context.send_to("synthesis", board.results());
  } else {
    context.output(board.results());
  }
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
  WorkflowBuilder builder(id_, std::move(of_workflow));
  for (const auto& declare : ports_) declare(builder);
  std::vector<std::string> names;
  for (const auto& [name, work] : agents_) {
    if (name == "coordinator" || name == "board" || name == "synthesis") {
      return wrong_team("team \"" + printable(id_) + "\" has an agent \"" + name +
                        "\"; the team itself has executors coordinator, board and synthesis, so "
                        "agents have other names");
    }
    builder.executor(name, agent_handler(work));
    names.push_back(name);
  }
  builder.executor("coordinator", coordinator_handler(coordinator_)).start("coordinator");
  const bool synthesises = synthesis_ != nullptr;
  const auto board_handler = [names, synthesises, limits = limits_](
                                 const Json& news, Context& context) -> Result<void> {
    const int goal = goal_of(news);
    PlanBoard board(context, names, limits, goal);
    const auto ask = [&](const Json& question) {
      context.send_to("coordinator", about_goal(question, goal));
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
    give_work(board, goal, synthesises, context);
    return outcome::success();
  };
  builder.executor("board", stateless(board_handler), {.patches_plan = true})
      .edge("coordinator", "board");
  std::vector<std::string> targets = names;
  targets.emplace_back("coordinator");
  if (synthesises) {
    builder.executor("synthesis", synthesis_handler(synthesis_));
    targets.emplace_back("synthesis");
  }
  builder.fan_out("board", targets, {}, {.name = "board"});
  for (const std::string& name : names) builder.edge(name, "board");
  return builder.build();
}

}  // namespace triage::inline v0_1::workflow
