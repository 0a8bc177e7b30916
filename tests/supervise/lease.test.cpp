// SPDX-License-Identifier: MIT
// Leases of runs whose program is silent for longer than a lease lives.
#include "supervise/running.hpp"

#include "supervise/supervisor.hpp"
#include "support/catch.hpp"
#include "support/renewing_store.hpp"

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

std::shared_ptr<RenewingStore> often_renewed(const Workshop& shop) {
  return std::make_shared<RenewingStore>(SqliteStore::open(shop.store()).value(),
                                         std::chrono::milliseconds(5));
}

Result<Json> run_on(const std::shared_ptr<RenewingStore>& store, const std::string& program) {
  Supervisor supervisor(
      {.store = store, .signals = Signals::take().value(), .clock = real_clock()});
  const RunSpec spec{.command = {program}, .folder = "/", .adapter = "generic"};
  const auto agent = make_run_agent(supervisor, spec).value();
  return agent.run(to_json(spec), {.run_id = "r"});
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
  REQUIRE_OK(run_on(store, shop.script("a", "until [ -e $W/go ]; do sleep 0.01; done")));
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
             run_on(store, shop.script("a", "trap '' TERM\nwhile :; do sleep 0.01; done")));
}
