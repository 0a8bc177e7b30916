// SPDX-License-Identifier: MIT
// A team that reads a web site with seeded faults: a coordinator, six workers, and a reviewer who
// asks a person. The program starts itself as a child, kills it while four workers have finished
// and two are at work, resumes the run in a new process, answers as the person would, and then
// forks the finished run with one worker's output edited. It prints which tasks ran, were skipped
// or ran again, and why. Exits with 0 if each step did exactly what it should.
// Usage: research_team [--docs FOLDER] [--out FOLDER] [--seed N]

#include "crawl/http_client.hpp"
#include "demo/child.hpp"
#include "site/faulty_site.hpp"

#include <triage/stores/sqlite.hpp>
#include <triage/triage.hpp>
#include <triage/workflow/inspect.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
namespace wf = triage::workflow;
using triage::Json;
using triage::Result;

namespace {

constexpr const char* run_id = "research";
constexpr int workers = 6;
constexpr int dawdlers = 2;  // Workers that the kill finds at work.

struct Settings {
  std::string docs = "docs";
  std::string out = "build/research_team";
  std::string site{};    // Child: the site's URL.
  std::string answer{};  // Child: what the person says.
  std::uint64_t seed = 7;
  bool dawdle = false;  // Child: the last workers take their time.
};

std::string worker(int number) { return "worker-" + std::to_string(number); }

// The page, through whatever the site calls its tool today.
Result<std::string> fetch(const std::string& site, const std::string& page, wf::Context& context) {
  crawl::HttpClient http;
  const auto failed = [&](const crawl::Response& response) {
    const auto status = response.status == 0 ? std::nullopt : std::optional(response.status);
    return context.fail({.text = response.error.empty() ? response.body : response.error,
                         .http_status = status,
                         .code = response.code});
  };
  const crawl::Response manifest = http.get(site + "/tools");
  if (!manifest.ok()) return failed(manifest);
  const Json tools = Json::parse(manifest.body);  // What it throws is classified like the rest.
  std::string tool;
  for (const Json& one : tools.at("tools")) {
    if (one.at("name").get<std::string>().rfind("fetch", 0) == 0) tool = one.at("name");
  }
  const crawl::Response answer =
      http.post_json(site + "/tools/" + tool, Json{{"url", page}}.dump());
  if (!answer.ok()) return failed(answer);
  context.record_step({.action = "fetch " + page, .tool_called = tool, .idempotent = true});
  return triage::outcome::success(answer.body);
}

Result<wf::Workflow> team(const Settings& settings) {
  triage::FailurePolicy patient;
  patient.otherwise(triage::retry({.max_attempts = 30, .delay = std::chrono::milliseconds(20)}));
  const auto coordinate = [settings](const std::string& index,
                                     wf::Context& context) -> Result<void> {
    auto html = fetch(settings.site, index, context);
    if (!html) return std::move(html).error();
    const std::vector<std::string> pages = site::links_of(html.value());
    for (int i = 1; i <= workers; ++i) {
      context.send_to(worker(i), pages.at(static_cast<std::size_t>(i) % pages.size()));
    }
    return triage::outcome::success();
  };
  const auto work = [settings](const std::string& page, wf::Context& context) -> Result<Json> {
    const bool last = context.executor() > worker(workers - dawdlers);
    if (settings.dawdle && last) std::this_thread::sleep_for(std::chrono::minutes(2));
    auto html = fetch(settings.site, page, context);
    if (!html) return std::move(html).error();
    return Json{{"page", page}, {"words", site::words_of(html.value())}};
  };
  const auto review = [](const std::vector<Json>& findings, wf::Context& context) {
    int words = 0;
    for (const Json& one : findings) words += one.at("words").get<int>();
    const auto title = context.request<std::string>("title", Json{{"words", words}});
    return title + ": " + std::to_string(words) + " words on " + std::to_string(findings.size()) +
           " pages";
  };
  wf::WorkflowBuilder builder("research-team", {.defaults = {.policy = patient}});
  builder.port<std::string>("title")
      .executor("coordinator", wf::stateless(coordinate))
      .start("coordinator");
  std::vector<std::string> names;
  for (int i = 1; i <= workers; ++i) {
    names.push_back(worker(i));
    builder.executor(names.back(), wf::stateless(work));
  }
  return builder.executor("reviewer", review)
      .fan_out("coordinator", names)
      .fan_in(names, "reviewer")
      .build();
}

// What ran in this process, what did not, and why.
void tell(const wf::WorkflowRun& run, const std::map<std::string, std::string>& why) {
  const auto deliveries = run.deliveries();
  if (!deliveries) return;
  for (const wf::DeliveryView& one : deliveries.value()) {
    const auto reason = why.find(one.executor);
    const char* how = one.how == wf::Ran::done     ? "ran"
                      : one.how == wf::Ran::reused ? "skipped"
                      : one.how == wf::Ran::waits  ? "waits"
                                                   : "failed";
    const std::string because = reason != why.end()          ? reason->second
                                : one.how == wf::Ran::reused ? "had finished before"
                                : one.how == wf::Ran::waits  ? "asks a person"
                                                             : "had not finished";
    std::cout << "  " << how << "  " << one.executor << "  (" << because << ")\n";
  }
}

// In the child: starts the run, or goes on with it.
int work(const Settings& settings) {
  const auto store = triage::SqliteStore::open(settings.out + "/team.db");
  const auto workflow = team(settings);
  if (!store || !workflow) return 1;
  wf::WorkflowRun run(workflow.value(),
                      {.run_id = run_id, .store = store.value(), .threads = workers + 1});
  if (!settings.answer.empty()) {
    const auto sent = run.answer("reviewer/1/title/1", settings.answer);
    if (!sent) std::cerr << sent.error().detail << '\n';
  }
  const auto done = run.start_or_resume("/index.html");
  tell(run, {});
  if (done) std::cout << "  result: " << done.value().value().get<std::string>() << '\n';
  if (!done) std::cout << "  " << done.error().message() << '\n';
  return done ? 0 : done.error().code == triage::Errc::suspended ? 7 : 1;
}

// How many workers the store knows to have finished.
int finished(triage::CheckpointStore& store) {
  const auto view = wf::inspect(store, run_id);
  if (!view) return 0;
  int count = 0;
  for (const auto& one : view.value().deliveries) {
    count += one.executor.rfind("worker-", 0) == 0 ? 1 : 0;
  }
  return count;
}

std::vector<std::string> child(const Settings& settings, const std::string& url,
                               const std::vector<std::string>& more) {
  std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string(), "--site", url,
                                   "--out", settings.out};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

int run_child(const std::vector<std::string>& command, const std::string& log) {
  const int status = demo::Child(command, log).wait();
  std::ifstream said(log);
  std::cout << said.rdbuf();
  return status;
}

// How many of the lines that a child printed begin with this.
int count_lines(const std::string& log, std::string_view beginning) {
  std::ifstream said(log);
  int count = 0;
  for (std::string line; std::getline(said, line);) {
    count += line.rfind(beginning, 0) == 0 ? 1 : 0;
  }
  return count;
}

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("this should not be: " + what);
}

