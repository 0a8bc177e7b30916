// SPDX-License-Identifier: MIT
// Effects on an external resource shared by several executors and branches.
//
// Each key of a resource has its own run below the branches' first origin, with the act as its only
// effect: the run's lease, journal and recorded result ensure that it happens once, whoever asks.
// An entry in the store's key space names the run that currently acts on the resource. It is
// written by compare-and-set, by a run that holds its own lease: so if no process owns the named
// run, it has ended or died, and the next may replace the entry. A lock with its own lease would
// need renewal, and a run that never ends, in everyone's lists.
#include "base/digest.hpp"
#include "base/run_catching.hpp"
#include "delivery_call.hpp"
#include "run/linked_stop.hpp"
#include "triage/agent.hpp"
#include "triage/detail/try.hpp"
#include "work.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

using triage::detail::run_catching;

constexpr std::string_view resource_space = "workflow.resources";
constexpr std::size_t longest_resource = 256;
// Holders in another process, or of another Workflow value, cannot notify us, so we poll, less
// often the longer it takes.
constexpr Duration first_look = std::chrono::milliseconds(5);
constexpr Duration longest_look = std::chrono::milliseconds(200);

Result<void> check_act(const ResourceAct& act) {
  if (act.resource.empty() || act.resource.size() > longest_resource) {
    return Error{Errc::invalid_argument, "a resource's name has " +
                                             std::to_string(act.resource.size()) +
                                             " bytes; allowed are 1 to 256"};
  }
  if (act.options.compensate) {
    return Error{Errc::invalid_argument,
                 "effect \"" + printable(act.key) + "\" on resource \"" + printable(act.resource) +
                     "\" has a compensation, which is not allowed: others may have built on it"};
  }
  return outcome::success();
}

std::string own_line(const CheckpointStore& store, const RunId& run) {
  std::ostringstream name;
  name << &store << ' ' << run;
  return std::move(name).str();
}

// A run's turn to act on a resource.
class ResourceTurn {
 public:
  ResourceTurn(CheckpointStore& store, std::string resource, RunId own)
      : store_(store), resource_(std::move(resource)), own_(std::move(own)) {}
  ~ResourceTurn() {
    if (version_ == 0) return;
    static_cast<void>(
        run_catching([&] { return store_.erase_if(resource_space, resource_, version_); }));
  }
  ResourceTurn(const ResourceTurn&) = delete;
  ResourceTurn& operator=(const ResourceTurn&) = delete;

  // False if another run has it. Errors: the store's.
  [[nodiscard]] Result<bool> take() {
    TRIAGE_TRY(holder, run_catching([&] { return store_.get(resource_space, resource_); }));
    if (holder && holder->bytes != own_) {
      const auto run = run_catching([&] { return store_.run(holder->bytes); });
      if (!run && run.error().code != Errc::not_found) return run.error();
      if (run && run.value().owned) return outcome::success(false);
    }
    const std::uint64_t before = holder ? holder->version : 0;
    auto taken =
        run_catching([&] { return store_.put_if(resource_space, resource_, before, own_); });
    if (!taken && taken.error().code == Errc::conflict) return outcome::success(false);
    if (!taken) return std::move(taken).error();
    version_ = taken.value();
    return outcome::success(true);
  }

 private:
  CheckpointStore& store_;
  const std::string resource_;
  const RunId own_;
  std::uint64_t version_ = 0;
};

}  // namespace

// Why it does not wait for a resource any longer.
Error DeliveryCall::waited_enough() {
  const auto until = deadline();
  const bool late = until && around_.clock.now() >= *until;
  if (cancelled().stop_requested() || !late) {
    return {Errc::cancelled, "the run was stopped while an executor waited for a resource"};
  }
  return fail({.text = "executor \"" + node_.path + "\" waited for a resource until its deadline",
               .type = FailureType::timeout,
               .reason = "deadline"});
}

Result<void> DeliveryCall::rest(Duration& look) {
  const auto until = deadline();
  const TimePoint now = around_.clock.now();
  if (until && now >= *until) return waited_enough();
  const TimePoint next = until ? std::min(now + look, *until) : now + look;
  look = std::min(2 * look, longest_look);
  if (around_.given_clock->sleep_until(next, stop_token())) return outcome::success();
  return waited_enough();
}

// An act on a resource, in a run of its own.
class ResourceAction {
 public:
  ResourceAction(DeliveryCall& call, CheckpointStore& store, const ResourceAct& act)
      : call_(call),
        around_(call.around_),
        store_(store),
        act_(act),
        turn_(inner_run_id(root(), show(Json{{"resource", act.resource}}))),
        task_{{"resource", act.resource}, {"key", act.key}},
        own_(inner_run_id(root(), show(task_))) {
    if (act.arguments != nullptr) {
      arguments_ = digest_of(std::make_shared<const Json>(*act.arguments));
    }
  }

