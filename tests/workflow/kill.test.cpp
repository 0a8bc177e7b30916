// SPDX-License-Identifier: MIT
// A workflow with effects, requests and a nested workflow, killed at every append to its store.
#include "kit.hpp"
#include "support/temp_folder.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/stores/sqlite.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>

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
  void append_group(std::span<AppendBatch> batches) override {
    CheckpointStore::append_group(batches);
  }

 private:
  std::atomic<int> left_;
  bool after_;
};

// One line for each thing that happens in the world, in one write, which kill -9 does not tear.
void note(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  static_cast<void>(::write(fd, text.data(), text.size()));
  ::close(fd);
}

std::map<std::string, int> noted(const std::string& file) {
  std::map<std::string, int> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) ++lines[line];
  return lines;
}

// 30 executors: a start, eight workers with effects, a nested workflow of ten, two that ask, eight
// that check, and a join.
Workflow victim(const std::string& world) {
  WorkflowBuilder inner("inner");
  std::vector<std::string> steps;
  for (int i = 0; i < 10; ++i) {
    steps.push_back("s" + std::to_string(i));
    inner.executor(steps.back(), [](const int& n) { return n + 1; });
  }
  inner.start("s0").chain(steps);
  WorkflowBuilder builder("victim");
  builder.port<int>("bonus").executor("start", [](const int& n) { return n; }).start("start");
  std::vector<std::string> last;
  std::vector<std::string> first;
  for (int i = 0; i < 8; ++i) {
    const std::string work = "work" + std::to_string(i);
    const std::string check = "check" + std::to_string(i);
    builder.executor(work, stateless([world](const int& n, Context& context) {
                       const std::string line = "effect " + context.executor();
                       const auto look = [world, line, n] {
                         return noted(world).contains(line) ? Reconciled::done(n * 2)
                                                            : Reconciled::not_done();
                       };
                       const auto act = [&] {
                         note(world, line);
                         return n * 2;
                       };
                       return context.effect("act", act, {.reconcile = look});
                     }));
    builder.executor(check, stateless([world](const int& n, Context& context) {
                       context.shared("sums").set(context.executor(), n);
                       return n;
                     }));
    builder.edge(work, check);
    first.push_back(work);
    last.push_back(check);
  }
  for (const char* id : {"ask0", "ask1"}) {
    builder.executor(
        id, [](const int& n, Context& context) { return n + context.request<int>("bonus", n); });
    first.emplace_back(id);
    last.emplace_back(id);
  }
  builder.executor("inner", built(inner));
  first.emplace_back("inner");
  last.emplace_back("inner");
  builder.executor("join", [](const std::vector<int>& all) {
    int sum = 0;
    for (const int n : all) sum += n;
    return sum;
  });
  return built(builder.fan_out("start", first).fan_in(last, "join"));
}

constexpr int undisturbed = 8 * 14 + 2 * (7 + 100) + 17;

// Goes on until the run has finished, answering what it asks. 0: done.
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

// Runs in a process of its own. True if it was killed.
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
