// SPDX-License-Identifier: MIT
// Kills a run with SIGKILL at every point around an effect and its compensation, resumes it in
// another process, and checks that nothing happened twice, that no result was lost, and that the
// run is in doubt exactly when the kill fell between a durable intent and its durable end.
// Usage: effect_campaign [--times N] [--seed S]    N kills at each point.
#include "effect_victim.hpp"
#include "support/temp_folder.hpp"
#include "triage/clock.hpp"
#include "triage/journal.hpp"
#include "triage/stores/sqlite.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace triage;
using namespace triage::test;

struct Counts {
  int kills = 0;
  int in_doubt = 0;
  int settled = 0;
};

// What the outside world saw, line by line; returns a problem in words, or nothing.
class World {
 public:
  std::string see(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string what = line.substr(0, space);
    const std::string call = line.substr(space + 1);  // KEY#GENERATION
    const std::string key = call.substr(0, call.find('#'));
    if (what == "effect") {
      if (!sent_.insert(call).second) return call + " was sent twice";
      if (++standing[key] > 1) return key + " stands twice";
    } else if (what == "undo") {
      if (!undone_.insert(call).second) return call + " was undone twice";
      if (--standing[key] < 0) return key + " was undone and never done";
    } else if (what == "ack") {
      if (!sent_.contains(call)) return call + " was acknowledged and never sent";
      auto& acknowledged = acknowledged_[key];
      if (!acknowledged.empty() && acknowledged != call && !undone_.contains(acknowledged)) {
        return "the result " + acknowledged + " was lost";
      }
      acknowledged = call;
    }
    return {};
  }
  std::map<std::string, int> standing{};

 private:
  std::set<std::string> sent_{};
  std::set<std::string> undone_{};
  std::map<std::string, std::string> acknowledged_{};
};

class Campaign {
 public:
  Campaign(int times, std::uint64_t seed) : times_(times), random_(seeded_random(seed)) {}

  int run() {
    for (const KillPoint& point : kill_points) {
      for (int i = 0; i < times_; ++i) kill_once(point);
      const Counts& counts = counts_[point.name];
      std::printf("%-26s kills=%d in_doubt=%d settled=%d\n", std::string(point.name).c_str(),
                  counts.kills, counts.in_doubt, counts.settled);
    }
    std::printf("points=%zu kills=%d double=%d lost=%d false_doubts=%d missed_doubts=%d other=%d\n",
                kill_points.size(), kills_, double_, lost_, false_doubts_, missed_doubts_, other_);
    return double_ + lost_ + false_doubts_ + missed_doubts_ + other_ == 0 ? 0 : 1;
  }

 private:
  // Forked instead of newly started: no store is open here and no thread runs.
  static int status_of(const EffectVictim& victim) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      int status = 4;
      try {
        status = run_effect_victim(victim);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "victim: %s\n", e.what());
      }
      ::_exit(status);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  void kill_once(const KillPoint& point) {
    std::filesystem::remove_all(folder_.path() / "run");
    std::filesystem::create_directory(folder_.path() / "run");
    name_ = std::string(point.name) + ", kill " + std::to_string(++kills_);
    Counts& counts = counts_[point.name];
    ++counts.kills;
    EffectVictim victim{.database = (folder_.path() / "run" / "a.db").string(),
                        .side_log = (folder_.path() / "run" / "log").string(),
                        .dies_at = &point,
                        .reconciles = point.loses_answer,
                        .steps = static_cast<int>(random_->next() % 4),
                        .mode = static_cast<int>(random_->next() % 3)};
    if (status_of(victim) != 128 + SIGKILL) return problem(other_, "nobody was killed");
    victim.dies_at = nullptr;
    victim.reconciles = false;
    int status = status_of(victim);
    if (status == exit_in_doubt) {
      ++counts.in_doubt;
      if (!point.doubt) problem(false_doubts_, "in doubt for no reason");
      check_world(false);
      victim.reconciles = true;
      status = status_of(victim);
      if (status == exit_finished) ++counts.settled;
    } else if (point.doubt) {
      problem(missed_doubts_, "not in doubt, as it must be");
    }
    if (status != exit_finished) problem(other_, "not finished: " + std::to_string(status));
    check_world(true);
    check_journal(victim.database);
  }

  void check_world(bool finished) {
    World world;
    std::ifstream file(folder_.path() / "run" / "log");
    for (std::string line; std::getline(file, line);) {
      const std::string wrong = world.see(line);
      if (wrong.empty()) continue;
      problem(wrong.find("lost") == std::string::npos ? double_ : lost_, wrong);
    }
    for (const char* key : {"a", "b"}) {
      if (finished && world.standing[key] != 1) problem(lost_, std::string(key) + " is missing");
    }
  }

  void check_journal(const std::string& database) {
    const auto store = SqliteStore::open(database, {.read_only = true}).value();
    const JournalReading reading = store->read("r", {}).value();
    const Journal journal = Journal::fold(reading).value();
    if (!reading.damaged.empty() || journal.broken_at()) problem(other_, "the journal is damaged");
    for (const auto& [key, effect] : journal.effects()) {
      if (effect.status != EffectState::Status::completed) problem(other_, key + " is not done");
    }
  }

  void problem(int& count, const std::string& what) {
    ++count;
    std::printf("FAILED: %s: %s\n", name_.c_str(), what.c_str());
  }

  const int times_;
  std::shared_ptr<Random> random_;
  test::TempFolder folder_{};
  std::string name_;
  std::map<std::string_view, Counts> counts_;
  int kills_ = 0;
  int double_ = 0;
  int lost_ = 0;
  int false_doubts_ = 0;
  int missed_doubts_ = 0;
  int other_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  int times = 20;
  std::uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--times") times = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return Campaign(times, seed).run();
}
