// SPDX-License-Identifier: MIT
// What an agent does in an attempt, and the injected problems.
#include "play.hpp"

#include <stdexcept>

namespace triage::campaign {
namespace {

struct Died : std::runtime_error {
  Died() : std::runtime_error("type 3: the process died") {}
};

std::string key_name(int n) { return "k" + std::to_string(n); }

WallTime wall(int seconds) {
  return testing::SimulatedClock::wall_start + std::chrono::seconds(seconds);
}

Values values_of(const State& state) {
  Values values;
  for (std::size_t i = 0; i < key_names.size(); ++i) {
    if (const Json* found = state.find(key_names[i])) values.all[i] = found->get<int>();
  }
  return values;
}

Steps steps_of(const Trajectory& trajectory) {
  Steps steps;
  for (const Step& step : trajectory) steps.add(std::stoi(step.action));
  return steps;
}

}  // namespace

Result<int> Puppet::operator()(int, Attempt& attempt) const {
  return play->attempt(attempt, *process);
}

void Play::tell_journals(std::ostream& out) const {
  for (const RunModel& run : runs_) {
    const auto reading = processes_[0].inner->read(run.name(), {});
    if (!reading) continue;
    out << run.name() << ":\n";
    for (const Record& record : reading.value().records) {
      const auto body = record.body();
      out << "  " << record.seq() << " " << to_string(record.kind()) << " "
          << (body ? body.value().dump() : body.error().detail) << "\n";
    }
  }
}

RunModel& Play::model(Process& process, int run) {
  RunModel& model = runs_[static_cast<std::size_t>(run)];
  model.shake(process.shaken());
  return model;
}

int Play::now() const {
  return static_cast<int>(
      std::chrono::duration_cast<std::chrono::seconds>(clock_->elapsed()).count());
}

Result<int> Play::attempt(Attempt& attempt, Process& process) {
  if (process.contending) {
    say("a process runs the callable of " + attempt.run_id() + ", which another one is running");
  }
  if (++attempts_ > 200) say("more than 200 attempts");
  if (process.dead || is_over()) {
    process.stop.request_stop();
    throw Died();
  }
  if (process.zombie) return haunt(attempt);
  const auto number = run_numbers_.find(attempt.run_id());
  if (number == run_numbers_.end()) {
    say("the run " + attempt.run_id() + " is not known");
    throw Died();
  }
  Visit visit{attempt, process, number->second};
  begin(visit);
  const int places = static_cast<int>(program_.plan.size());
  int place = std::max(0, values_of(attempt.state())[Key::pos]);
  for (; place <= places && !is_over(); ++place) {
    const std::vector<Trouble> troubles = troubles_at(place);
    for (const Trouble& trouble : troubles) suffer(visit, trouble);
    if (process.zombie) return haunt(attempt);
    if (place == places) break;
    const Item& item = program_.plan[static_cast<std::size_t>(place)];
    do_item(visit, item, troubles);
    if (item.kept) note(visit, item, place);
  }
  const int value = 1000 + ++counter_;
  model(process, visit.run).attempt_returned(value);
  return value;
}

void Play::begin(Visit& visit) {
  model(visit.process, visit.run)
      .attempt_began(visit.attempt.number(), values_of(visit.attempt.state()),
                     steps_of(visit.attempt.trajectory()),
                     program_.deadline > 0 && now() >= program_.deadline);
  if (!model(visit.process, visit.run).is_detached()) {
    token_is_current_[static_cast<std::size_t>(visit.run)] = false;
  }
  if ((visit.attempt.recovery() == nullptr) != (visit.attempt.number() == 1) &&
      visit.attempt.number() == 1 && visit.run == 0) {
    say("the first attempt is told about a recovery");
  }
}

std::vector<Trouble> Play::troubles_at(int item) {
  const int visit = ++visits_[static_cast<std::size_t>(item)];
  std::vector<Trouble> troubles;
  for (const Trouble& trouble : program_.troubles) {
    if (trouble.item == item && trouble.visit == visit) troubles.push_back(trouble);
  }
  return troubles;
}

void Play::fail(Visit& visit, int type, int critical) {
  model(visit.process, visit.run).attempt_failed(type, critical, now());
  throw std::runtime_error("type " + std::to_string(type) + " critical " +
                           std::to_string(critical));
}

void Play::suffer(Visit& visit, const Trouble& trouble) {
  Process& process = visit.process;
  if (process.zombie) return;
  switch (trouble.kind) {
    case Trouble::Kind::fail:
    case Trouble::Kind::throws: fail(visit, trouble.n, -1);
    case Trouble::Kind::fail_late: {
      visit.attempt.record_step({.action = std::to_string(++counter_), .error = "it failed"});
      RunModel& run = model(process, visit.run);
      run.record({.kind = Fact::Kind::step, .a = counter_}, program_.immediate);
      fail(visit, trouble.n, static_cast<int>(visit.attempt.trajectory().size()) - 1);
    }
    case Trouble::Kind::die:
      model(process, visit.run).owner_gone();
      process.dead = true;
      process.mortal->die();
      process.stop.request_stop();
      throw Died();
    case Trouble::Kind::cancel:
      if (process.run < 0) return;  // It would also cancel the runs that are resumed next.
      process.stop.request_stop();
      model(process, visit.run).attempt_cancelled();
      throw std::runtime_error("type 0: cancelled");
    case Trouble::Kind::contend: contend(visit); return;
    case Trouble::Kind::take_over: {
      if (depth_ > 1 || process.run < 0 || process.shaken()) return;  // One at a time.
      process.mortal->lose(visit.attempt.run_id());
      const Result<Lease> taken = process.inner->acquire(visit.attempt.run_id());
      if (!taken) {
        say("nobody can take " + visit.attempt.run_id() + " over: " + taken.error().detail);
        return;
      }
      static_cast<void>(process.inner->release(taken.value()));
      model(process, visit.run).owner_gone();
      process.zombie = true;
      operate({.kind = Action::Kind::run_or_resume,
               .run = visit.run,
               .process = &process == processes_.data() ? 1 : 0});
      return;
    }
    case Trouble::Kind::slow: clock_->advance(std::chrono::seconds(trouble.n)); return;
    case Trouble::Kind::store_before:
    case Trouble::Kind::store_after:
      process.store_fails = true;
      process.store->fail_nth(static_cast<std::uint64_t>(trouble.n),
                              trouble.kind == Trouble::Kind::store_before
                                  ? testing::FaultPoint::before
                                  : testing::FaultPoint::after);
      return;
    case Trouble::Kind::store_breaks:
      process.store_fails = true;
      process.store->fail_until_healed();
      return;
    default: return;  // Handled with the effects.
  }
}

// Another process may read, but not acquire.
void Play::contend(Visit& visit) {
  Process& other = processes_[&visit.process == processes_.data() ? 1 : 0];
  // A run missing from its store could be started by anyone.
  if (other.zombie || other.store_fails || depth_ > 1 || visit.process.shaken()) return;
  const RunId id = visit.attempt.run_id();
  other.contending = true;
  const std::uint64_t faults = other.store->failures();
  for (const Result<int>& result :
       {other.agent->run(1, {.run_id = id}), other.agent->run_or_resume(id, 1),
        other.agent->resume_run(id)}) {
    if (other.store->failures() > faults) continue;
    if (!result.has_error() || result.error().code != Errc::busy) {
      say("a second process that takes " + id + " gets " +
          (result ? "a value" : std::string(to_string(result.error().code))) + " instead of busy");
    }
  }
  other.contending = false;
}

// A process that lost its run continues unaware. Nothing of it may count.
int Play::haunt(Attempt& attempt) {
  attempt.record_step({.action = std::to_string(++counter_)});
  attempt.update_state({{"n", ++counter_}});
  if (attempt.checkpoint("L0")) say("a process that lost its run makes a labelled checkpoint");
  attempt.effect("haunted", [this] {
    say("a process that lost its run carries out an effect");
    return 0;
  });
  return 7777;
}

void Play::do_item(Visit& visit, const Item& item, const std::vector<Trouble>& troubles) {
  Attempt& attempt = visit.attempt;
  Process& process = visit.process;
  switch (item.kind) {
    case Item::Kind::step:
      attempt.record_step({.action = std::to_string(++counter_)});
      model(process, visit.run)
          .record({.kind = Fact::Kind::step, .a = counter_}, program_.immediate);
      return;
    case Item::Kind::change: {
      attempt.update_state({{key_name(item.n), ++counter_}});
      Fact change{.kind = Fact::Kind::change};
      change.v[item.n == 0 ? Key::k0 : Key::k1] = counter_;
      model(process, visit.run).record(change, false);
      return;
    }
    case Item::Kind::forget:
      attempt.remove_state(key_name(item.n));
      model(process, visit.run)
          .record({.kind = Fact::Kind::forget, .a = static_cast<int>(Key::k0) + item.n}, false);
      return;
    case Item::Kind::label: do_label(visit, item.n); return;
    case Item::Kind::effect: do_effect(visit, item.n, troubles); return;
    case Item::Kind::nap:
    case Item::Kind::wait: do_wait(visit, item); return;
  }
}

void Play::do_label(Visit& visit, int label) {
  const Result<CheckpointId> made = visit.attempt.checkpoint("L" + std::to_string(label));
  RunModel& run = model(visit.process, visit.run);
  if (made) {
    run.record({.kind = Fact::Kind::label, .a = label}, true);
    return;
  }
  run.label_refused(label);
  fail(visit, 3, -1);
}

void Play::do_wait(Visit& visit, const Item& item) {
  if (program_.deadline > 0 && item.seconds >= program_.deadline) return;
  const bool nap = item.kind == Item::Kind::nap;
  try {
    if (nap) {
      visit.attempt.sleep_until(wall(item.seconds));
      if (now() < item.seconds) say("sleep_until returns before its time");
      return;
    }
    const auto given = visit.attempt.wait("s" + std::to_string(item.n), wall(item.seconds));
    RunModel& run = model(visit.process, visit.run);
    const int value = given ? given->get<int>() : -1;
    run.waited(item.n, value, now() < item.seconds);
  } catch (const AttemptStopped&) {
    RunModel& run = model(visit.process, visit.run);
    if (visit.process.shaken() && !nap) run.wait_broken(item.n, now() < item.seconds);
    if (program_.deadline > 0 && now() >= program_.deadline) {
      run.attempt_too_late(now());
    } else if (item.seconds - now() > program_.max_wait || visit.process.shaken()) {
      run.attempt_parked({.cause = nap ? Waiting::Cause::nap : Waiting::Cause::signal,
                          .until = item.seconds,
                          .signal = nap ? -1 : item.n});
    } else {
      say("a wait that is short stops the attempt");
    }
    throw;
  }
}

void Play::note(Visit& visit, const Item& item, int place) {
  Json patch = {{"pos", place + 1}, {"n", ++counter_}};
  Fact change{.kind = Fact::Kind::change};
  change.v[Key::pos] = place + 1;
  change.v[Key::n] = counter_;
  if (item.kind == Item::Kind::effect) {
    patch["did" + std::to_string(item.n)] = 1;
    change.v.all[static_cast<std::size_t>(Key::did0) + static_cast<std::size_t>(item.n)] = 1;
  }
  visit.attempt.update_state(std::move(patch));
  model(visit.process, visit.run).record(change, false);
}

}  // namespace triage::campaign
