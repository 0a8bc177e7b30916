// SPDX-License-Identifier: MIT
// Runs whose program is silent for longer than a lease lives, or waits for longer than it may.
#include "supervise/running.hpp"

#include "supervise/supervisor.hpp"
#include "support/catch.hpp"
#include "support/renewing_store.hpp"
#include "triage/stores/memory.hpp"

#include <csignal>
#include <memory>

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

// `max_wait`: a longer wait suspends the run, if it can be suspended.
Result<Json> run_on(const std::shared_ptr<CheckpointStore>& store,
                    const std::vector<std::string>& command, Duration max_wait) {
  Supervisor supervisor(
      {.store = store, .signals = Signals::take().value(), .clock = real_clock()});
  const RunSpec spec{.command = command, .folder = "/", .adapter = "generic", .max_wait = max_wait};
  const auto agent = make_run_agent(supervisor, spec).value();
  return agent.run(to_json(spec), {.run_id = "r"});
}

std::shared_ptr<RenewingStore> often_renewed(const Workshop& shop) {
  return std::make_shared<RenewingStore>(SqliteStore::open(shop.store()).value(),
                                         std::chrono::milliseconds(5));
}

}  // namespace

TEST_CASE("a run whose program is silent keeps its lease", "[lease]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = often_renewed(shop);
  store->before_renewal = [&](int number, const Lease&) {
    if (number == 3) std::ofstream(shop.file("go")) << "go";
    return std::optional<Error>();
  };
  REQUIRE_OK(run_on(store, {shop.script("a", "until [ -e $W/go ]; do sleep 0.01; done")},
                    std::chrono::minutes(10)));
}

TEST_CASE("a program whose run was taken over is ended at once", "[lease]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = often_renewed(shop);
  store->before_renewal = [&](int number, const Lease& lease) {
    if (number == 3) store->hand_over(lease);
    return std::optional<Error>();
  };
  CHECK_ERRC(Errc::fenced,
             run_on(store, {shop.script("a", "trap '' TERM\nwhile :; do sleep 0.01; done")},
                    std::chrono::minutes(10)));
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
