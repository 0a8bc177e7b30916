// SPDX-License-Identifier: MIT
// Runs whose program is silent for longer than a lease lives, or waits for longer than it may.
#include "supervise/running.hpp"

#include "supervise/supervisor.hpp"
#include "supervise/workspace/shadow.hpp"
#include "supervise/workspace/workspace.hpp"
#include "support/catch.hpp"
#include "support/renewing_store.hpp"
#include "triage/stores/memory.hpp"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

using namespace triage;
using namespace triage::test;
using namespace triage::supervise;

namespace {

// As it was before Signals::take().
class SignalsAsBefore {
 public:
  SignalsAsBefore() {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
    pipe_ = std::signal(SIGPIPE, SIG_DFL);
  }
  ~SignalsAsBefore() {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    std::signal(SIGPIPE, pipe_);
  }
  SignalsAsBefore(const SignalsAsBefore&) = delete;
  SignalsAsBefore& operator=(const SignalsAsBefore&) = delete;

 private:
  sigset_t mask_{};
  void (*pipe_)(int) = nullptr;
};

class PathBefore {
 public:
  PathBefore() : path_(std::getenv("PATH")) {}
  ~PathBefore() { ::setenv("PATH", path_.c_str(), 1); }
  PathBefore(const PathBefore&) = delete;
  PathBefore& operator=(const PathBefore&) = delete;

 private:
  std::string path_;
};

// `max_wait`: a longer wait suspends the run, if it can be suspended.
Result<Json> run_on(const std::shared_ptr<CheckpointStore>& store,
                    const std::vector<std::string>& command, Duration max_wait,
                    const std::string& workspace = {}) {
  Supervisor supervisor({.store = store,
                         .signals = Signals::take().value(),
                         .clock = real_clock(),
                         .shadows = workspace + ".shadows"});
  const RunSpec spec{.command = command,
                     .folder = "/",
                     .adapter = "generic",
                     .workspace = workspace,
                     .max_wait = max_wait};
  const auto agent = make_run_agent(supervisor, spec).value();
  return agent.run(to_json(spec), {.run_id = "r"});
}

std::shared_ptr<RenewingStore> often_renewed(const Workshop& shop) {
  return std::make_shared<RenewingStore>(SqliteStore::open(shop.store()).value(),
                                         std::chrono::milliseconds(5));
}

// What happens when the lease is renewed for the third time.
template <class Act>
void at_third_renewal(RenewingStore& store, Act act) {
  store.before_renewal = [act](int number, const Lease& lease) {
    if (number == 3) act(lease);
    return std::optional<Error>();
  };
}

}  // namespace

TEST_CASE("a run whose program is silent keeps its lease", "[lease]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = often_renewed(shop);
  at_third_renewal(*store, [&](const Lease&) { std::ofstream(shop.file("go")) << "go"; });
  REQUIRE_OK(run_on(store, {shop.script("a", "until [ -e $W/go ]; do sleep 0.01; done")},
                    std::chrono::minutes(10)));
}

TEST_CASE("a program whose run was taken over is ended at once", "[lease]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = often_renewed(shop);
  at_third_renewal(*store, [&](const Lease& lease) { store->hand_over(lease); });
  CHECK_ERRC(Errc::fenced,
             run_on(store, {shop.script("a", "trap '' TERM\nwhile :; do sleep 0.01; done")},
                    std::chrono::minutes(10)));
}

TEST_CASE("a run keeps its lease while git keeps its files", "[lease][workspace]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = often_renewed(shop);
  const std::string tree = std::filesystem::canonical(shop.file("")) / "tree";
  std::filesystem::create_directories(tree);
  std::filesystem::create_directories(shop.file("bin"));
  std::ofstream(tree + "/f") << "text";
  const std::string path = std::getenv("PATH");
  // Waits for the lease to be kept, but not for ever.
  shop.script("bin/git", "PATH='" + path +
                             "'\ncase \"$*\" in *'--add --remove'*) tries=0\n"
                             "until [ -e $W/go ] || [ $tries = 1000 ]; do\n"
                             "sleep 0.01; tries=$((tries + 1)); done\n"
                             "[ $tries = 1000 ] && : >$W/waited ;; esac\nexec git \"$@\"");
  const PathBefore path_before;
  ::setenv("PATH", (shop.file("bin") + ":" + path).c_str(), 1);
  const std::vector<std::string> command{shop.script("a", "")};
  SECTION("and says nothing") {
    at_third_renewal(*store, [&](const Lease&) { std::ofstream(shop.file("go")) << "go"; });
    REQUIRE_OK(run_on(store, command, std::chrono::minutes(10), tree));
  }
  SECTION("and lets go of them when it was taken over") {
    at_third_renewal(*store, [&](const Lease& lease) { store->hand_over(lease); });
    CHECK_ERRC(Errc::fenced, run_on(store, command, std::chrono::minutes(10), tree));
  }
  CHECK_FALSE(std::filesystem::exists(shop.file("waited")));
}

TEST_CASE("a run keeps its lease while the files of others are removed", "[lease][workspace]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = often_renewed(shop);
  const std::string tree = std::filesystem::canonical(shop.file("")) / "tree";
  std::filesystem::create_directories(tree);
  const std::string shadows = tree + ".shadows";
  REQUIRE(Workspace::open({.folder = tree, .shadows = shadows, .run = "other"}));
  std::optional<ShadowLock> removing =
      ShadowLock::remove(shadow_repository(shadows, tree), std::chrono::seconds(1)).value();
  at_third_renewal(*store, [&](const Lease&) { removing.reset(); });
  REQUIRE_OK(run_on(store, {shop.script("a", "")}, std::chrono::minutes(10), tree));
  CHECK_FALSE(removing);
}

TEST_CASE("a long wait of a run that cannot be suspended holds nothing else up", "[protocol]") {
  const Workshop shop;
  if (!has_python()) return;
  const SignalsAsBefore signals;
  const std::string request =
      GENERATE(R"("sleep_until": 4e9)", R"("wait": {"name": "go", "until": 4e9})");
  std::ofstream(shop.file("a.py")) << R"(
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["TRIAGE_SOCKET"])
s.sendall(b'{"id": 1, )" << request << R"(}\n{"id": 2, "get": "state"}\n')
s.settimeout(5)
assert b'"id":2' in s.recv(1000).replace(b" ", b"")
)";
  // What is in memory only does not outlive the process.
  REQUIRE_OK(
      run_on(MemoryStore::create(), {"python3", shop.file("a.py")}, std::chrono::milliseconds(1)));
}
