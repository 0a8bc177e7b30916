// SPDX-License-Identifier: MIT
// Workers: continue orphaned and due runs until a stop is requested.
#include "triage/detail/work.hpp"

#include "base/may_pass.hpp"
#include "base/run_catching.hpp"
#include "resume/continuation.hpp"
#include "run/agent_core.hpp"
#include "storage/claim_orphan.hpp"
#include "triage/detail/store_extension.hpp"
#include "triage/detail/try.hpp"
#include "triage/orphans.hpp"
#include "triage/wakes_workers.hpp"

#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_threads = 1'000;
// How often a run that nothing was stored of is taken up.
constexpr int most_times_left = 3;

// The next look may find the store, or the run, otherwise.
bool is_passing(Errc code) noexcept {
  return may_pass(code) || code == Errc::fenced || code == Errc::not_found ||
         code == Errc::cancelled;
}

Result<void> check_work(const AgentCore& core, std::size_t threads, const WorkOptions& options) {
  if (core.problem) return *core.problem;
  if (threads == 0 || threads > most_threads) {
    return Error{Errc::invalid_argument, "allowed are 1 to 1000 threads"};
  }
  if (options.poll < std::chrono::milliseconds(1) || options.poll > std::chrono::hours(1)) {
    return Error{Errc::invalid_argument, "allowed is a poll of 1 ms to 1 h"};
  }
  if (store_of(core, options.run)) return outcome::success();
  return Error{Errc::not_found, "there is no store to work off"};
}

// State shared by the threads of one work() call.
class Work {
 public:
  Work(const AgentCore& core, const std::stop_token& stop, const WorkOptions& options,
       const TakeUp& take_up)
      : core_(core), stop_(stop), options_(options), take_up_(take_up) {}

  // The work of one thread. Errors: the store's, if `first` and its first look fails.
  Result<void> go(bool first) {
    while (!stop_.stop_requested()) {
      const Result<bool> found = take_up_one();
      if (!found && first) return found.error();
      first = false;
      if (found && found.value()) continue;
      rest();
    }
    return outcome::success();
  }
  [[nodiscard]] const WorkDone& done() const noexcept { return done_; }

 private:
  Result<bool> take_up_one() {
    TRIAGE_TRY(lease, claim_one(core_, options_.run, passed_over()));
    if (lease && passed_over().contains(lease->run)) {  // Another thread has just refused it.
      store_of(core_, options_.run)->queue().release(*std::move(lease));
      return outcome::success(true);
    }
    if (lease) {
      take_up(lease->run,
              open_claimed(core_, *lease,
                           {.accept_changed = options_.accept_changed, .run = options_.run}));
      return outcome::success(true);
    }
    TRIAGE_TRYV(list_due());
    while (const auto run = next_due()) {
      bool gone = false;
      auto opened = open_due(
          core_, *run, {.accept_changed = options_.accept_changed, .run = options_.run}, &gone);
      if (gone) continue;
      take_up(run->run, std::move(opened));
      return outcome::success(true);
    }
    const std::scoped_lock here(mutex_);
    later_.clear();
    return outcome::success(false);
  }

  // Listing reads a record of every suspended run, so what is due is listed once for all threads.
  Result<void> list_due() {
    {
      const std::scoped_lock here(mutex_);
      if (!due_.empty()) return outcome::success();
    }
    TRIAGE_TRY(due, due_runs(core_, options_.run, Duration::zero()));
    const std::scoped_lock here(mutex_);
    if (due_.empty()) due_.assign(due.begin(), due.end());
    return outcome::success();
  }
  std::optional<DueRun> next_due() {
    const std::scoped_lock here(mutex_);
    while (!due_.empty() && !stop_.stop_requested()) {
      DueRun next = std::move(due_.front());
      due_.pop_front();
      if (!refused_.contains(next.run) && !later_.contains(next.run)) return next;
    }
    return std::nullopt;
  }

  // If the store can notify workers, waits for it, in real time.
  void rest() {
    const auto store = store_of(core_, options_.run);
    const auto poll = std::chrono::ceil<std::chrono::milliseconds>(options_.poll);
    if (nearest_extension<WakesWorkers>(*store) != nullptr) {
      return wait_for_work(*store, poll, stop_);
    }
    core_.clock->sleep_until(core_.clock->now() + options_.poll, stop_);
  }

