// SPDX-License-Identifier: MIT
#pragma once
// A workflow that suspends: plan -> left, right -> both, and `right` asks for a score.

#include "kit.hpp"

#include <string>
#include <utility>
#include <vector>

namespace triage::test {

// plan: makes the topic (text) of the inputs. left: takes it, and gives a text.
template <class Plan, class Left>
workflow::Workflow asking_graph(Plan plan, Left left) {
  using workflow::Context;
  return built(
      workflow::WorkflowBuilder("asks")
          .port<int>("score")
          .executor("plan", std::move(plan))
          .executor("left", std::move(left))
          .executor("right",
                    [](const std::string& topic, Context& context) {
                      return topic + std::to_string(context.request<int>("score", topic));
                    })
          .executor("both", [](const std::vector<std::string>& all) { return all[0] + all[1]; })
          .start("plan")
          .fan_out("plan", {"left", "right"})
          .fan_in({"left", "right"}, "both"));
}

}  // namespace triage::test
