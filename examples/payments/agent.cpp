// SPDX-License-Identifier: MIT
#include "agent.hpp"

#include "../crawl/http_client.hpp"
#include "triage/agent.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/sqlite.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

namespace payments {
namespace {

using crawl::HttpClient;
using crawl::Response;
using triage::Attempt;
using triage::EffectCall;
using triage::EffectNotDone;
using triage::Json;
using triage::Reconciled;
using triage::Result;

constexpr auto wrong_half = "the second half was not wanted like this";
constexpr auto not_wanted = "the customer does not want any of it";
constexpr int find_tries = 400;
constexpr auto find_pause = std::chrono::milliseconds(10);  // The service may be starting again.

class Till {
 public:
  explicit Till(const AgentSettings& settings) : settings_(settings) {}

  Result<Json> operator()(int orders, Attempt& attempt) {
    Json receipts = Json::object();
    std::string half;
    bool again = false;  // Whether the run has already gone back.
    for (int order = 0; order < orders; ++order) {
      if (order == settings_.orders / 2) half = half_way(attempt);
      die_at(Point::before_effect, order);
      const Json charged = charge(attempt, order);
      const std::string reference = charged.at("reference");
      receipts[reference] = charged.at("receipt");
      again = again || reference != reference_of(settings_.run, order);
      die_at(Point::after_effect, order);
      attempt.update_state({{reference, receipts[reference]}});
      die_at(Point::after_state, order);
    }
    if (settings_.kind == Kind::rollback && !again) return attempt.fail({.text = wrong_half});
    if (settings_.kind == Kind::abort) return attempt.fail({.text = not_wanted});
    return Json{{"receipts", std::move(receipts)}, {"half", half}};
  }

  // Undoes a charge. What was refused is tried again here; any other answer leaves a doubt.
  void refund(const EffectCall& call) {
    const std::string reference = call.result.at("reference");
    const int order = std::stoi(reference.substr(settings_.run.size() + 1));
    die_at(Point::before_refund, order);
    for (int i = 0; i < find_tries; ++i) {
      const Json body{{"reference", reference}, {"fence", fence()}};
      const Response response = http_.post_json(settings_.url + "/refund", body.dump());
      die_at(Point::after_refund, order);
      if (response.ok()) return;
      const Json answer = Json::parse(response.body, nullptr, false);
      const bool refused =
          response.error.empty() && answer.is_object() && !answer.value("refunded", true);
      if (!refused && response.code != std::errc::connection_refused) {
        throw std::runtime_error("no answer that says whether it was paid back");
      }
      pause();
    }
    throw EffectNotDone("the service is away");
  }

  [[nodiscard]] Reconciled find_refund(const EffectCall& call) {
    return ask("/find_refund", {{"reference", call.result.at("reference")}, {"fence", fence()}},
               "refunded", [](const Json&) { return Json(); });
  }

  // The service refuses from now on what an earlier attempt has sent, so the answer is final.
  [[nodiscard]] Reconciled find(const EffectCall& call) {
    const std::string reference = reference_in(call);
    return ask("/find", {{"reference", reference}, {"fence", call.attempt}}, "charged",
               [&](const Json& answer) {
                 return Json{{"reference", reference}, {"receipt", answer.at("receipt")}};
               });
  }

 private:
  void die_at(Point point, int order) const {
    if (settings_.kill_at == point && settings_.kill_order == order) std::raise(SIGKILL);
  }

  static void pause() {
    triage::real_clock()->sleep_until(triage::real_clock()->now() + find_pause, {});
  }

  // Grows from request to request, also from process to process.
  static std::int64_t fence() { return triage::real_clock()->now().time_since_epoch().count(); }

  // The key is the first reference, in a branch, too: so its origin's charges are not made again.
  static std::string reference_in(const EffectCall& call) {
    const std::string first = call.key.substr(call.key.find(':') + 1);
    return call.generation == 1 ? first : first + "/" + std::to_string(call.generation);
  }

  // A checkpoint before the second half, made once, before anything of that half is charged.
  std::string half_way(Attempt& attempt) const {
    return attempt.effect("half", [&] { return to_string(attempt.checkpoint("half").value()); },
                          {.semantics = triage::EffectSemantics::at_least_once});
  }

  // {"reference", "receipt"}; the receipt is null if the charge is in doubt and there is no way to
  // find out.
  Json charge(Attempt& attempt, int order) {
    const std::string first = reference_of(settings_.run, order);
    triage::EffectOptions how;
    if (settings_.reconcile) how.reconcile = "find";
    if (settings_.kind == Kind::rollback || settings_.kind == Kind::abort) {
      how.compensate = "refund";
    }
    const auto charged = attempt.try_effect(
        "charge:" + first, {{"cents", cents_of(order)}},
        [&](const EffectCall& call) { return send(order, call); }, how);
    if (charged) return charged.value();
    if (charged.error().code == triage::Errc::in_doubt) {
      return {{"reference", first}, {"receipt", nullptr}};
    }
    throw std::runtime_error(charged.error().message());
  }

