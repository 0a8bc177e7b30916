// SPDX-License-Identifier: MIT
// A user's program: an agent that fails once, on every installed store.
#include <triage/stores/open_store.hpp>
#include <triage/triage.hpp>
#ifdef WITH_REDIS
#include <triage/stores/redis.hpp>
#endif
#ifdef WITH_POSTGRES
#include <triage/stores/postgres.hpp>
#endif
#ifdef WITH_SQLITE
#include <triage/stores/sqlite.hpp>
#endif
#ifdef WITH_LLM
#include <triage/llm/classifier.hpp>
#endif

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

int attempts_on(std::shared_ptr<triage::CheckpointStore> store) {
  triage::FailurePolicy policy;
  policy.otherwise([](const triage::FailureContext&) { return triage::RecoveryAction::retry(); });
  triage::TriageAgent agent{[](const std::string& task, triage::Attempt& attempt) -> int {
                              attempt.record_step({.action = "greet " + task});
                              attempt.update_state({{"greeted", task}});
                              if (attempt.number() == 1)
                                throw std::runtime_error("connection reset by peer");
                              return attempt.number();
                            },
                            policy,
                            {.name = "consumer", .store = std::move(store)}};
  const triage::Result<int> attempts = agent.run("world");
  if (!attempts) {
    std::cerr << to_string(attempts.error().code) << ": " << attempts.error().detail << '\n';
    return 0;
  }
  return attempts.value();
}

}  // namespace

int main() {
  bool good = attempts_on(nullptr) == 2 && attempts_on(triage::MemoryStore::create()) == 2;
#ifdef WITH_SQLITE
  good = good && attempts_on(triage::SqliteStore::open(":memory:").value()) == 2;
#endif
  good = good && attempts_on(triage::open_store("memory:").value()) == 2;
#ifdef WITH_REDIS
  // There is no server here.
  good = good && triage::RedisStore::open("redis://127.0.0.1:1").error().code == triage::Errc::io;
#endif
#ifdef WITH_POSTGRES
  good = good &&
         triage::PostgresStore::open("postgresql://127.0.0.1:1").error().code == triage::Errc::io;
#endif
#ifdef WITH_LLM
  // Created but not used: there is no model here.
  const auto llm =
      triage::LlmClassifier::create({.base_url = "http://127.0.0.1:9/v1", .model = "m"});
  good = good && llm && triage::HybridClassifier::create(triage::default_classifier(), llm.value());
#endif
  std::cout << (good ? "the second attempt succeeded on every store\n" : "failed\n");
  return good ? 0 : 1;
}
