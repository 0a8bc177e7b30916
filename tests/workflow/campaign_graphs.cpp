// SPDX-License-Identifier: MIT
#include "campaign_graphs.hpp"

#include <cstdint>

namespace triage::test {

using namespace workflow;

namespace {

// The same on all machines, unlike std::hash.
std::uint32_t hash_of(const std::string& text) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16'777'619U;
  return hash;
}

// A message in a cycle or through a nested graph becomes several, and an asking executor continues
// once for each message it gets: beyond this number, nothing is sent on.
constexpr int most_answered = 6;

// Sends a number made of the input and the executor's name, and adds to a shared sum.
void work_with(int bonus, const Json& got, Context& context) {
  const int sent = bonus + static_cast<int>(hash_of(context.executor() + show(got)) % 1'000);
  context.shared().set("sum", sent);
  context.state().set("last", sent);
  if (context.occurrence() > most_answered) return;
  context.output(context.shared().value("sum", 0));
  context.send(sent);
}

void work(const Json& got, Context& context) { work_with(0, got, context); }

void ask(const Json& got, Context& context) {
  const bool asks = context.occurrence() <= most_answered;
  work_with(asks ? context.request<int>("bonus", got) : 0, got, context);
}

}  // namespace

Workflow random_workflow(Rng& rng, std::size_t nodes, int depth) {
  WorkflowBuilder builder("random" + std::to_string(depth), {.max_supersteps = 12});
  builder.reducer("sum", reduce::sum()).port<int>("bonus");
  const auto name = [](std::size_t i) { return "n" + std::to_string(i); };
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t kind = below(rng, 20);
    if (kind == 0 && depth < 2 && i > 0) {
      builder.executor(name(i), random_workflow(rng, 2 + below(rng, 5), depth + 1));
    } else if (kind == 1) {
      builder.executor(name(i), ask);
    } else {
      builder.executor(name(i), work);
    }
  }
  int ways_back = 0;
  builder.start(name(0));
  for (std::size_t i = 1; i < nodes; ++i) {
    const std::size_t from = below(rng, i);
    const std::size_t other = below(rng, i);
    if (from != other && below(rng, 3) == 0) {
      const Join joins[] = {Join::all(), Join::any(), Join::of(2)};
      builder.fan_in({name(from), name(other)}, name(i), joins[below(rng, 3)]);
    } else {
      builder.edge(name(from), name(i));
    }
    // Few, because messages that multiply in cycles take forever.
    if (below(rng, 12) == 0 && ++ways_back <= 2) {
      builder.edge(name(i), name(below(rng, i)), when<int>([](int n) { return n % 4 == 0; }),
                   {.name = "back" + name(i)});
    }
  }
  return builder.build().value();
}

Result<WorkflowResult> answered_to_end(WorkflowRun& run, const Json& inputs,
                                       const std::function<void()>& each) {
  for (;;) {
    // A branch that has not started gets its inputs from its branch point.
    auto result = inputs.is_null() ? run.resume() : run.start_or_resume(inputs);
    each();
    if (result || result.error().code != Errc::suspended) return result;
    const auto pending = run.pending_requests();
    if (!pending) return pending.error();
    if (pending.value().empty()) return result;
    for (const PendingRequest& one : pending.value()) {
      // The victim's answers are all 100; others are derived from the request.
      const int answer = one.port == "bonus" && one.executor.rfind("ask", 0) == 0
                             ? 100
                             : static_cast<int>(hash_of(one.id) % 50);
      if (auto done = run.answer(one.id, answer); !done) return std::move(done).error();
    }
  }
}

std::string run_to_end(WorkflowRun& run, CheckpointStore& store) {
  // Its id is known if it is to be started; a branch is only resumed.
  const bool begun = run.checkpoints().has_value();
  const bool branch = run.id().rfind("branch", 0) == 0;
  const auto result = answered_to_end(run, branch || begun ? Json() : Json(1));
  std::string text = result ? "" : std::string(to_string(result.error().code));
  if (result) {
    for (const Output& one : result.value().outputs) text += one.executor + show(one.value) + ";";
  }
  const auto state = run.state();
  text += state ? show(state.value()) : state.error().detail;
  const auto view = inspect(store, run.id());
  if (!view) return text + view.error().detail;
  for (const StoredDelivery& one : view.value().deliveries) {
    text += one.executor + "/" + std::to_string(one.occurrence) + "@" +
            std::to_string(one.superstep) + show(Json(one.sent)) + show(Json(one.outputs));
  }
  return text;
}

}  // namespace triage::test
