// SPDX-License-Identifier: MIT
// Effects on an outside resource shared by several executors and branches.
#include "kit.hpp"
#include "support/wait_until.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// An outside account: its bookings, and how many used it at once.
struct Account {
  std::atomic<int> booked{0};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};

  int book(int amount) {
    if (const int now = ++inside; now > most) most = now;
    for (int i = 0; i < 30; ++i) std::this_thread::yield();
    --inside;
    return booked += amount;
  }
};

// How often somebody slept on it.
class CountingClock final : public Clock {
 public:
  TimePoint now() override { return real_clock()->now(); }
  WallTime wall_now() override { return real_clock()->wall_now(); }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    ++sleeps;
    return real_clock()->sleep_until(when, std::move(stop));
  }
  std::atomic<int> sleeps{0};
};

const auto pass = [](const int& n) { return n; };

// Two executors that book at the same time; `key` may differ by executor.
template <class Key>
Workflow two_bookers(Account& account, Key key, bool with_arguments = false) {
  const auto book = stateless([&account, key, with_arguments](const int& n, Context& context) {
    const int amount = context.executor() == "left" ? n : 10 * n;
    const auto act = [&] { return account.book(amount); };
    return with_arguments
               ? context.effect_on("account:42", key(context.executor()), Json(amount), act)
               : context.effect_on("account:42", key(context.executor()), act);
  });
  return built(WorkflowBuilder("w")
                   .executor("start", pass)
                   .executor("left", book)
                   .executor("right", book)
                   .start("start")
                   .fan_out("start", {"left", "right"}));
}

std::string entry(const WorkflowRun& run) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  return to_string(all.value().front().id);
}

}  // namespace

TEST_CASE(
    "of two executors that act on one resource with one key, the second gets the first one's "
    "result",
    "[workflow][resources]") {
  Account account;
  WorkflowRun run(two_bookers(account, [](const std::string&) { return "pay"; }),
                  {.run_id = "w", .store = memory()});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  REQUIRE(done.value().outputs.size() == 2);
  CHECK(done.value().outputs[0].value == done.value().outputs[1].value);
  CHECK(done.value().outputs[0].value == account.booked.load());
}

TEST_CASE("with other arguments the second act on a resource is a conflict, and does not happen",
          "[workflow][resources]") {
  Account account;
  WorkflowRun run(two_bookers(
                      account, [](const std::string&) { return "pay"; }, true),
                  {.run_id = "w", .store = memory(), .threads = 1});
  const auto failed = run.run(1);
  CHECK_ERRC(Errc::conflict, failed);
  CHECK_THAT(failed.error().detail,
             ContainsSubstring("account:42") && ContainsSubstring("other arguments"));
  CHECK(account.booked == 1);
}

TEST_CASE("acts on one resource happen one after another, whoever does them",
          "[workflow][resources]") {
  Account account;
  for (int round = 0; round < 20; ++round) {
    WorkflowRun run(two_bookers(account, [](const std::string& who) { return who; }),
                    {.run_id = "w", .store = memory()});
    REQUIRE_OK(run.run(1));
  }
  CHECK(account.booked == 20 * 11);
  CHECK(account.most == 1);
}

TEST_CASE("who waits for a resource lends its thread to others", "[workflow][resources]") {
  std::atomic<bool> third_ran{false};
  std::atomic<bool> first_has_it{false};
  // The first one acts until the third has run, which is queued behind the second.
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("first", stateless([&](const int&, Context& context) {
                            return context.effect_on("account:42", "hold", [&] {
                              first_has_it = true;
                              return wait_until(third_ran);
                            });
                          }))
                .executor("second", stateless([&](const int& n, Context& context) {
                            wait_until(first_has_it);
                            return context.effect_on("account:42", "wait", [n] { return n; });
                          }))
                .executor("third", stateless([&](const int&) {
                            third_ran = true;
                            return 3;
                          }))
                .start("first")
                .start("second")
                .start("third"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .threads = 2});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().outputs.front().value == true);
}

