// SPDX-License-Identifier: MIT
// Rolling back to k restores exactly the contents of k, for all k, over random runs with rollbacks:
// through the public API, from the store, and by resume_run from every checkpoint.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/stores/sqlite.hpp"

#include <random>

using namespace triage;
using namespace triage::test;

namespace {

// The contents of one checkpoint, kept in the simplest possible way.
struct Snapshot {
  Json state = Json::object();
  std::vector<std::string> steps{};
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

Snapshot seen(const State& state, const Trajectory& trajectory) {
  Snapshot now{.state = state.json()};
  for (const Step& step : trajectory) now.steps.push_back(step.action);
  return now;
}

// Derives a run's checkpoints from what the callable did.
class Model {
 public:
  void step(const std::string& action) {
    close();
    now_.steps.push_back(action);
    open_ = true;
  }
  void change(const std::function<void(Json&)>& edit) {
    edit(now_.state);
    open_ = true;
  }
  void label() {
    checkpoints_.push_back(now_);
    open_ = false;
  }
  void close() {
    if (open_) checkpoints_.push_back(now_);
    open_ = false;
  }
  void begin_from(Snapshot snapshot) {
    close();
    now_ = std::move(snapshot);
  }
  [[nodiscard]] const Snapshot& now() const { return now_; }
  [[nodiscard]] const std::vector<Snapshot>& checkpoints() const { return checkpoints_; }

 private:
  Snapshot now_{};
  bool open_ = false;
  std::vector<Snapshot> checkpoints_{};
};

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, std::shared_ptr<CheckpointStore> store)
      : random_(seed), store_(std::move(store)) {}

  int attempt(Attempt& attempt) {
    check_start(attempt);
    const int operations = pick(12);
    for (int i = 0; i < operations; ++i) operate(attempt);
    model_.close();
    if (attempt.number() >= 14 || pick(12) == 0) return attempt.number();
    throw std::runtime_error("timeout");
  }

  RecoveryAction decide() {
    switch (pick(8)) {
      case 0: return RecoveryAction::retry();
      case 1: return RecoveryAction::resume();
      case 2: return RecoveryAction::rollback({.or_start = true});
      case 3:
        return RecoveryAction::rollback({.kind = RollbackTarget::Kind::latest, .or_start = true});
      case 4:
        return RecoveryAction::rollback(
            {.kind = RollbackTarget::Kind::label, .name = any_label(), .or_start = true});
      case 5:
        return RecoveryAction::rollback(
            {.kind = RollbackTarget::Kind::back, .back = pick(6), .or_start = true});
      default: {  // Any checkpoint, including those of abandoned branches.
        const auto all = store_->checkpoints("r").value();
        if (all.empty()) return RecoveryAction::retry();
        const auto& chosen = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
        return RecoveryAction::rollback(
            {.kind = RollbackTarget::Kind::checkpoint, .name = to_string(chosen.id)});
      }
    }
  }

  [[nodiscard]] const Model& model() const { return model_; }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  std::string any_label() { return "label " + std::to_string(pick(3)); }
  std::string any_key() { return std::string(1, static_cast<char>('a' + pick(5))); }

  // The attempt sees the contents of the checkpoint that it was told of.
  void check_start(Attempt& attempt) {
    Snapshot expected;
    if (const Recovery* recovery = attempt.recovery()) {
      if (recovery->action == RecoveryAction::Kind::resume) {
        expected = model_.now();
      } else if (!recovery->checkpoint_id.empty()) {
        const auto all = store_->checkpoints("r").value();
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (to_string(all[k].id) == recovery->checkpoint_id)
            expected = model_.checkpoints().at(k);
        }
      }
    }
    CHECK(seen(attempt.state(), attempt.trajectory()) == expected);
    model_.begin_from(std::move(expected));
  }

  void operate(Attempt& attempt) {
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::string action = "step " + std::to_string(next_++);
        Step step{.action = action};
        if (pick(6) == 0) step.error = "boom";
        attempt.record_step(std::move(step));
        model_.step(action);
        break;
      }
      case 4:
      case 5: {
        const std::string key = any_key();
        const Json value = pick(3) == 0 ? Json(std::string(200, 'x')) : Json(next_++);
        Json patch = Json::object();
        patch[key] = value;
        attempt.update_state(std::move(patch));
        model_.change([&](Json& state) { state[key] = value; });
        break;
      }
      case 6: {
        const std::string key = any_key();
        attempt.remove_state(key);
        if (model_.now().state.contains(key)) {
          model_.change([&](Json& state) { state.erase(key); });
        }
        break;
      }
      case 7: {
        Json whole = Json::object();
        for (int i = pick(4); i > 0; --i) whole[any_key()] = Json{{"n", next_++}};
        attempt.replace_state(whole);
        model_.change([&](Json& state) { state = whole; });
        break;
      }
      case 8:
        REQUIRE_OK(attempt.checkpoint(any_label()));
        model_.label();
        break;
      default: attempt.record_usage({.input_tokens = 1}); break;
    }
  }

  std::mt19937_64 random_;
  std::shared_ptr<CheckpointStore> store_;
  Model model_{};
  int next_ = 0;
};

std::vector<Snapshot> stored_snapshots(CheckpointStore& store) {
  std::vector<Snapshot> all;
  const auto infos = store.checkpoints("r").value();
  for (const CheckpointInfo& info : infos) {
    const Checkpoint loaded = store.load(info.id).value();
    CHECK(store.load_state(info.id).value() == loaded.state);
    all.push_back(seen(loaded.state, loaded.trajectory));
  }
  return all;
}

void check_run(std::uint64_t seed, const std::shared_ptr<CheckpointStore>& store) {
  INFO("seed " << seed);
  Kit kit;
  RandomRun run(seed, store);
  AgentOptions options = kit.with(store);
  options.limits = {.max_attempts = 50, .max_attempts_per_type = 50};
  FailurePolicy policy;
  policy.otherwise(Strategy("random", [&](const FailureContext&) { return run.decide(); }));
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) { return run.attempt(attempt); }, policy, options};
  const auto finished = agent.run("task", {.run_id = "r"});
  REQUIRE_OK(finished);
  REQUIRE(stored_snapshots(*store) == run.model().checkpoints());

  // The same by resume_run from each of them on the finished run.
  const auto ids = store->checkpoints("r").value();
  Snapshot restored;
  FailurePolicy stop;
  stop.otherwise(always(RecoveryAction::escalate()));
  const TriageAgent resumed{[&](const std::string&, Attempt& attempt) -> int {
                              restored = seen(attempt.state(), attempt.trajectory());
                              throw std::runtime_error("timeout");
                            },
                            stop, options};
  for (std::size_t k = 0; k < ids.size(); k += 1 + ids.size() / 12) {
    CHECK_ERRC(Errc::escalated,
               resumed.resume_run("r", {.from = to_string(ids[k].id), .accept_changed = true}));
    CHECK(restored == run.model().checkpoints().at(k));
  }
}

}  // namespace

TEST_CASE("a rollback to k restores what was at k, for all k, in a memory store", "[property]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) check_run(seed, MemoryStore::create());
}

TEST_CASE("a rollback to k restores what was at k, for all k, in a SQLite store",
          "[property][sqlite]") {
  for (std::uint64_t seed = 101; seed <= 125; ++seed) {
    check_run(seed, SqliteStore::open(":memory:").value());
  }
}
