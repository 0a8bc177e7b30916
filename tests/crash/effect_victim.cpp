// SPDX-License-Identifier: MIT
#include "effect_victim.hpp"

#include "killing_store.hpp"
#include "side_log.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace triage::test {
namespace {

constexpr std::string_view watched = "b";

class Victim {
 public:
  explicit Victim(const EffectVictim& how) : how_(how), log_(how.side_log) {}

  int run() {
    const auto store = open();
    FailurePolicy policy;
    policy.otherwise(Strategy("roll back", [](const FailureContext&) {
      return RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "between"});
    }));
    AgentOptions options{.name = "victim",
                         .store = store,
                         .write_mode = static_cast<WriteMode>(how_.mode),
                         .on_store_error = OnStoreError::fail};
    options.compensation.max_attempts = 1;
    const Reconcile undone = how_.reconciles ? Reconcile([this](const EffectCall& call) {
      return saw("undo ", call) ? Reconciled::done() : Reconciled::not_done();
    })
                                             : Reconcile();
    options.compensations["undo"] =
        Compensation([this](const EffectCall& call) { undo(call); }, undone);
    if (how_.reconciles) {
      options.reconciliations["look"] = [this](const EffectCall& call) { return look(call); };
    }
    const TriageAgent agent{[this](const std::string&, Attempt& attempt) { return work(attempt); },
                            policy, options};
    const auto result = agent.run_or_resume("r", "x");
    if (result) return result.value() == "a#1 b" ? exit_finished : 3;
    if (result.error().code == Errc::in_doubt) return exit_in_doubt;
    std::fprintf(stderr, "run: %s: %s\n", std::string(to_string(result.error().code)).c_str(),
                 result.error().detail.c_str());
    return 1;
  }

 private:
  std::shared_ptr<CheckpointStore> open() const {
    auto store = SqliteStore::open(how_.database).value();
    const KillPoint* at = how_.dies_at;
    if (at == nullptr || !at->record) return store;
    const auto chosen = [at](const Record& record) {
      if (record.kind() != *at->record) return false;
      const Json body = record.body().value();
      return body.at("key") == watched && body.at("generation") == at->generation;
    };
    return std::make_shared<KillingStore>(std::move(store), chosen, at->stored);
  }

  void die_at(std::string_view place) const {
    if (how_.dies_at != nullptr && how_.dies_at->name == place) std::raise(SIGKILL);
  }

  static std::string line_of(std::string_view what, const EffectCall& call) {
    return std::string(what) + call.key + "#" + std::to_string(call.generation);
  }
  bool saw(std::string_view what, const EffectCall& call) const {
    std::ifstream file(how_.side_log);
    for (std::string line; std::getline(file, line);) {
      if (line == line_of(what, call)) return true;
    }
    return false;
  }

  std::string work(Attempt& attempt) {
    if (attempt.number() > 1) die_at("second attempt");
    const std::string first = effect(attempt, "a");
    attempt.checkpoint("between").value();
    die_at("before the effect");
    effect(attempt, watched);
    die_at("effect returned");
    attempt.update_state({{"b", true}});
    die_at("state updated");
    if (attempt.number() == 1) throw std::runtime_error("timeout");
    return first + " b";
  }

  std::string effect(Attempt& attempt, std::string_view key) {
    for (int i = 0; i < how_.steps; ++i) attempt.record_step({.action = "step"});
    const bool loses_answer = key == watched && attempt.number() == 1 && how_.dies_at != nullptr &&
                              how_.dies_at->loses_answer;
    EffectOptions options{.compensate = "undo"};
    if (how_.reconciles) options.reconcile = "look";
    std::string receipt = attempt.effect(
        key, {{"what", key}},
        [&](const EffectCall& call) {
          if (key == watched) die_at("function entered");
          log_.line(line_of("effect ", call));
          if (key == watched) die_at(call.generation == 1 ? "sent" : "sent again");
          if (loses_answer) throw std::runtime_error("timeout");
          return line_of("", call);
        },
        options);
    log_.line("ack " + receipt);
    return receipt;
  }

  void undo(const EffectCall& call) {
    die_at("undoing entered");
    if (call.result != line_of("", call)) throw std::runtime_error("another result");
    log_.line(line_of("undo ", call));
    die_at("undone");
  }

  Reconciled look(const EffectCall& call) {
    die_at("reconcile asked");
    return saw("effect ", call) ? Reconciled::done(line_of("", call)) : Reconciled::not_done();
  }

  const EffectVictim& how_;
  SideLog log_;
};

}  // namespace

int run_effect_victim(const EffectVictim& victim) { return Victim(victim).run(); }

}  // namespace triage::test