TEST_CASE("a branch gets the result of what its origin, or a sibling, did to a resource",
          "[workflow][resources]") {
  Account account;
  const auto book = stateless([&account](const Json&, Context& context) {
    const int amount = context.input<int>("amount").value();
    return context.effect_on("account:42", "pay", Json(amount),
                             [&] { return account.book(amount); });
  });
  const auto graph = built(WorkflowBuilder("w").executor("pay", book).start("pay"));
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run({{"amount", 5}, {"note", "a"}}));
  // The branches start before the payment.
  const std::string before = entry(origin);
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  const auto same = branch.fork(before, {.label = "again", .inputs = {{"note", "b"}}});
  REQUIRE_OK(same);
  CHECK(same.value().value() == 5);
  WorkflowRun below(graph, {.run_id = "below", .store = store});
  REQUIRE_OK(below.fork(entry(branch), {.label = "below"}));
  WorkflowRun other(graph, {.run_id = "other", .store = store});
  CHECK_ERRC(Errc::conflict, other.fork(before, {.label = "other", .inputs = {{"amount", 6}}}));
  CHECK(account.booked == 5);
  // Another run is independent.
  WorkflowRun stranger(graph, {.run_id = "stranger", .store = store});
  REQUIRE_OK(stranger.run({{"amount", 1}}));
  CHECK(account.booked == 6);
}

TEST_CASE("branches that act at the same time act once", "[workflow][resources]") {
  Account account;
  std::atomic<bool> origin_waits{true};
  const auto graph = built(WorkflowBuilder("w")
                               .port<int>("go")
                               .executor("pay", stateless([&](const Json&, Context& context) {
                                           if (origin_waits)
                                             static_cast<void>(context.request<int>("go", {}));
                                           return context.effect_on("account:42", "pay", [&] {
                                             return account.book(5);
                                           });
                                         }))
                               .start("pay"));
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  CHECK_ERRC(Errc::suspended, origin.run(1));
  const std::string before = entry(origin);
  origin_waits = false;
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> branches;
    for (int i = 0; i < 4; ++i) {
      branches.emplace_back([&, i] {
        const std::string id = "branch" + std::to_string(i);
        const auto done =
            WorkflowRun(graph, {.run_id = id, .store = store}).fork(before, {.label = id});
        right += done && done.value().value() == 5 ? 1 : 0;
      });
    }
  }
  CHECK(right == 4);
  CHECK(account.booked == 5);
}

TEST_CASE("branches that do different things to one resource wait for each other",
          "[workflow][resources]") {
  std::atomic<bool> origin_waits{true};
  std::atomic<bool> first_came{false};
  std::atomic<bool> first_acts{false};
  std::atomic<bool> second_acted{false};
  std::atomic<bool> met{false};
  const auto clock = std::make_shared<CountingClock>();  // The second one's.
  const auto pay = stateless([&](const Json&, Context& context) {
    if (origin_waits) static_cast<void>(context.request<int>("go", {}));
    const bool is_first = !first_came.exchange(true);
    return context.effect_on("account:42", is_first ? "debit" : "credit", [&, is_first] {
      if (!is_first) {
        met = first_acts.load();
        second_acted = true;
        return 2;
      }
      first_acts = true;
      wait_until([&] { return clock->sleeps > 0 || second_acted; });
      first_acts = false;
      return 1;
    });
  });
  const auto builder =
      std::move(WorkflowBuilder("w").port<int>("go").executor("pay", pay).start("pay"));
  const auto graph = built(builder);
  const auto twin = built(builder);  // As in another process: nobody tells it when it may act.
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  CHECK_ERRC(Errc::suspended, origin.run(1));
  const std::string before = entry(origin);
  origin_waits = false;
  const std::jthread first([&] {
    WorkflowRun run(graph, {.run_id = "first", .store = store});
    static_cast<void>(run.fork(before, {.label = "first"}));
  });
  wait_until(first_acts);
  WorkflowRun second(twin, {.run_id = "second", .store = store, .clock = clock});
  const auto done = second.fork(before, {.label = "second"});
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
  CHECK(clock->sleeps > 0);
  CHECK_FALSE(met);
}