void fork_it(const Settings& settings, const std::string& url,
             const std::shared_ptr<triage::CheckpointStore>& store) {
  Settings here = settings;
  here.site = url;
  const auto workflow = team(here);
  expect(workflow.has_value(), "the workflow is refused");
  wf::WorkflowRun origin(workflow.value(), {.run_id = run_id, .store = store});
  const auto checkpoints = origin.checkpoints();
  expect(checkpoints && !checkpoints.value().empty(), "there is no checkpoint");
  wf::WorkflowRun branch(workflow.value(), {.run_id = "research-what-if", .store = store});
  auto done = branch.fork(to_string(checkpoints.value().back().id),
                          {.label = "what if",
                           .outputs = {{worker(2), Json{{"page", "edited"}, {"words", 1'000'000}}}},
                           .author = "a person"});
  expect(!done && done.error().code == triage::Errc::suspended, "the branch does not ask");
  std::cout << "  asks for a title again: that of the origin was for fewer words\n";
  expect(branch.answer("reviewer/1/title/1", "A long tour").has_value(), "no answer is taken");
  done = branch.resume();
  tell(branch, {{worker(2), "its output was edited"}, {"reviewer", "what it reads has changed"}});
  const auto views = branch.deliveries();
  expect(views.has_value(), "nothing of the branch ran");
  for (const wf::DeliveryView& one : views.value()) {
    expect((one.how == wf::Ran::reused) == (one.executor != "reviewer"),
           one.executor + " ran, or did not, against expectation");
  }
  expect(done.has_value(), "the branch does not finish");
  std::cout << "  result: " << done.value().value().get<std::string>() << '\n';
}

int demonstrate(const Settings& settings) {
  fs::remove_all(settings.out);
  fs::create_directories(settings.out);
  site::FaultySite server(site::render_folder(settings.docs), settings.seed);
  const auto store = triage::SqliteStore::open(settings.out + "/team.db");
  expect(store.has_value(), "the store cannot be opened");
  const auto log = [&](const char* name) { return settings.out + "/" + name + ".log"; };

  std::cout << "1. A process begins, and is killed in the middle of a superstep.\n";
  {
    demo::Child first(child(settings, server.url(), {"--dawdle"}), log("first"));
    for (int i = 0; i < 3000 && finished(*store.value()) < workers - dawdlers; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    first.kill();
  }
  const int before = finished(*store.value());
  std::cout << "  killed with " << before << " of " << workers << " workers finished\n";
  expect(before == workers - dawdlers, "the kill did not find the workers as it should");

  std::cout << "2. A new process goes on.\n";
  expect(run_child(child(settings, server.url(), {}), log("second")) == 7, "it does not ask");
  expect(count_lines(log("second"), "  ran  worker-") == dawdlers, "other workers ran than should");
  expect(count_lines(log("second"), "  skipped  ") == 1 + before, "something finished ran again");
  std::cout << "3. A person answers, and a third process ends it.\n";
  expect(run_child(child(settings, server.url(), {"--answer", "A tour"}), log("third")) == 0,
         "it does not finish");
  expect(count_lines(log("third"), "  ran  ") == 1, "more ran than the reviewer");
  std::cout << "4. A branch of it, with one worker's output edited.\n";
  fork_it(settings, server.url(), store.value());
  std::cout << "\nThe runs: triage checkpoint tree " << settings.out << "/team.db " << run_id
            << '\n';
  return 0;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--dawdle") {
      settings.dawdle = true;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error(name + " needs a value, or is unknown");
    const std::string value = argv[++i];
    if (name == "--docs")
      settings.docs = value;
    else if (name == "--out")
      settings.out = value;
    else if (name == "--site")
      settings.site = value;
    else if (name == "--answer")
      settings.answer = value;
    else if (name == "--seed")
      settings.seed = std::strtoull(value.c_str(), nullptr, 10);
    else
      throw std::runtime_error("unknown argument " + name);
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    return settings.site.empty() ? demonstrate(settings) : work(settings);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "research_team: %s\n", e.what());
    return 1;
  }
}
