// SPDX-License-Identifier: MIT
#include "resume/claim.hpp"

#include "triage/agent.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/sqlite.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace triage::test {
namespace {

// Data shared by the processes.
struct Shared {
  std::atomic<unsigned> arrived{0};
  std::atomic<std::size_t> winners_by_time{0};
  std::atomic<std::size_t> losers{0};
  std::atomic<std::size_t> other_errors{0};
  std::atomic<std::size_t> calls{0};
  std::atomic<unsigned> winners[1];  // One a round.
};

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t rounds)
      : bytes_(sizeof(Shared) + rounds * sizeof(std::atomic<unsigned>)),
        at_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    new (at_) Shared;  // The rest is zero-initialised by the system.
  }
  ~SharedMemory() { ::munmap(at_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared& operator*() const { return *static_cast<Shared*>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};

// An agent per round, so that it can only take up that round's run.
auto make_agent_on(std::shared_ptr<CheckpointStore> store, std::size_t round, Shared& shared) {
  FailurePolicy policy;
  policy.otherwise(suspend({.message = "who is first?", .until = WallTime{}}));
  return TriageAgent{[&shared](const std::string&, Attempt& attempt) -> int {
                       if (attempt.number() == 1) throw std::runtime_error("ask");
                       ++shared.calls;
                       return 1;
                     },
                     policy,
                     {.name = "agent" + std::to_string(round),
                      .store = std::move(store),
                      .write_mode = WriteMode::deferred}};
}

// Waits until all contenders have reached this round.
void meet(Shared& shared, std::size_t round, unsigned contenders) {
  const auto all = static_cast<unsigned>((round + 1) * contenders);
  ++shared.arrived;
  while (shared.arrived < all) ::sched_yield();
}

void count(const Error& error, Shared& shared) {
  if (error.code == Errc::not_found || error.code == Errc::busy || error.code == Errc::conflict) {
    ++shared.losers;
  } else {
    ++shared.other_errors;
  }
}

void contend(const std::shared_ptr<CheckpointStore>& store, const std::vector<std::string>& tokens,
             const Contenders& all, bool by_time, Shared& shared) {
  for (std::size_t round = 0; round < tokens.size(); ++round) {
    const auto agent = make_agent_on(store, round, shared);
    meet(shared, round, all.processes * all.threads);
    if (!by_time) {
      const auto result = agent.decide(tokens[round], RecoveryAction::retry());
      if (result) {
        ++shared.winners[round];
      } else {
        count(result.error(), shared);
      }
      continue;
    }
    const auto resumed = agent.resume_due();
    if (!resumed) {
      count(resumed.error(), shared);
    } else if (resumed.value().empty()) {
      ++shared.losers;
    } else if (const auto& result = resumed.value().at(0).result) {
      ++shared.winners[round];
      ++shared.winners_by_time;
    } else {
      count(result.error(), shared);
    }
  }
}

pid_t start_process(const std::string& database, const std::vector<std::string>& tokens,
                    const Contenders& all, unsigned number, Shared& shared) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::shared_ptr<CheckpointStore> store = SqliteStore::open(database).value();
  std::vector<std::thread> others;
  const auto by_time = [&](unsigned thread) {
    return all.by_time && (number * all.threads + thread) % 2 == 1;
  };
  for (unsigned thread = 1; thread < all.threads; ++thread) {
    others.emplace_back([&, thread] { contend(store, tokens, all, by_time(thread), shared); });
  }
  contend(store, tokens, all, by_time(0), shared);
  for (std::thread& other : others) other.join();
  ::_exit(0);
}

}  // namespace

ClaimReport claim_race(const std::string& database, std::size_t rounds, const Contenders& all) {
  const SharedMemory memory(rounds);
  Shared& shared = *memory;
  std::vector<std::string> tokens;
  {
    const std::shared_ptr<CheckpointStore> store = SqliteStore::open(database).value();
    for (std::size_t i = 0; i < rounds; ++i) {
      const auto agent = make_agent_on(store, i, shared);
      tokens.push_back(agent.run("x").error().suspension()->token);
    }
  }
  std::vector<pid_t> processes;
  for (unsigned i = 0; i < all.processes; ++i) {
    processes.push_back(start_process(database, tokens, all, i, shared));
  }
  for (const pid_t process : processes) ::waitpid(process, nullptr, 0);
  ClaimReport report{.rounds = rounds,
                     .winners_by_time = shared.winners_by_time,
                     .losers = shared.losers,
                     .other_errors = shared.other_errors,
                     .calls = shared.calls};
  for (std::size_t i = 0; i < rounds; ++i) {
    report.winners += shared.winners[i];
    if (shared.winners[i] == 1) ++report.rounds_with_one_winner;
  }
  return report;
}

}  // namespace triage::test