  Json send(int order, const EffectCall& call) {
    const std::string reference = reference_in(call);
    const Json bill{{"reference", reference}, {"cents", cents_of(order)}, {"fence", call.attempt}};
    die_at(Point::before_sending, order);
    const Response response = http_.post_json(settings_.url + "/charge", bill.dump());
    die_at(Point::after_answer, order);
    if (response.ok()) {
      return {{"reference", reference}, {"receipt", Json::parse(response.body).at("receipt")}};
    }
    if (response.code == std::errc::connection_refused) {
      throw EffectNotDone("the service is away: " + response.error);
    }
    const Json answer = Json::parse(response.body, nullptr, false);
    if (response.error.empty() && answer.is_object() && !answer.value("charged", true)) {
      throw EffectNotDone("refused: " + response.body);
    }
    std::ofstream(settings_.doubts, std::ios::app) << call.key << '\n';
    throw std::runtime_error("no answer that says whether it was charged: " + response.error);
  }

  // Asks until the service answers whether something was done.
  template <class ResultOf>
  Reconciled ask(const char* path, const Json& question, const char* done,
                 const ResultOf& result_of) {
    std::string problem;
    for (int i = 0; i < find_tries; ++i) {
      const Response response = http_.post_json(settings_.url + path, question.dump());
      const Json answer = Json::parse(response.body, nullptr, false);
      if (response.ok() && answer.is_object()) {
        return answer.at(done) ? Reconciled::done(result_of(answer)) : Reconciled::not_done();
      }
      problem = response.error;
      pause();
    }
    return Reconciled::unknown("the service does not answer: " + problem);
  }

  const AgentSettings& settings_;
  HttpClient http_{HttpClient::Connections::fresh};
};

triage::FailurePolicy policy() {
  const auto says = [](const char* text) {
    return [text](const triage::FailureContext& failure) { return failure.text == text; };
  };
  triage::FailurePolicy policy;
  policy.when(says(wrong_half), triage::rollback({.label = "half"}), wrong_half)
      .when(says(not_wanted), triage::abort_run(), not_wanted)
      .otherwise(triage::retry({.max_attempts = 200, .delay = std::chrono::milliseconds(5)}));
  return policy;
}

triage::AgentOptions options(Till& till, std::shared_ptr<triage::CheckpointStore> store) {
  const auto refund = [&till](const EffectCall& call) { till.refund(call); };
  return {.name = "till",
          .store = std::move(store),
          .limits = {.max_attempts = 500, .max_attempts_per_type = 500},
          .compensation = {.max_attempts = 20, .delay = std::chrono::milliseconds(1)},
          .compensations = {{"refund", triage::Compensation(refund, "find refund")}},
          .reconciliations = {
              {"find", [&till](const EffectCall& call) { return till.find(call); }},
              {"find refund", [&till](const EffectCall& call) { return till.find_refund(call); }}}};
}

}  // namespace

std::string reference_of(std::string_view run, int order, std::uint64_t generation) {
  std::string first = std::string(run) + "/" + std::to_string(order);
  return generation == 1 ? first : first + "/" + std::to_string(generation);
}

std::string branch_of(std::string_view run) { return std::string(run) + ".branch"; }

int work(const AgentSettings& settings) {
  auto store = triage::SqliteStore::open(settings.store);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().detail.c_str());
    return 2;
  }
  Till till(settings);
  const triage::TriageAgent agent{
      [&till](const int& orders, Attempt& attempt) { return till(orders, attempt); }, policy(),
      options(till, std::move(store).value())};
  auto result = agent.run_or_resume(settings.run, settings.orders);
  if (result && settings.kind == Kind::fork) {
    const int orders = settings.orders + added_orders;
    const std::string half = result.value().at("half");
    result = agent.fork(half, {.task = orders, .run = {.run_id = branch_of(settings.run)}});
    if (!result && result.error().code == triage::Errc::conflict) {  // It was begun before.
      result = agent.run_or_resume(branch_of(settings.run), orders);
    }
  }
  if (result) return settings.kind == Kind::abort ? 1 : 0;
  if (settings.kind == Kind::abort && result.error().code == triage::Errc::aborted) return 0;
  std::fprintf(stderr, "%s: %s\n", settings.run.c_str(), result.error().message().c_str());
  return 1;
}

}  // namespace payments