TEST_CASE("an act on a resource that is in doubt is settled, or asked about, and not repeated",
          "[workflow][resources]") {
  const bool told = GENERATE(true, false);
  Account account;
  std::atomic<bool> breaks{true};
  const auto book = stateless([&](const int& n, Context& context) {
    EffectOptions options;
    if (told) options.reconcile = [&] { return Reconciled::done(account.booked.load()); };
    return context.effect_on(
        "account:42", "pay",
        [&] {
          const int booked = account.book(n);
          if (breaks) throw std::runtime_error("the line broke");
          return booked;
        },
        options);
  });
  const auto graph = built(WorkflowBuilder("w").executor("pay", book).start("pay"));
  const auto store = memory();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, {.run_id = "w", .store = store}).run(7));
  breaks = false;
  const auto done = WorkflowRun(graph, {.run_id = "w", .store = store}).resume();
  if (told) {
    REQUIRE_OK(done);
    CHECK(done.value().value() == 7);
  } else {
    CHECK_ERRC(Errc::in_doubt, done);
  }
  CHECK(account.booked == 7);
}

TEST_CASE("an act on a resource needs a store, a name and no compensation",
          "[workflow][resources]") {
  const auto with = [](const std::string& resource, const EffectOptions& options) {
    return built(WorkflowBuilder("w")
                     .executor("a", stateless([=](const int& n, Context& context) {
                                 context.effect_on(
                                     resource, "pay", [] {}, options);
                                 return n;
                               }))
                     .start("a"));
  };
  CHECK_ERRC(Errc::unsupported, WorkflowRun(with("r", {})).run(1));
  CHECK_ERRC(Errc::invalid_argument, WorkflowRun(with("", {}), {.store = memory()}).run(1));
  CHECK_ERRC(Errc::invalid_argument,
             WorkflowRun(with("r", {.compensate = [] {}}), {.store = memory()}).run(1));
}

TEST_CASE("executors of one run that act on one resource wait in line, and not by looking again",
          "[workflow][resources]") {
  constexpr int many = 12;
  const auto clock = std::make_shared<CountingClock>();
  Account account;
  WorkflowBuilder builder("w");
  for (int i = 0; i < many; ++i) {
    const std::string id = "e" + std::to_string(i);
    builder
        .executor(id, stateless([&](const int& n, Context& context) {
                    return context.effect_on("account:42", context.executor(),
                                             [&] { return account.book(n); });
                  }))
        .start(id);
  }
  WorkflowRun run(built(builder), {.run_id = "w", .store = memory(), .threads = 4, .clock = clock});
  REQUIRE_OK(run.run(1));
  CHECK(account.booked == many);
  CHECK(account.most == 1);
  CHECK(clock->sleeps == 0);
}

TEST_CASE("branches in one process that act on one resource wait in line, too",
          "[workflow][resources]") {
  constexpr int many = 6;
  const auto clock = std::make_shared<CountingClock>();
  Account account;
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("pay", stateless([&](const int& n, Context& context) {
                            return context.effect_on("account:42", context.run_id(),
                                                     [&] { return account.book(n); });
                          }))
                .start("pay"));
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store, .clock = clock});
  REQUIRE_OK(origin.run(1));
  const std::string before = entry(origin);
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> people;
    for (int i = 0; i < many; ++i) {
      people.emplace_back([&, label = "b" + std::to_string(i)] {
        WorkflowRun run(graph, {.run_id = label, .store = store, .clock = clock});
        if (run.fork(before, {.label = label})) ++right;
      });
    }
  }
  CHECK(right == many);
  CHECK(account.booked == many + 1);
  CHECK(account.most == 1);
  CHECK(clock->sleeps == 0);
}

TEST_CASE("who waits for a resource until its deadline has run out of time",
          "[workflow][resources]") {
  std::atomic<bool> first_has_it{false};
  std::atomic<bool> second_gave_up{false};
  const auto told = [&](const Error& error) {
    second_gave_up = true;
    return make_message(error.detail);
  };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("first", stateless([&](const int&, Context& context) {
                            return context.effect_on("account:42", "hold", [&] {
                              first_has_it = true;
                              return wait_until(second_gave_up);
                            });
                          }))
                .executor("second", stateless([&](const int& n, Context& context) {
                            wait_until(first_has_it);
                            return context.effect_on("account:42", "wait", [n] { return n; });
                          }),
                          {.timeout = std::chrono::milliseconds(20), .instead = told})
                .executor("end", [](const Json& n) { return n; })
                .start("first")
                .start("second")
                .fan_in({"first", "second"}, "end"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .threads = 2});
  const auto failed = run.run(1);
  CHECK_FALSE(failed.has_value());
  CHECK_THAT(failed.error().detail, ContainsSubstring("waited for a resource until its deadline"));
  CHECK(second_gave_up);
}
