// SPDX-License-Identifier: MIT
// Branches: new runs that start at a checkpoint of another run.
#include "base/may_pass.hpp"
#include "effects/effects.hpp"
#include "resume/continuation.hpp"
#include "resume/decision_checks.hpp"
#include "storage/half_import.hpp"
#include "storage/run_keys.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {
namespace {

const std::string_view fork_space = own_space(OwnSpace::forks);

Result<void> check_fork(const ForkOptions& options) {
  TRIAGE_TRYV(check_run_label(options.label, "the branch's label"));
  TRIAGE_TRYV(check_who(options.who));
  if (!options.run.run_id.empty()) {
    TRIAGE_TRYV(check_run_id(options.run.run_id));
  }
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  if (options.task) {
    TRIAGE_TRYV(check_json(*options.task, "the branch's task"));
  }
  for (const auto& [key, result] : options.answers) {
    TRIAGE_TRYV(check_json(result, effect_name(key) + ": its answer"));
  }
  if (options.state.is_null()) return outcome::success();
  if (!options.state.is_object()) {
    return Error{Errc::invalid_argument, "the branch's state must be a JSON object; this is a " +
                                             std::string(options.state.type_name())};
  }
  return check_json(options.state, "the branch's state");
}

Error label_in_use(const std::string& label) {
  return {Errc::conflict,
          "the label \"" + printable(label) + "\" is in use; give the branch another"};
}

// A label reserved for one branch. It can be taken over if its run does not exist or has another
// label; confirm(), called after the run is created, tells who has it.
class HeldLabel {
 public:
  static Result<HeldLabel> take(CheckpointStore& store, const std::string& agent,
                                const std::string& label, const RunId& run) {
    HeldLabel held(store, agent, label, run);
    if (label.empty()) return outcome::success(std::move(held));
    TRIAGE_TRY(before, run_catching([&] { return store.get(fork_space, held.key_); }));
    if (before) {
      const auto holder = run_catching([&] { return store.run(before->bytes); });
      if (holder && holder.value().label == label) return label_in_use(label);
      held.version_ = before->version;
    }
    TRIAGE_TRY(same, run_catching(
                         [&] { return store.runs({.agent = agent, .label = label, .limit = 1}); }));
    if (!same.empty()) return label_in_use(label);
    TRIAGE_TRYV(held.put());
    return outcome::success(std::move(held));
  }
  // Errors: Errc::conflict if the label was taken over meanwhile.
  Result<void> confirm() { return label_.empty() ? outcome::success() : put(); }
  // For a branch that was not created. If removal fails, the label's next user takes it over.
  void give_back() {
    if (label_.empty() || version_ == 0) return;
    static_cast<void>(run_catching([&] { return store_->erase_if(fork_space, key_, version_); }));
  }

 private:
  HeldLabel(CheckpointStore& store, const std::string& agent, const std::string& label,
            const RunId& run)
      : store_(&store), label_(label), key_(label_key(agent, label)), run_(run) {}
  Result<void> put() {
    auto version = run_catching([&] { return store_->put_if(fork_space, key_, version_, run_); });
    if (!version) {
      return version.error().code == Errc::conflict ? label_in_use(label_) : version.error();
    }
    version_ = version.value();
    return outcome::success();
  }

