// SPDX-License-Identifier: MIT
#pragma once
// The state behind World and Process.

#include "lab/simulation/ledger.hpp"
#include "lab/simulation/scheduler.hpp"

#include "triage/lab/simulation.hpp"
#include "triage/stores/memory.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab::detail {

class MortalStore;
class WorldState;

// A process throughout its lives.
struct SimulatedProcess {
  WorldState& world;
  std::string name;
  std::function<void(Process&)> body;
  StartOptions options;
  std::shared_ptr<Clock> clock{};
  std::shared_ptr<Random> random{};
  std::optional<Chaos> chaos{};
  Incarnation* living = nullptr;
  int starts = 0;
};

// One of its lives.
struct Incarnation {
  SimulatedProcess& process;
  int start = 1;
  bool alive = true;
  std::stop_source stop{};
  std::map<std::string, std::shared_ptr<CheckpointStore>, std::less<>> stores{};
  std::vector<std::shared_ptr<MortalStore>> mortal{};

  void kill();
};

class WorldState {
 public:
  WorldState(StackPool& stacks, std::uint64_t seed, const SimulationOptions& options, Chaos chaos);

  void start(std::string name, std::function<void(Process&)> body, StartOptions options);
  void begin_life(SimulatedProcess& process, Duration after);
  // Plays the world to its end and reports the result.
  [[nodiscard]] SeedReport play(const std::function<void(World&)>& set_up);

  void add_invariant(std::string name, std::function<std::string()> check, bool at_end);
  void violated(std::string invariant, std::string detail);
  void count(std::string_view name, double amount);
  void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }
  [[nodiscard]] const std::shared_ptr<CheckpointStore>& stored(std::string_view name);
  [[nodiscard]] std::shared_ptr<CheckpointStore> store_for(Incarnation& life,
                                                           std::string_view name);

  [[nodiscard]] Scheduler& scheduler() noexcept { return scheduler_; }
  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::shared_ptr<Random> random(std::string_view name) const {
    return seeded_random(mixed(seed_, fnv1a(name)));
  }

 private:
  struct Invariant {
    std::string name;
    std::function<std::string()> check;
    bool at_end;
  };
  void live(Incarnation& life);
  void check_invariants(bool at_end);
  void check_end();

  const std::uint64_t seed_;
  const SimulationOptions& options_;
  Scheduler scheduler_;
  Chaos chaos_;
  Ledger ledger_{};
  std::map<std::string, std::shared_ptr<CheckpointStore>, std::less<>> stores_{};
  std::deque<SimulatedProcess> processes_{};
  std::deque<Incarnation> lives_{};
  std::vector<Invariant> invariants_{};
  std::optional<Violation> violation_{};
  std::map<std::string, double, std::less<>> figures_{};
  std::vector<std::shared_ptr<void>> kept_{};  // Destroyed first: its agents may use the above.
};

}  // namespace triage::inline v0_1::lab::detail