  // Waits for its turn. Exceptions of the act propagate.
  [[nodiscard]] Result<Json> perform() {
    const auto place = line_up();  // Kept until the end.
    if (!place) return place.error();
    const TriageAgent<Act> agent([this](const Json&, Attempt& attempt) { return once(attempt); },
                                 fail_at_once(),
                                 {.name = "resource",
                                  .store = around_.store,
                                  .clock = around_.given_clock,
                                  .reconciliations = *around_.reconciliations});
    const ResumeOptions options{
        .run = {.deadline = call_.inner_.deadline(), .parent = &call_.inner_}, .revive = true};
    bool began_at_once = false;
    for (;;) {
      auto done = agent.run_or_resume(own_, task_, options);
      if (thrown_) std::rethrow_exception(thrown_);
      if (done) return agreed(done.value());
      if (refused_) return *std::move(refused_);
      const Errc code = done.error().code;
      const bool somebody_is_at_it =
          code == Errc::busy || (code == Errc::conflict && !std::exchange(began_at_once, true));
      if (!somebody_is_at_it) return std::move(done).error();
      TRIAGE_TRYV(call_.rest(look_));
    }
  }

 private:
  using Act = std::function<Result<Json>(const Json&, Attempt&)>;
  using Place = std::optional<ResourceQueue::Place>;

  // All branches have the same.
  [[nodiscard]] RunId root() const {
    const Json* origin = around_.before.find(root_key);
    return origin != nullptr ? origin->get<RunId>() : around_.attempt.run_id();
  }

  // Behind those of this process who act on the same resource. No place if the act is already done:
  // that is known at once, whoever holds the resource.
  [[nodiscard]] Result<Place> line_up() {
    const auto before = run_catching([&] { return store_.run(own_); });
    if (before && before.value().status == RunStatus::finished) return outcome::success(Place());
    // Runs with another store or origin act on another resource.
    Place place(around_.body.resource_queue().enter(own_line(store_, turn_)));
    if (place->is_first()) return outcome::success(std::move(place));
    const Lent lent(*around_.work);
    const triage::detail::LinkedStop either(
        call_.stop_token(), around_.halt != nullptr ? around_.halt->waits() : std::stop_token());
    if (!place->wait(around_.clock, call_.deadline(), either.token())) {
      return call_.waited_enough();
    }
    return outcome::success(std::move(place));
  }

  [[nodiscard]] Result<Json> once(Attempt& attempt) {
    ResourceTurn turn(store_, turn_, own_);
    for (;;) {
      TRIAGE_TRY(mine, turn.take());
      if (mine) break;
      TRIAGE_TRYV(call_.rest(look_));
    }
    try {
      auto done = act_.arguments != nullptr
                      ? attempt.try_effect(act_.key, *act_.arguments, act_.act, act_.options)
                      : attempt.try_effect(act_.key, act_.act, act_.options);
      if (!done) {
        refused_ = done.error();  // More precise than the error of the run it ends.
        return std::move(done).error();
      }
      return Json{{"arguments", arguments_}, {"result", std::move(done).value()}};
    } catch (...) {
      thrown_ = std::current_exception();
      throw;
    }
  }

  // What the act came to, unless it was done with other arguments.
  [[nodiscard]] Result<Json> agreed(const Json& told) const {
    if (!told.is_object() || !told.contains("arguments") || !told.contains("result")) {
      return damaged_run(own_, "it tells no result of effect \"" + printable(act_.key) + "\"");
    }
    if (told["arguments"] == arguments_) return told["result"];
    return Error{Errc::conflict, "effect \"" + printable(act_.key) + "\" on resource \"" +
                                     printable(act_.resource) +
                                     "\" was done with other arguments; give another effect "
                                     "another key"};
  }

  DeliveryCall& call_;
  const Surroundings& around_;
  CheckpointStore& store_;
  const ResourceAct& act_;
  const RunId turn_;  // Names the resource.
  const Json task_;
  const RunId own_;
  std::string arguments_{};
  Duration look_ = first_look;
  std::exception_ptr thrown_{};
  std::optional<Error> refused_{};
};

Result<Json> DeliveryCall::act_on(const ResourceAct& act) {
  TRIAGE_TRYV(check_act(act));
  if (!around_.store) {
    return Error{Errc::unsupported,
                 "an effect on a resource needs a store that tells all who act "
                 "on it what has happened; a MemoryStore will do"};
  }
  return ResourceAction(*this, *around_.store, act).perform();
}

}  // namespace triage::inline v0_1::workflow::detail
