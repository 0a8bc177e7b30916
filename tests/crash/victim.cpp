// SPDX-License-Identifier: MIT
#include "victim.hpp"

#include "killing_store.hpp"
#include "side_log.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <cstdio>
#include <stdexcept>

namespace triage::test {
namespace {

constexpr int pages = 12;

void pay(Attempt& attempt, const SideLog& log, int page) {
  const std::string key = "pay:" + std::to_string(page);
  const auto paid = attempt.try_effect(key, [&] {
    log.line("effect " + key);
    return page * 100;
  });
  if (paid) {
    log.line("ack effect " + key);
  } else if (paid.error().code == Errc::in_doubt) {
    log.line("in doubt " + key);
  } else {
    throw std::runtime_error("effect " + key + ": " + paid.error().detail);
  }
}

int crawl(Attempt& attempt, const SideLog& log, bool immediate) {
  for (int page = attempt.state().value("page", 0) + 1; page <= pages; ++page) {
    const std::string name =
        "page " + std::to_string(page) + " attempt " + std::to_string(attempt.number());
    attempt.record_step({.action = name, .tool_output = std::string(200, 'p')});
    if (immediate) log.line("ack step " + name);
    if (page % 3 == 0) pay(attempt, log, page);
    // Updated last, so that a resumed attempt asks for its effect again.
    attempt.update_state({{"page", page}, {"last", name}});
    if (page % 4 == 0) {
      const auto label = attempt.checkpoint("label " + std::to_string(page));
      if (!label) throw std::runtime_error("label: " + label.error().detail);
      log.line("ack label " + to_string(label.value()));
    }
    if (page == 5 * attempt.number()) {  // In the first two attempts.
      attempt.record_step({.action = "broken " + name, .error = "boom"});
      return -1;
    }
  }
  return pages;
}

}  // namespace

int run_victim(const VictimOptions& options) {
  const auto begin = real_clock()->now();
  auto opened = SqliteStore::open(options.database);
  if (!opened) {
    std::fprintf(stderr, "open: %s\n", opened.error().detail.c_str());
    return 2;
  }
  // Counted from 1 over all records; 0 kills nothing.
  const auto chosen = [kill_at = options.kill_at, seen = std::uint64_t{0}](const Record&) mutable {
    return ++seen == kill_at;
  };
  const auto store =
      std::make_shared<KillingStore>(std::move(opened).value(), chosen, options.after_commit);
  const SideLog log(options.side_log);
  const WriteMode mode = options.mode == "immediate"  ? WriteMode::immediate
                         : options.mode == "deferred" ? WriteMode::deferred
                                                      : WriteMode::background;
  bool entered = false;
  FailurePolicy policy;
  policy.on(FailureType::timeout, Strategy("roll back", [](const FailureContext&) {
              return RecoveryAction::rollback({.or_start = true});
            }));
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> Result<int> {
        if (options.resume && !std::exchange(entered, true)) {
          const auto waited =
              std::chrono::duration_cast<std::chrono::microseconds>(real_clock()->now() - begin);
          log.line("resumed after us " + std::to_string(waited.count()));
        }
        const int done = crawl(attempt, log, mode == WriteMode::immediate);
        if (done < 0) return attempt.fail({.text = "too slow", .type = FailureType::timeout});
        return done;
      },
      policy,
      {.name = "victim", .store = store, .write_mode = mode, .on_store_error = OnStoreError::fail}};
  const auto result =
      options.resume ? agent.run_or_resume("r", "site") : agent.run("site", {.run_id = "r"});
  if (!result) {
    std::fprintf(stderr, "run: %s: %s\n", std::string(to_string(result.error().code)).c_str(),
                 result.error().detail.c_str());
    return 1;
  }
  log.line("ack finished " + std::to_string(result.value()));
  return result.value() == pages ? 0 : 3;
}

}  // namespace triage::test
