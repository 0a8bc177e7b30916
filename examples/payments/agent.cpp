// SPDX-License-Identifier: MIT
#include "agent.hpp"

#include "../crawl/http_client.hpp"
#include "triage/agent.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/retry.hpp"
#include "triage/stores/sqlite.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace payments {
namespace {

using crawl::HttpClient;
using crawl::Response;
using triage::Attempt;
using triage::EffectCall;
using triage::EffectNotDone;
using triage::Json;
using triage::Reconciled;

constexpr int find_tries = 400;
constexpr auto find_pause = std::chrono::milliseconds(10);  // The service may be starting again.

class Till {
 public:
  explicit Till(const AgentSettings& settings) : settings_(settings) {}

  Json operator()(const int& orders, Attempt& attempt) {
    Json receipts = Json::object();
    for (int order = 0; order < orders; ++order) {
      const std::string reference = reference_of(attempt.run_id(), order);
      die_at(Point::before_effect, order);
      receipts[reference] = charge(attempt, reference, order);
      die_at(Point::after_effect, order);
      attempt.update_state({{reference, receipts[reference]}});
      die_at(Point::after_state, order);
    }
    return receipts;
  }

 private:
  void die_at(Point point, int order) const {
    if (settings_.kill_at == point && settings_.kill_order == order) std::raise(SIGKILL);
  }

  // The receipt, or null if the charge is in doubt and there is no way to find out.
  Json charge(Attempt& attempt, const std::string& reference, int order) {
    const Json bill{{"reference", reference}, {"cents", cents_of(order)}};
    triage::EffectOptions how;
    if (settings_.reconcile) {
      how.reconcile = [this, reference](const EffectCall& call) { return find(reference, call); };
    }
    const auto receipt = attempt.try_effect(
        "charge:" + reference, bill,
        [&](const EffectCall& call) { return send(bill, order, call); }, how);
    if (receipt) return receipt.value();
    if (receipt.error().code == triage::Errc::in_doubt) return nullptr;
    throw std::runtime_error(receipt.error().detail);
  }

  std::int64_t send(Json bill, int order, const EffectCall& call) {
    bill["fence"] = call.attempt;
    die_at(Point::before_sending, order);
    const Response response = http_.post_json(settings_.url + "/charge", bill.dump());
    die_at(Point::after_answer, order);
    if (response.ok()) return Json::parse(response.body).at("receipt");
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

  // The service refuses from now on what an earlier attempt has sent, so the answer is final.
  Reconciled find(const std::string& reference, const EffectCall& call) {
    const Json question{{"reference", reference}, {"fence", call.attempt}};
    std::string problem;
    for (int i = 0; i < find_tries; ++i) {
      const Response response = http_.post_json(settings_.url + "/find", question.dump());
      const Json answer = Json::parse(response.body, nullptr, false);
      if (response.ok() && answer.is_object()) {
        return answer.at("charged") ? Reconciled::done(answer.at("receipt"))
                                    : Reconciled::not_done();
      }
      problem = response.error;
      triage::real_clock()->sleep_until(triage::real_clock()->now() + find_pause, {});
    }
    return Reconciled::unknown("the service does not answer: " + problem);
  }

  const AgentSettings& settings_;
  HttpClient http_{HttpClient::Connections::fresh};
};

}  // namespace

std::string reference_of(std::string_view run, int order) {
  return std::string(run) + "/" + std::to_string(order);
}

int work(const AgentSettings& settings) {
  auto store = triage::SqliteStore::open(settings.store);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().detail.c_str());
    return 2;
  }
  triage::FailurePolicy policy;
  policy.otherwise(triage::retry({.max_attempts = 200, .delay = std::chrono::milliseconds(5)}));
  const triage::TriageAgent agent{triage::per_run([&settings] {
                                    return [till = std::make_shared<Till>(settings)](
                                               const int& orders, Attempt& attempt) {
                                      return (*till)(orders, attempt);
                                    };
                                  }),
                                  policy,
                                  {.name = "till",
                                   .store = std::move(store).value(),
                                   .limits = {.max_attempts = 500, .max_attempts_per_type = 500}}};
  const auto result = agent.run_or_resume(settings.run, settings.orders);
  if (result) return 0;
  std::fprintf(stderr, "%s: %s\n", settings.run.c_str(), result.error().detail.c_str());
  return 1;
}

}  // namespace payments