  CheckpointStore* store_;
  std::string label_;
  std::string key_;
  RunId run_;
  std::uint64_t version_ = 0;
};

// The position in the origin, whose journal is only read.
Result<Checkpoint> find_parent(const Journal& origin, Sequence at) {
  if (at == 0 && origin.start_sequence() == 0) {  // Before anything was recorded.
    return outcome::success(Checkpoint{.info = {.id = {origin.run(), 0}}});
  }
  if (const auto position = origin.find(at)) {
    TRIAGE_TRYV(check_claims(origin, *position));
    return origin.restore(*position);
  }
  Checkpoint latest = origin.latest();
  if (latest.info.id.sequence == at) {
    if (!origin.before_undone()) return outcome::success(std::move(latest));
    return Error{Errc::conflict, "run \"" + origin.run() +
                                     "\" stands behind an effect that has been undone since; "
                                     "choose a checkpoint before that effect"};
  }
  return Error{Errc::not_found, "run \"" + origin.run() + "\" has no checkpoint " +
                                    to_string(CheckpointId{origin.run(), at})};
}

// Tells a branch about an effect of its origin so that it is not repeated. Only the origin may undo
// the effect, so no compensation is copied. Keeps the origin's idempotency key, under which the
// outside world knows the effect. Empty if the effect is not in place.
std::vector<Record> inherited(const RunId& origin, const std::string& key,
                              const EffectState& effect, WallTime wall, Journal& branch) {
  using Status = EffectState::Status;
  const bool undoing = effect.status == Status::compensating;
  const bool done = effect.status == Status::completed || undoing;
  if (!done && effect.status != Status::intended) return {};
  const auto key_or = [&](const std::string& recorded, bool compensation) {
    return recorded.empty() ? idempotency_key(origin, key, effect.generation, compensation)
                            : recorded;
  };
  Json fields{{"key", key},
              {"generation", effect.generation},
              {"idempotency_key", key_or(effect.idempotency_key, false)}};
  if (!effect.arguments.empty()) fields["arguments"] = effect.arguments;
  if (effect.semantics != EffectSemantics::at_most_once) {
    fields["semantics"] = to_string(effect.semantics);
  }
  if (!effect.reconciliation.empty()) fields["reconciliation"] = effect.reconciliation;
  if (done) fields["result"] = effect.result ? *effect.result : Json();
  std::vector<Record> records;
  records.push_back(branch.add(done ? RecordKind::effect_completed : RecordKind::effect_intended,
                               wall, std::move(fields)));
  if (undoing) {  // It may or may not still be in place.
    Json doubt{{"key", key},
               {"generation", effect.generation},
               {"idempotency_key", key_or(effect.compensation_key, true)}};
    records.push_back(branch.add(RecordKind::compensation_intended, wall, std::move(doubt)));
  }
  return records;
}

// An effect whose result the branch is given. Its arguments are not known yet.
Record answered(const std::string& key, const Json& result, const Journal& origin, WallTime wall,
                Journal& branch) {
  const auto known = origin.effects().find(key);
  return branch.add(
      RecordKind::effect_completed, wall,
      Json{{"key", key},
           {"generation", known == origin.effects().end() ? 1U : known->second.generation},
           {"arguments", any_arguments},
           {"result", result}});
}

// The branch's first records: its run, its origin, its starting state.
std::vector<Record> first_records(const AgentCore& core, const ForkOptions& options,
                                  const Journal& origin, const Checkpoint& parent,
                                  Journal& branch) {
  Clock& clock = *core.clock;
  const WallTime wall = clock.wall_now();
  Json start = origin.start();
  if (options.task) start["task"] = *options.task;
  // From now on it is this agent's run, even if its origin was another's.
  start.update(identity_of(core));
  std::vector<Record> records;
  start.erase("parent");
  start.erase("parent_attempt");
  start.erase("label");
  Terms terms{.limits = options.run.limits};  // A branch has limits of its own.
  if (options.run.deadline) terms.deadline = wall_time(clock, *options.run.deadline);
  put_terms(terms, start);
  start["nonce"] = start_nonce();
  // In the one record that no run can continue without: damage to any other could lift it.
  start.erase("refuses_effects");
  if (options.refuse_new_effects) start["refuses_effects"] = true;
  if (!options.label.empty()) start["label"] = options.label;
  records.push_back(branch.add(RecordKind::run_started, wall, std::move(start)));
  Json forked{{"parent", to_string(parent.info.id)}};
  if (!options.who.empty()) forked["who"] = options.who;
  if (!options.state.is_null()) forked["edits"] = options.state;
  if (!options.hint.empty()) forked["hint"] = options.hint;
  records.push_back(branch.add(RecordKind::forked, wall, std::move(forked)));
  for (const auto& [key, result] : options.answers) {
    records.push_back(answered(key, result, origin, wall, branch));
  }
  for (const auto& [key, effect] : origin.effects()) {
    if (options.answers.contains(key)) continue;
    for (Record& record : inherited(origin.run(), key, effect, wall, branch)) {
      records.push_back(std::move(record));
    }
  }
  Json steps = Json::array();
  std::string encoded;
  for (const Step& step : parent.trajectory) {
    encoded.clear();
    encode_step(step, encoded);
    if (auto json = decode_cbor(encoded)) steps.push_back(std::move(json).value());
  }
  Json state = parent.state.json();
  if (options.state.is_object()) state.update(options.state);
  records.push_back(branch.add(
      RecordKind::state_snapshot, wall,
      Json{{"state", std::move(state)}, {"replaced", true}, {"steps", std::move(steps)}}));
  records.push_back(branch.add(RecordKind::attempt_started, wall, Json{{"number", 1}}));
  return records;
}

Recovery branch_recovery(const Checkpoint& parent, const std::string& hint,
                         const std::shared_ptr<const AgentContract>& contract) {
  const std::string id = to_string(parent.info.id);
  Recovery recovery{
      .action = RecoveryAction::Kind::resume,
      .reason = "forked",
      .hint = hint.empty() ? "The run branches off from checkpoint " + id + "." : hint,
      .checkpoint_id = id};
  recovery.contract = contract;
  if (contract) {
    for (const ToolContract& tool : contract->tools) recovery.tools.push_back(tool.name);
  }
  return recovery;
}

}  // namespace

