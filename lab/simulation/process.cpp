// SPDX-License-Identifier: MIT
#include "lab/simulation/world_state.hpp"
#include "lab/simulation/world_stores.hpp"

#include <utility>

namespace triage::inline v0_1::lab {
namespace {

// Traces a run's events, then passes them to the user's observer.
class TracingObserver final : public Observer {
 public:
  TracingObserver(detail::Scheduler& scheduler, std::string who, std::shared_ptr<Observer> next)
      : scheduler_(scheduler), who_(std::move(who)), next_(std::move(next)) {}
  void on_event(const Event& event) override {
    scheduler_.trace(who_, to_string(event.kind), event.text,
                     event.number + static_cast<std::uint64_t>(event.attempt));
    if (next_) next_->on_event(event);
  }

 private:
  detail::Scheduler& scheduler_;
  const std::string who_;
  const std::shared_ptr<Observer> next_;
};

// The status that the store must show for a run's result; none if several are possible.
std::optional<RunStatus> stored_as(const Error* error) {
  if (error == nullptr) return RunStatus::finished;
  switch (error->code) {
    case Errc::escalated: return RunStatus::escalated;
    case Errc::aborted: return RunStatus::aborted;
    case Errc::suspended: return RunStatus::suspended;
    default: return std::nullopt;
  }
}

}  // namespace

void detail::Incarnation::kill() {
  if (!alive) return;
  alive = false;
  for (const auto& store : mortal) store->die();
  process.world.scheduler().trace(process.name, "killed");
  stop.request_stop();
}

const std::string& Process::name() const noexcept { return self_.process.name; }
int Process::start() const noexcept { return self_.start; }
bool Process::alive() const noexcept { return self_.alive; }
const std::shared_ptr<Clock>& Process::clock() const noexcept { return self_.process.clock; }
const std::shared_ptr<Random>& Process::random() const noexcept { return self_.process.random; }
const Chaos& Process::chaos() const noexcept { return *self_.process.chaos; }
std::stop_token Process::stop_token() const noexcept { return self_.stop.get_token(); }
void Process::kill() { self_.kill(); }

std::shared_ptr<CheckpointStore> Process::store(std::string_view name) {
  return self_.process.world.store_for(self_, name);
}

AgentOptions Process::options(AgentOptions options) {
  if (!options.clock) options.clock = clock();
  if (!options.random) options.random = random();
  if (options.write_mode == WriteMode::background) options.write_mode = WriteMode::deferred;
  options.observer = std::make_shared<TracingObserver>(self_.process.world.scheduler(), name(),
                                                       std::move(options.observer));
  return options;
}

RunOptions Process::run_options(RunOptions options) const {
  if (!options.stop_token.stop_possible()) options.stop_token = stop_token();
  return options;
}

void Process::work(Duration length) {
  clock()->sleep_until(detail::later(clock()->now(), length), stop_token());
  if (!alive()) throw ProcessKilled{};
}

int Process::perform(const EffectCall& call, EffectSemantics semantics) {
  if (!alive()) throw ProcessKilled{};
  detail::WorldState& world = self_.process.world;
  world.scheduler().trace(name(), "effect", call.key);
  const int times = world.ledger().perform(call, semantics);
  if (std::string wrong = world.ledger().doubled_effects(); !wrong.empty()) {
    world.violated("no effect is doubled", std::move(wrong));
  }
  return times;
}

Reconciled Process::reconcile(const EffectCall& call) const {
  return self_.process.world.ledger().reconcile(call);
}

void Process::compare(const RunId& run, const Error* error) {
  if (!alive()) throw ProcessKilled{};
  const auto wanted = stored_as(error);
  if (!wanted) return;
  for (const auto& [name, store] : self_.stores) {
    const auto info = self_.process.world.stored(name)->run(run);
    if (!info || info.value().status == *wanted) continue;
    self_.process.world.violated(
        "the outcome is what the journal says",
        "run " + run + " returned " +
            (error == nullptr ? "a value" : std::string(to_string(error->code))) +
            ", and its journal says " + std::string(to_string(info.value().status)));
  }
}

}  // namespace triage::inline v0_1::lab
