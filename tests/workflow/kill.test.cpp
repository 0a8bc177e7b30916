// SPDX-License-Identifier: MIT
// A workflow with effects, requests and a nested workflow, killed at every record of its journal.
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/stores/sqlite.hpp"
#include "victim.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

// Kills its process with SIGKILL instead of, or right after, the n-th append.
class KillingStore final : public ForwardingStore {
 private:
  template <class F>
  auto around(F append) {
    const bool now = --left_ == 0;
    if (now && !after_) ::kill(::getpid(), SIGKILL);
    auto done = append();
    if (now) ::kill(::getpid(), SIGKILL);
    return done;
  }

 public:
  KillingStore(std::shared_ptr<CheckpointStore> inner, int at, bool after)
      : ForwardingStore(std::move(inner)), left_(at), after_(after) {}
  ~KillingStore() override { stop_queue(); }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    return around([&] { return ForwardingStore::start(run, records); });
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    return around([&] { return ForwardingStore::append(lease, records, status); });
  }
  // One record at a time, so that a kill may happen between any two.
  void append_group(std::span<AppendBatch> batches) override {
    for (AppendBatch& batch : batches) {
      for (std::size_t i = 0; i < batch.records.size(); ++i) {
        const bool last = i + 1 == batch.records.size();
        batch.outcome = append(batch.lease, batch.records.subspan(i, 1),
                               last ? batch.status : RunStatus::running);
        if (!batch.outcome) break;
      }
    }
  }

 private:
  std::atomic<int> left_;
  bool after_;
};

// Continues until the run has finished, answering its requests. 0: done.
int live(const std::shared_ptr<CheckpointStore>& store, const std::string& world) {
  WorkflowRun run(victim(world), {.run_id = "w", .store = store, .threads = 2});
  for (int go = 0; go < 5; ++go) {
    const auto result = run.start_or_resume(7);
    if (result) return result.value().value() == undisturbed ? 0 : 2;
    if (result.error().code != Errc::suspended) return 3;
    const auto pending = run.pending_requests();
    if (!pending) return 5;
    for (const PendingRequest& request : pending.value()) {
      static_cast<void>(run.answer(request.id, 100));
    }
  }
  return 4;
}

// Runs in a separate process. True if it was killed.
bool killed(const std::string& file, const std::string& world, int at, bool after) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = SqliteStore::open(file);
    if (!store) ::_exit(9);
    ::_exit(live(std::make_shared<KillingStore>(store.value(), at, after), world));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) REQUIRE(WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

}  // namespace

TEST_CASE("killed at every append, a run of thirty executors ends as if nothing had happened",
          "[workflow][kill]") {
  const bool after = GENERATE(false, true);
  int kills = 0;
  for (int at = 1;; ++at) {
    const TempFolder folder;
    const std::string file = folder.file("w.db");
    const std::string world = folder.file("world");
    INFO("append " << at << (after ? " (after)" : " (before)"));
    if (!killed(file, world, at, after)) break;
    ++kills;
    REQUIRE_FALSE(killed(file, world, 1'000'000, false));
    for (const auto& [what, times] : noted(world)) {
      INFO(what);
      REQUIRE(times == 1);
    }
    REQUIRE(noted(world).size() == 8);
  }
  CHECK(kills > 40);
}
