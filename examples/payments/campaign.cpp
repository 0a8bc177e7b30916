// SPDX-License-Identifier: MIT
#include "campaign.hpp"

#include "../demo/child.hpp"
#include "agent.hpp"
#include "ledger.hpp"
#include "service.hpp"
#include "triage/clock.hpp"
#include "triage/journal.hpp"
#include "triage/stores/sqlite.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace payments {
namespace {

using std::chrono::milliseconds;
using triage::Json;

constexpr int most_kills = 3;          // Of the agent in one run.
constexpr int most_processes = 20;     // Of the agent in one run.
constexpr int killed = 128 + SIGKILL;  // As a status.
constexpr auto pause = milliseconds(1);

struct Account {
  int orders = 0;  // That must have been charged.
  int once = 0;
  int twice = 0;
  int in_doubt = 0;
  int lost = 0;
  int wrong_amounts = 0;   // The service charged something else.
  int wrong_receipts = 0;  // The agent's result has another receipt than the book.
  int wrong_refunds = 0;   // Paid back too often, or not although it had to be.
  int unknown = 0;         // Charges under references that no order has.
};

// What must be in the book in the end.
struct Expected {
  std::string run{};  // That was told the receipt.
  std::string reference{};
  int order = 0;
  int refunds = 0;
};

class Campaign {
 public:
  explicit Campaign(const CampaignSettings& settings)
      : settings_(settings),
        random_(triage::seeded_random(settings.seed)),
        port_(std::to_string(free_port())) {}

  int run() {
    for (int i = 1; i <= settings_.runs; ++i) finish(id_of(i), kind_of(i));
    service_.reset();
    return report();
  }

 private:
  std::string file(const char* name) const { return settings_.folder + "/" + name; }
  std::uint64_t pick(std::uint64_t below) { return random_->next() % below; }

  void keep_service_up() {
    if (service_ && !service_->poll()) return;
    if (service_) ++service_deaths_;
    service_ = std::make_unique<demo::Child>(
        std::vector<std::string>{settings_.program, "service", file("ledger.db"), port_,
                                 std::to_string(settings_.seed)},
        file("service.log"));
  }

  Kind kind_of(int run) const {
    if (settings_.kind) return *settings_.kind;
    if (!settings_.reconcile) return run % 2 == 0 ? Kind::plain : Kind::fork;
    return static_cast<Kind>(run % kinds);
  }
  static std::string id_of(int run) { return "run-" + std::to_string(run); }

  // One process of the agent. Returns its status.
  int work(const std::string& run, Kind kind, bool may_die) {
    Point point = Point::nowhere;
    std::optional<milliseconds> kill_after;
    if (may_die && pick(2) == 0) {
      point = static_cast<Point>(1 + pick(points));
    } else if (may_die && pick(3) == 0) {
      kill_after = milliseconds(pick(60));
    }
    std::optional<milliseconds> kill_service_after;
    if (pick(6) == 0) kill_service_after = milliseconds(pick(60));
    demo::Child agent(
        {settings_.program, "agent", file("runs.db"), "http://127.0.0.1:" + port_, run,
         file("doubts"), std::to_string(settings_.orders), settings_.reconcile ? "reconcile" : "no",
         std::to_string(static_cast<int>(point)),
         std::to_string(pick(static_cast<std::uint64_t>(settings_.orders))),
         std::to_string(static_cast<int>(kind))},
        file("agent.log"));
    const auto& clock = triage::real_clock();
    const auto begin = clock->now();
    for (;;) {
      keep_service_up();
      if (const auto status = agent.poll()) return *status;
      const auto passed = clock->now() - begin;
      if (kill_after && passed >= *kill_after) agent.kill();
      if (kill_service_after && passed >= *kill_service_after) {
        service_->kill();
        kill_service_after.reset();
      }
      clock->sleep_until(clock->now() + pause, {});
    }
  }

  void finish(const std::string& run, Kind kind) {
    int kills = 0;
    for (int process = 0; process < most_processes; ++process) {
      const int status = work(run, kind, kills < most_kills);
      if (status == 0) return;
      if (status != killed) {
        ++failures_;
        return;
      }
      ++kills;
      ++agent_deaths_;
      if (is_in_window(run) || is_in_window(branch_of(run))) ++window_;
    }
    ++failures_;
  }

  // Whether the kill has left an effect in doubt that was not so before.
  bool is_in_window(const std::string& run) {
    const auto store = triage::SqliteStore::open(file("runs.db"), {.read_only = true});
    if (!store) return false;
    const auto reading = store.value()->read(run, {});
    if (!reading) return false;
    triage::RecordKind newest = triage::RecordKind::run_started;
    for (const triage::Record& record : reading.value().records) newest = record.kind();
    return newest == triage::RecordKind::effect_intended;
  }