Result<ContinuationPtr> open_fork(const AgentCore& core, std::string_view checkpoint,
                                  const ForkOptions& options) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_fork(options));
  TRIAGE_TRY(parent_id, parse_checkpoint_id(checkpoint));
  auto store = store_of(core, options.run);
  if (!store) return Error{Errc::not_found, "the agent has no store to fork in"};
  TRIAGE_TRY(reading, run_catching([&] { return store->read(parent_id.run, {}); }));
  TRIAGE_TRYV(run_catching([&] { return check_imported(*store, reading.info); }));
  TRIAGE_TRY(origin, Journal::fold(reading));
  if (!options.accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, origin));
  }
  if (!options.task) {
    TRIAGE_TRYV(check_task(core, origin));
  } else {
    TRIAGE_TRYV(core.task_fits(*options.task));
  }
  if (origin.lost_intent() != 0) {
    return Error{Errc::corrupt, "record " + std::to_string(origin.lost_intent()) + " of run \"" +
                                    origin.run() +
                                    "\" is damaged and may have been an effect, which the branch "
                                    "could repeat"};
  }
  TRIAGE_TRY(parent, find_parent(origin, parent_id.sequence));

  const WallTime wall = core.clock->wall_now();
  RunOptions own = options.run;
  own.label = options.label;
  if (own.run_id.empty()) own.run_id = make_run_id(wall, *core.random);
  const RunId id = own.run_id;
  ContinuationPtr run(new Continuation(core));
  run->set_terms(std::move(own), options.run, Duration::zero());
  run->task = options.task ? *options.task : origin.start().at("task");
  RunData& data = *run->data;
  Journal branch(id, origin.auto_checkpoint());
  const std::vector<Record> records = first_records(core, options, origin, parent, branch);

  TRIAGE_TRY(label, HeldLabel::take(*store, core.options.name, options.label, id));
  const RunInfo info{.id = id,
                     .agent = core.options.name,
                     .label = options.label,
                     .status = RunStatus::running,
                     .started = wall,
                     .updated = wall};
  const auto start = [&] { return run_catching([&] { return store->start(info, records); }); };
  auto lease = start();
  if (!lease && may_pass(lease.error().code)) lease = start();  // Recognised if it has happened.
  if (!lease) {
    label.give_back();
    return std::move(lease).error();
  }
  data.writer.lease = std::move(lease).value();
  data.store = std::move(store);
  data.started = true;
  if (auto confirmed = label.confirm(); !confirmed) {
    const auto released = run_catching([&] { return data.store->release(data.writer.lease); });
    data.started = !released;  // Otherwise the destructor retries the release.
    if (released) static_cast<void>(run_catching([&] { return data.store->erase(id); }));
    return std::move(confirmed).error();
  }
  data.write_as(core.options);
  data.writer.queued = branch.last();
  data.writer.durable = branch.last();
  data.task = run->task;
  data.journal = std::move(branch);
  return restore(std::move(run), {.reason = "forked",
                                  .told = branch_recovery(parent, options.hint, core.contract),
                                  .recorded = true});
}

}  // namespace triage::inline v0_1::detail