  // A run that may not continue is not tried again. One that could not be taken up now, or was left
  // as it was, waits until there is no other work.
  void take_up(const RunId& run, Result<ContinuationPtr> opened) {
    const bool taken = opened.has_value();
    const bool may_pass = !taken && is_passing(opened.error().code);
    const Sequence begun = taken && opened.value()->data ? opened.value()->journal().last() : 0;
    WorkDone one;
    take_up_(std::move(opened), one);
    Result<bool> left = outcome::success(false);
    if (taken && one.finished == 0) left = is_left(run, begun);
    const std::scoped_lock here(mutex_);
    if (may_pass || !left || left.value()) later_.insert(run);
    const bool stays = left && left.value() && ++times_left_[run] == most_times_left;
    if (stays || (!taken && !may_pass)) refused_.insert(run);
    done_.finished += one.finished;
    done_.ended += one.ended;
    if (!may_pass) done_.refused += one.refused;
  }
  // Whether the store knows no end of it: the run could be claimed again at once, for ever.
  Result<bool> is_left(const RunId& run, Sequence begun) const {
    const auto store = store_of(core_, options_.run);
    const auto now = run_catching([&] { return store->run(run); });
    if (!now && now.error().code == Errc::not_found) return outcome::success(false);
    if (!now) return now.error();
    const RunInfo& info = now.value();
    return outcome::success(!info.owned &&
                            (info.status == RunStatus::running || info.last < begun));
  }
  std::set<RunId> passed_over() {
    const std::scoped_lock here(mutex_);
    std::set<RunId> runs = refused_;
    runs.insert(later_.begin(), later_.end());
    return runs;
  }

  const AgentCore& core_;
  const std::stop_token stop_;
  const WorkOptions& options_;
  const TakeUp& take_up_;
  std::mutex mutex_;  // Guards what follows.
  WorkDone done_{};
  std::set<RunId> refused_{};
  std::set<RunId> later_{};
  std::map<RunId, int> times_left_{};
  std::deque<DueRun> due_{};
};

}  // namespace

Result<std::optional<Lease>> claim_one(const AgentCore& core, const RunOptions& options,
                                       const std::set<RunId>& refused) {
  const auto store = store_of(core, options);
  TRIAGE_TRY(claimed, run_catching([&] { return claim_orphans(*store, core.options.name, 1); }));
  if (claimed.empty()) return outcome::success(std::nullopt);
  if (!refused.contains(claimed.front().run)) {
    return outcome::success(std::optional(std::move(claimed.front())));
  }
  store->queue().release(std::move(claimed.front()));
  // Refused runs are the oldest. Acquiring them all to get at the next would take long.
  TRIAGE_TRY(
      runs, run_catching([&] {
        return store->runs({.agent = core.options.name, .status = RunStatus::running, .limit = 0});
      }));
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->owned || run->damaged || refused.contains(run->id)) continue;
    TRIAGE_TRY(lease, claim_orphan(*store, run->id));
    if (lease) return outcome::success(std::move(lease));
  }
  return outcome::success(std::nullopt);
}

Result<ContinuationPtr> open_claimed(const AgentCore& core, const Lease& lease,
                                     const ResumeOptions& options) {
  auto opened = open_stored(core, lease.run, options, Asked::for_what_fits, lease);
  if (opened) return opened;
  // Harmless if it was already released.
  if (const auto store = store_of(core, options.run)) store->queue().release(lease);
  return opened;
}

Result<WorkDone> work(const AgentCore& core, std::size_t threads, const std::stop_token& stop,
                      const WorkOptions& options, const TakeUp& take_up) {
  TRIAGE_TRYV(check_work(core, threads, options));
  std::stop_source enough;  // A failure of the first look also ends the others.
  const std::stop_callback stopped(stop, [&] { enough.request_stop(); });
  Work work(core, enough.get_token(), options, take_up);
  // What the program's own types throw ends all threads, and is thrown on when they have ended.
  std::mutex throwing;
  std::exception_ptr thrown;
  const auto go = [&](bool first) -> Result<void> {
    try {
      return work.go(first);
    } catch (...) {
      enough.request_stop();
      const std::scoped_lock here(throwing);
      if (!thrown) thrown = std::current_exception();
      return outcome::success();
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < threads; ++i) {
    try {
      helpers.emplace_back([&] { static_cast<void>(go(false)); });
    } catch (const std::system_error&) {
      break;  // The machine has no more threads: those there are do the work.
    }
  }
  const Result<void> looked = go(true);
  if (!looked) enough.request_stop();
  helpers.clear();
  if (thrown) std::rethrow_exception(thrown);
  if (!looked) return looked.error();
  return outcome::success(work.done());
}

}  // namespace triage::inline v0_1::detail
