// SPDX-License-Identifier: MIT
#include "suspension/claim.hpp"

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

constexpr unsigned contenders = 4;

// What the processes share.
struct Shared {
  std::atomic<unsigned> arrived{0};
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
    new (at_) Shared;  // The rest is zero, as the system gives it.
  }
  ~SharedMemory() { ::munmap(at_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared& operator*() const { return *static_cast<Shared*>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};

auto make_agent_on(const std::string& database, Shared& shared) {
  FailurePolicy policy;
  policy.otherwise(suspend({.message = "who is first?"}));
  return TriageAgent{
      [&shared](const std::string&, Attempt& attempt) -> int {
        if (attempt.number() == 1) throw std::runtime_error("ask");
        ++shared.calls;
        return 1;
      },
      policy,
      {.store = SqliteStore::open(database).value(), .write_mode = WriteMode::deferred}};
}

// Waits until everybody has come to this round.
void meet(Shared& shared, std::size_t round) {
  const auto all = static_cast<unsigned>((round + 1) * contenders);
  ++shared.arrived;
  while (shared.arrived < all) ::sched_yield();
}

template <class Agent>
void contend(const Agent& agent, const std::vector<std::string>& tokens, Shared& shared) {
  for (std::size_t round = 0; round < tokens.size(); ++round) {
    meet(shared, round);
    const auto result = agent.decide(tokens[round], RecoveryAction::retry());
    if (result) {
      ++shared.winners[round];
    } else if (result.error().code == Errc::not_found || result.error().code == Errc::busy) {
      ++shared.losers;
    } else {
      ++shared.other_errors;
    }
  }
}

pid_t start_process(const std::string& database, const std::vector<std::string>& tokens,
                    Shared& shared) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const auto agent = make_agent_on(database, shared);
  std::thread other([&] { contend(agent, tokens, shared); });
  contend(agent, tokens, shared);
  other.join();
  ::_exit(0);
}

}  // namespace

ClaimReport claim_race(const std::string& database, std::size_t rounds) {
  const SharedMemory memory(rounds);
  Shared& shared = *memory;
  std::vector<std::string> tokens;
  {
    const auto agent = make_agent_on(database, shared);
    for (std::size_t i = 0; i < rounds; ++i) {
      tokens.push_back(agent.run("x").error().suspension()->token);
    }
  }
  const pid_t a = start_process(database, tokens, shared);
  const pid_t b = start_process(database, tokens, shared);
  ::waitpid(a, nullptr, 0);
  ::waitpid(b, nullptr, 0);
  ClaimReport report{.rounds = rounds,
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