  // What the agent was told about each order of a run.
  static Json receipts_of(triage::CheckpointStore& store, const std::string& run) {
    const auto reading = store.read(run, {});
    if (!reading) return Json::object();
    const auto journal = triage::Journal::fold(reading.value());
    if (!journal || !journal.value().finished().is_object()) return Json::object();
    const Json result = journal.value().finished().value("result", Json());
    return result.is_object() ? result.value("receipts", Json::object()) : Json::object();
  }

  // What the service must have done for one run.
  std::vector<Expected> expected_of(const std::string& run, Kind kind) const {
    std::vector<Expected> all;
    for (int order = 0; order < settings_.orders; ++order) {
      const bool goes_back = kind == Kind::rollback && order >= settings_.orders / 2;
      all.push_back(
          {run, reference_of(run, order), order, goes_back || kind == Kind::abort ? 1 : 0});
      if (goes_back) all.push_back({run, reference_of(run, order, 2), order, 0});
    }
    if (kind != Kind::fork) return all;
    // The branch is told its origin's receipts, and makes only what was added.
    for (int order = 0; order < settings_.orders + added_orders; ++order) {
      all.push_back({branch_of(run), reference_of(run, order), order, 0});
    }
    return all;
  }

  int report() {
    Account account;
    std::set<std::string> known;  // References that belong to an order.
    const auto charges = Ledger(file("ledger.db")).charges();
    const auto store = triage::SqliteStore::open(file("runs.db")).value();
    for (int i = 1; i <= settings_.runs; ++i) {
      std::map<std::string, Json> receipts;
      for (const Expected& one : expected_of(id_of(i), kind_of(i))) {
        if (!receipts.contains(one.run)) receipts[one.run] = receipts_of(*store, one.run);
        const Json& told = receipts[one.run];
        const auto found = charges.find(one.reference);
        const int times = found == charges.end() ? 0 : found->second.times;
        const bool in_doubt = told.contains(one.reference) && told[one.reference].is_null();
        const Json receipt = told.value(one.reference, Json());
        account.wrong_receipts +=
            !receipt.is_null() && (times == 0 || receipt != found->second.receipt) ? 1 : 0;
        if (!known.insert(one.reference).second)
          continue;  // The branch's, counted with its origin.
        ++account.orders;
        account.once += times == 1 ? 1 : 0;
        account.twice += times > 1 ? 1 : 0;
        account.in_doubt += in_doubt ? 1 : 0;
        account.lost += times == 0 && !in_doubt ? 1 : 0;
        if (times == 0) continue;
        account.wrong_amounts += found->second.cents != times * cents_of(one.order) ? 1 : 0;
        account.wrong_refunds += found->second.refunds != one.refunds ? 1 : 0;
      }
    }
    for (const auto& [reference, charged] : charges) {
      account.unknown += known.contains(reference) ? 0 : 1;
    }
    int unanswered = 0;
    std::ifstream doubts(file("doubts"));
    for (std::string line; std::getline(doubts, line);) ++unanswered;
    std::printf("runs=%d failed=%d agents_killed=%d services_killed=%d\n", settings_.runs,
                failures_, agent_deaths_, service_deaths_);
    std::printf("in the window: kills=%d unanswered=%d\n", window_, unanswered);
    std::printf("wrong_amounts=%d wrong_receipts=%d wrong_refunds=%d unknown_references=%d\n",
                account.wrong_amounts, account.wrong_receipts, account.wrong_refunds,
                account.unknown);
    std::printf("orders=%d once=%d twice=%d in_doubt=%d lost=%d\n", account.orders, account.once,
                account.twice, account.in_doubt, account.lost);
    const bool doubts_explained = settings_.reconcile
                                      ? account.in_doubt == 0 && account.once == account.orders
                                      : account.in_doubt <= window_ + unanswered;
    const bool books_agree = account.wrong_amounts == 0 && account.wrong_receipts == 0 &&
                             account.wrong_refunds == 0 && account.unknown == 0;
    return failures_ == 0 && account.twice == 0 && account.lost == 0 && doubts_explained &&
                   books_agree
               ? 0
               : 1;
  }

  const CampaignSettings& settings_;
  std::shared_ptr<triage::Random> random_;
  const std::string port_;
  std::unique_ptr<demo::Child> service_{};
  int failures_ = 0;  // Runs that did not end with a result.
  int agent_deaths_ = 0;
  int service_deaths_ = 0;
  int window_ = 0;
};

}  // namespace

int run_campaign(const CampaignSettings& settings) { return Campaign(settings).run(); }

}  // namespace payments
