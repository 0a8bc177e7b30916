// SPDX-License-Identifier: MIT
// triage worker: continues a store's orphaned and due runs until it is stopped.

#include "arguments/open_store.hpp"
#include "command.hpp"
#include "programs/run_session.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/duration.hpp"
#include "triage/wakes_workers.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct WorkerArguments {
  SessionArguments session{};
  std::vector<std::string> command{};
  std::string poll = "1s";
};

// The longest pause before a run that could not be continued is tried again.
constexpr Duration longest_rest = std::chrono::minutes(1);

class Worker {
 public:
  Worker(const RunSession& session, const WorkerArguments& given, Duration poll)
      : session_(session), given_(given), poll_(poll) {}

  ExitStatus work() {
    for (bool first = true; !stopped(); first = false) {
      const Result<bool> found = take_up_one();
      if (!found && first) return report(found.error());
      if (!found) warn(found.error().detail);  // The store may recover.
      if (found && found.value()) continue;
      wait_for_work(session_.store(), until_next_due(), session_.no_more());
    }
    return ExitStatus::done;
  }

 private:
  [[nodiscard]] bool stopped() const {
    session_.handle_signals();
    return session_.no_more().stop_requested() ||
           session_.run_options().stop_token.stop_requested();
  }

  [[nodiscard]] std::chrono::milliseconds until_next_due() const {
    const auto poll = std::chrono::ceil<std::chrono::milliseconds>(poll_);
    if (!next_due_) return poll;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*next_due_ - real_clock()->wall_now());
    return std::clamp(left, std::chrono::milliseconds(0), poll);
  }

  Result<bool> take_up_one() {
    TRIAGE_TRY(orphan, take_up_orphan());
    if (orphan) return true;
    TRIAGE_TRY(due, session_.watcher().due(poll_));
    next_due_.reset();
    for (const DueRun& run : due) {
      if (stopped()) break;
      if (!is_for_me(run.run)) continue;
      if (run.until > real_clock()->wall_now()) {
        next_due_ = run.until;  // They are sorted: this is the earliest.
        break;
      }
      const auto agent = session_.agent_of(run.run);
      if (!agent) {
        put_off(run.run, agent.error());
        continue;
      }
      const auto result =
          agent.value().resume_due_run(run, DueOptions{.run = session_.run_options(run.run)});
      if (!result) continue;  // Another process has it.
      conclude(run.run, *result);
      return true;
    }
    return false;
  }

  Result<bool> take_up_orphan() {
    TRIAGE_TRY(lease, session_.claim_orphan([this](const RunId& run) { return is_for_me(run); }));
    if (!lease) return false;
    const RunId run = lease->run;
    const auto agent = session_.agent_of(run);
    if (agent) {
      conclude(run, agent.value().resume_claimed(*lease, {.run = session_.run_options(run)}));
    } else {
      static_cast<void>(session_.store().release(*lease));
      put_off(run, agent.error());
    }
    return true;
  }

  [[nodiscard]] bool is_for_me(const RunId& run) {
    if (left_alone_.contains(run)) return false;
    if (const auto later = later_.find(run); later != later_.end()) {
      if (real_clock()->now() < later->second.from) return false;
    }
    if (is_mine(run)) return true;
    left_alone_.insert(run);
    return false;
  }
  // Whether the run's command is this worker's; true if it cannot be read.
  [[nodiscard]] bool is_mine(const RunId& run) const {
    if (given_.command.empty()) return true;
    const auto start = stored_start(session_.store(), run);
    if (!start) return true;
    const auto spec = supervise::spec_from_json(start.value().task);
    return !spec || supervise::is_of_command(spec.value(), given_.command);
  }

  void conclude(const RunId& run, const Result<Json>& result) {
    if (!result) {
      const Errc code = result.error().code;
      const bool ended = code == Errc::suspended || code == Errc::escalated ||
                         code == Errc::aborted || code == Errc::cancelled;
      if (!ended) return put_off(run, result.error());
    }
    later_.erase(run);
    static_cast<void>(session_.conclude(run, result));
  }

  // A store that was away may be back at the next look, and a run that another worker has taken may
  // lose that one. All else stays as it is.
  void put_off(const RunId& run, const Error& error) {
    const bool passes =
        error.code == Errc::io || error.code == Errc::busy || error.code == Errc::fenced;
    if (passes) {
      Later& later = later_[run];
      later.wait = std::clamp(2 * later.wait, poll_, std::max<Duration>(poll_, longest_rest));
      later.from = real_clock()->now() + later.wait;
      warn("run " + run + " is looked at again later: " + session_.in_words(run, error));
    } else {
      left_alone_.insert(run);
      warn("run " + run + " is left alone: " + session_.in_words(run, error));
    }
  }

  const RunSession& session_;
  const WorkerArguments& given_;
  const Duration poll_;
  std::optional<WallTime> next_due_{};  // Within `poll_`.
  std::set<RunId> left_alone_{};
  struct Later {
    TimePoint from{};
    Duration wait{};
  };
  std::map<RunId, Later> later_{};
};

ExitStatus work(const WorkerArguments& given) {
  const auto poll = parse_duration(given.poll);
  if (!poll || poll.value() < std::chrono::milliseconds(1) ||
      poll.value() > std::chrono::hours(1)) {
    return report({Errc::invalid_argument,
                   "--poll is \"" + printable(given.poll) + "\"; allowed is 1ms to 1h"});
  }
  SessionArguments session_arguments = given.session;
  session_arguments.instead = given.command;
  const auto session = RunSession::open(session_arguments);
  if (!session) return report(session.error());
  session.value()->finish_at_first_stop();
  return Worker(*session.value(), given, poll.value()).work();
}

}  // namespace

std::function<ExitStatus()> worker(CLI::App& arguments) {
  auto given = std::make_shared<WorkerArguments>();
  declare_session(arguments, given->session);
  arguments.remove_option(arguments.get_option("--exit-status"));  // A worker has one of its own.
  arguments.get_option("--max-wait")
      ->description(
          "A longer wait suspends the run, which a worker continues when it is due. "
          "0s: none does. Default: that of the run.");
  arguments.add_option("--poll", given->poll,
                       "How often the store is asked for runs whose supervisor is gone, and, where "
                       "it cannot wake this worker, for due ones. Default: 1s.");
  arguments.add_option("CMD", given->command,
                       "Only runs of this program, by its file name, and with these arguments if "
                       "there are any; they run it as it is called here, in this folder. Default: "
                       "every run of `triage run`, in its own folder.");
  arguments.footer(
      "Example: triage worker --store postgresql://db/triage -- ./nightly.sh\n\n"
      "Goes on with runs whose time or signal has come, and with those whose supervisor "
      "is gone, one\nat a time, until SIGTERM: then the run in progress comes to its "
      "end. A second SIGTERM ends it.\nAny number of workers may share a store.");
  return [given] { return work(*given); };
}

}  // namespace triage::inline v0_1::cli
