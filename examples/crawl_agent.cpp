// SPDX-License-Identifier: MIT
// A real agent over real HTTP: it reads every page that a site links to, counts their words and
// finds the most linked ones; and it finishes although the site fails in several ways.
//
// Its work goes through tools that the site offers (GET /tools). What it knows (which pages are
// still to do, what it counted so far) is its state, so that it never begins anew: after a failure,
// and after a crash of this process, it goes on where it stood.

#include "crawl/crawl.hpp"
#include "crawl/http_client.hpp"
#include "crawl/oracle.hpp"
#include "crawl/tools.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/triage.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

using namespace crawl;
using triage::Json;
using triage::Result;

namespace {

// The page's text: from the site the first time, from the saved file ever after.
Result<std::string> get_page(const CrawlTask& task, const std::string& url, Tools& tools,
                             triage::Attempt& attempt) {
  const std::string saved = "saved:" + url;
  const triage::State state = attempt.state();
  if (const Json* file = state.find(saved)) {
    return triage::outcome::success(read_file(file->get<std::string>()));
  }
  TRIAGE_TRY(html, tools.fetch(url));
  // An effect: done at most once in the life of the run, whatever happens.
  auto file = attempt.try_effect("save:" + url, [&] { return save_page(task.pages, url, html); });
  if (!file && file.error().code == triage::Errc::in_doubt) {
    // The process died in the middle of it. A file can be looked at, so the doubt can be removed.
    file = save_page(task.pages, url, html);
  }
  if (!file) return std::move(file).error();
  attempt.record_step(
      {.action = "save " + url, .tool_called = "save", .tool_input = {{"url", url}}});
  attempt.update_state({{saved, file.value()}});
  return triage::outcome::success(std::move(html));
}

// The frontier: every page that was found so far, in order. The first `done` of them are read. A
// key a page, so that finding one more does not write all the others again.
std::vector<std::string> pages_found(const CrawlTask& task, const triage::State& state) {
  std::vector<std::string> found{task.start};
  while (const Json* next = state.find("found:" + std::to_string(found.size()))) {
    found.push_back(next->get<std::string>());
  }
  return found;
}

Result<Report> crawl_site(const CrawlTask& task, HttpClient& http, Oracle* oracle,
                          triage::Attempt& attempt) {
  Tools tools(http, task.site, attempt, oracle);
  // After a call of a tool that is not there any more, the manifest that we know is stale.
  const triage::Recovery* recovery = attempt.recovery();
  const bool stale =
      recovery != nullptr && recovery->failure_type == triage::FailureType::wrong_tool_called;
  if (stale || !tools.restore_manifest()) {
    TRIAGE_TRYV(tools.read_manifest());
  }
  const triage::State before = attempt.state();
  std::vector<std::string> found = pages_found(task, before);
  for (auto done = before.value("done", std::size_t{0}); done < found.size(); ++done) {
    const std::string url = found[done];
    TRIAGE_TRY(html, get_page(task, url, tools, attempt));
    TRIAGE_TRY(words, tools.count_words(url, html));
    TRIAGE_TRY(links, tools.extract_links(url, html));
    // Only what changed, and all of it at once: it becomes part of one checkpoint.
    Json changed{{"done", done + 1}, {"page:" + url, {{"words", words}, {"links", links}}}};
    for (const std::string& link : links) {
      const bool is_new = std::find(found.begin(), found.end(), link) == found.end();
      if (!is_new || found.size() >= static_cast<std::size_t>(task.max_pages)) continue;
      changed["found:" + std::to_string(found.size())] = link;
      found.push_back(link);
    }
    attempt.update_state(std::move(changed));
  }
  return triage::outcome::success(make_report(task.goal, attempt.state().json()));
}

triage::FailurePolicy make_policy(const Options& options) {
  using namespace std::chrono_literals;
  triage::FailurePolicy policy;
  if (options.arm == "bare") return policy.otherwise(triage::escalate());
  if (options.arm == "retry") {
    return policy.otherwise(triage::retry({.max_attempts = options.max_attempts, .delay = 20ms}));
  }
  // Waits for the site, then goes on where the crawl stood instead of at its start.
  const triage::BackoffOptions backoff{
      .max_attempts = options.max_attempts, .base_delay = 20ms, .max_delay = 200ms};
  const auto wait = triage::rollback({.latest = true, .or_start = true, .backoff = backoff});
  const auto ask_again = triage::rollback({.latest = true, .or_start = true});
  return policy
      .on(triage::FailureType::external_fault, wait)  // Busy, rate limit, lost connection.
      .on(triage::FailureType::timeout, wait)
      .on(triage::FailureType::schema_mismatch, ask_again)  // An answer that was cut off.
      .on(triage::FailureType::wrong_tool_called,           // The site renamed a tool.
          triage::rollback({.latest = true, .or_start = true, .hint = "Read the manifest again."}))
      .otherwise(triage::escalate());
}

int run(const Options& options) {
  HttpClient http;
  Oracle oracle;
  Oracle* const known_faults = options.arm == "oracle" ? &oracle : nullptr;
  std::shared_ptr<triage::CheckpointStore> store;
  if (!options.store.empty()) store = triage::open_store(options.store).value();

  Json summary{{"arm", options.arm}, {"attempts", 0}, {"failures", Json::object()}};
  const auto observer = triage::observe([&](const triage::Event& event) {
    if (event.kind == triage::EventKind::attempt_started) summary["attempts"] = event.attempt;
    if (event.kind != triage::EventKind::failure_classified) return;
    const std::string type(to_string(event.failure->type()));
    summary["failures"][type] = summary["failures"].value(type, 0) + 1;
  });
  triage::TriageAgent agent{
      [&](const CrawlTask& task, triage::Attempt& attempt) -> Result<Report> {
        const triage::Recovery* recovery = attempt.recovery();
        if (recovery != nullptr && recovery->failure_type == triage::FailureType::crashed) {
          summary["resumed_at_step"] = attempt.trajectory().size();
        }
        return crawl_site(task, http, known_faults, attempt);
      },
      make_policy(options),
      {.name = "crawl_agent",
       .store = store,
       .limits = {.max_attempts = options.max_attempts,
                  .max_attempts_per_type = options.max_attempts},
       // A step costs a request over the network, so writing it at once costs nothing in
       // comparison, and kill -9 loses nothing that was recorded.
       .write_mode = triage::WriteMode::immediate,
       .observer = observer,
       .random = triage::seeded_random(options.seed)}};

  const Result<Report> report = options.run_id.empty()
                                    ? agent.run(options.task)
                                    : agent.run_or_resume(options.run_id, options.task);
  summary["finished"] = report.has_value();
  if (report) {
    summary["pages"] = report.value().pages.size();
    summary["words"] = report.value().words;
    if (!options.report.empty()) write_report(report.value(), options.report);
  } else {
    summary["error"] = report.error().message();
  }
  std::printf("%s\n", triage::show(summary).c_str());
  return report ? 0 : report.error().code == triage::Errc::aborted ? 6 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2 || std::string(argv[1]) == "--help") {
      std::fputs(usage, argc < 2 ? stderr : stdout);
      return argc < 2 ? 2 : 0;
    }
    return run(parse_options(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "crawl_agent: %s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crawl_agent: %s\n", error.what());
    return 1;
  }
}
