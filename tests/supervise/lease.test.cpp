// SPDX-License-Identifier: MIT
// Leases of runs whose program is silent for longer than a lease lives.
#include "supervise/running.hpp"

#include "supervise/supervisor.hpp"
#include "support/catch.hpp"
#include "triage/forwarding_store.hpp"

#include <atomic>
#include <csignal>
#include <memory>

using namespace triage;
using namespace triage::test;
using namespace triage::supervise;

namespace {

// Leases are to be renewed all the time; at one of the renewals this happens.
struct HastyStore final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  ~HastyStore() override { stop_queue(); }
  StoreCapabilities capabilities() const noexcept override {
    StoreCapabilities all = ForwardingStore::capabilities();
    all.shared_by_processes = true;
    all.renew_every = std::chrono::milliseconds(5);
    return all;
  }
  Result<void> renew(const Lease& lease) override {
    if (++renewals == 3) at_third(lease);
    return ForwardingStore::renew(lease);
  }
  std::atomic<int> renewals{0};
  std::function<void(const Lease&)> at_third{};
};

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

Result<Json> run_on(const std::shared_ptr<HastyStore>& store, const std::string& program) {
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
  const auto store = std::make_shared<HastyStore>(SqliteStore::open(shop.store()).value());
  store->at_third = [&](const Lease&) { std::ofstream(shop.file("go")) << "go"; };
  REQUIRE_OK(run_on(store, shop.script("a", "until [ -e $W/go ]; do sleep 0.01; done")));
}

TEST_CASE("a program whose run was taken over is ended at once", "[lease]") {
  const Workshop shop;
  const SignalsAsBefore signals;
  const auto store = std::make_shared<HastyStore>(SqliteStore::open(shop.store()).value());
  store->at_third = [&](const Lease& lease) {
    REQUIRE_OK(store->release(lease));
    REQUIRE_OK(store->acquire(lease.run));
  };
  CHECK_ERRC(Errc::fenced,
             run_on(store, shop.script("a", "trap '' TERM\nwhile :; do sleep 0.01; done")));
}
