// SPDX-License-Identifier: MIT
// The main job, as a campaign: the crawl agent on the faulty site, on many seeds, in four arms; and
// once with its process killed in the middle. Prints a table of what happened. Exits with 0 only if
// triage finished every seed that the oracle finished, with the same report, and the killed run was
// resumed. scripts/demo calls this.

#include "demo/child.hpp"
#include "demo/table.hpp"
#include "site/faulty_site.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace fs = std::filesystem;
using Json = nlohmann::json;
using demo::Arm;
using demo::Outcome;

namespace {

constexpr int max_attempts = 30;

struct Settings {
  std::string docs{};
  // Folder for everything that is written; what an earlier demo left is removed.
  std::string out{};
  std::string store{};  // Where the arm "triage" keeps its checkpoints; empty: a file in `out`.
  std::string runs{};   // How the names of its runs begin: others may have runs there.
  int seeds = 50;
  int max_pages = 30;
  unsigned jobs = 2;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The agent's command line for one job.
std::vector<std::string> agent_command(const Settings& settings, const std::string& arm,
                                       std::uint64_t seed, const std::string& run,
                                       const site::FaultySite& server) {
  const std::string folder = settings.out + "/" + run;
  const bool own = arm == "triage" && !settings.store.empty();
  return {(fs::read_symlink("/proc/self/exe").parent_path() / "crawl_agent").string(),
          "--start",
          server.url() + "/index.html",
          "--store",
          own ? settings.store
              : settings.out + "/" + (arm == "triage" ? "checkpoints.db" : arm + ".db"),
          "--run-id",
          (own ? settings.runs : "") + run,
          "--report",
          folder + "/report",
          "--pages",
          folder + "/pages",
          "--max-pages",
          std::to_string(settings.max_pages),
          "--max-attempts",
          std::to_string(max_attempts),
          "--arm",
          arm,
          "--seed",
          std::to_string(seed)};
}

// What the server's log and the agent's last line say about a job.
Outcome outcome_of(const site::FaultySite& server, const fs::path& folder, int status) {
  Outcome outcome;
  for (const auto& [path, times] : server.sent()) {
    outcome.pages_sent += times;
    if (times > 1) ++outcome.sent_again;
  }
  const Json summary = Json::parse(read_file(folder / "summary.json"), nullptr, false);
  if (!summary.is_object()) {
    outcome.error = "the agent ended with status " + std::to_string(status);
    return outcome;
  }
  outcome.finished = status == 0 && summary.value("finished", false);
  outcome.attempts = summary.value("attempts", 0);
  outcome.error = summary.value("error", std::string());
  outcome.failures = summary.value("failures", Json::object()).dump();
  if (outcome.finished) outcome.report = read_file(folder / "report.json");
  return outcome;
}

Outcome run_job(const Settings& settings, const site::Pages& pages, const std::string& arm,
                std::uint64_t seed) {
  const site::FaultySite server(pages, seed);
  const std::string run = arm + "-seed-" + std::to_string(seed);
  const fs::path folder = fs::path(settings.out) / run;
  fs::create_directories(folder);
  const auto begin = std::chrono::steady_clock::now();
  demo::Child agent(agent_command(settings, arm, seed, run, server),
                    (folder / "summary.json").string());
  const int status = agent.wait();
  Outcome outcome = outcome_of(server, folder, status);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

// Runs the campaign on a few threads; tells `progress` after every job, one call at a time.
void run_campaign(const Settings& settings, const site::Pages& pages, std::vector<Arm>& arms,
                  const std::function<void(std::size_t done, const Arm&)>& progress) {
  const auto seeds = static_cast<std::size_t>(settings.seeds);
  for (Arm& arm : arms) arm.outcomes.resize(seeds);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t job = next++; job < seeds * arms.size(); job = next++) {
      Arm& arm = arms[job % arms.size()];
      const std::size_t seed = job / arms.size() + 1;
      Outcome outcome;
      try {
        outcome = run_job(settings, pages, arm.name, seed);
      } catch (const std::exception& error) {
        outcome.error = error.what();
      }
      const std::scoped_lock lock(mutex);
      arm.outcomes[seed - 1] = std::move(outcome);
      progress(++done, arm);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < settings.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

struct Killed {
  int pages_before = 0;  // Whole bodies sent before the kill.
  int sent_again = 0;
  long resumed_at = -1;  // Number of steps that the resumed attempt began with.
  bool finished = false;
  std::string error{};
};

// Kills the agent's process with SIGKILL after it fetched half of its pages, and starts it again.
Killed kill_and_resume(const Settings& settings, const site::Pages& pages, std::uint64_t seed) {
  const site::FaultySite server(pages, seed);
  const std::string run = "triage-killed";
  const fs::path folder = fs::path(settings.out) / run;
  fs::create_directories(folder);
  const auto command = agent_command(settings, "triage", seed, run, server);
  const int half = std::min(settings.max_pages, static_cast<int>(pages.size())) / 2;
  Killed killed;
  {
    demo::Child agent(command, (folder / "summary.json").string());
    while (!agent.poll() && !server.wait_until_sent(half, std::chrono::milliseconds(50))) {}
    agent.kill();
    if (agent.wait() != 128 + 9) {
      killed.error = "the agent ended before it could be killed";
      return killed;
    }
  }
  killed.pages_before = server.total_sent();
  demo::Child agent(command, (folder / "summary.json").string());
  const Outcome outcome = outcome_of(server, folder, agent.wait());
  killed.sent_again = outcome.sent_again;
  killed.finished = outcome.finished;
  killed.error = outcome.error;
  const Json summary = Json::parse(read_file(folder / "summary.json"), nullptr, false);
  if (summary.is_object()) killed.resumed_at = summary.value("resumed_at_step", -1L);
  return killed;
}

// The seeds that triage lost although the oracle shows that they can be finished.
std::string compare(const std::vector<Arm>& arms) {
  const auto arm = [&](const std::string& name) -> const Arm& {
    for (const Arm& candidate : arms) {
      if (candidate.name == name) return candidate;
    }
    throw std::logic_error("no arm " + name);
  };
  const Arm& triage = arm("triage");
  const Arm& oracle = arm("oracle");
  std::string problems;
  for (std::size_t i = 0; i < oracle.outcomes.size(); ++i) {
    if (!oracle.outcomes[i].finished) continue;
    const std::string seed = "seed " + std::to_string(i + 1);
    if (!triage.outcomes[i].finished) {
      problems += seed + ": triage did not finish: " + triage.outcomes[i].error + "\n";
    } else if (triage.outcomes[i].report != oracle.outcomes[i].report) {
      problems += seed + ": the reports of triage and oracle differ\n";
    }
  }
  return problems;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--docs") {
      settings.docs = value;
    } else if (name == "--out") {
      settings.out = value;
    } else if (name == "--store") {
      settings.store = value;
      settings.runs = "demo-" + std::to_string(std::time(nullptr)) + "-";
    } else if (name == "--seeds") {
      settings.seeds = std::atoi(value.c_str());
    } else if (name == "--max-pages") {
      settings.max_pages = std::atoi(value.c_str());
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  if (argc % 2 == 0 || settings.docs.empty() || settings.out.empty() || settings.seeds < 1 ||
      settings.seeds > 10'000 || settings.max_pages < 4) {
    throw std::invalid_argument(
        "usage: demo_crawl --docs FOLDER --out FOLDER [--store URL] [--seeds 1..10000] "
        "[--max-pages 4..]");
  }
  return settings;
}

void print_killed(const Killed& killed, std::uint64_t seed) {
  std::printf("\nKill -9 (seed %llu): ", static_cast<unsigned long long>(seed));
  if (!killed.finished) {
    std::printf("FAILED: %s\n", killed.error.c_str());
    return;
  }
  std::printf(
      "the agent's process was killed after %d pages had been sent. Started again, it resumed\n"
      "at step %ld and finished: %d of the %d pages were not fetched again%s.\n",
      killed.pages_before, killed.resumed_at, killed.pages_before - killed.sent_again,
      killed.pages_before,
      killed.sent_again > 0 ? "; what arrived just before the kill was not yet recorded" : "");
}

// What the failures of an arm were classified as, all seeds together.
std::string failures_of(const Arm& arm) {
  std::map<std::string, int> totals;
  for (const Outcome& outcome : arm.outcomes) {
    const Json failures = Json::parse(outcome.failures, nullptr, false);
    if (!failures.is_object()) continue;
    for (const auto& [type, times] : failures.items()) totals[type] += times.get<int>();
  }
  std::string text;
  for (const auto& [type, times] : totals) {
    text += (text.empty() ? "" : ", ") + std::to_string(times) + " " + type;
  }
  return text.empty() ? "none" : text;
}

int demonstrate(const Settings& settings) {
  const site::Pages pages = site::render_folder(settings.docs);
  fs::remove_all(settings.out);
  fs::create_directories(settings.out);
  std::vector<Arm> arms{{.name = "bare", .meaning = "one attempt, no recovery"},
                        {.name = "retry", .meaning = "from the start after any error"},
                        {.name = "triage", .meaning = "finds out why, goes on where it stood"},
                        {.name = "oracle", .meaning = "knows every fault in advance"}};
  std::printf(
      "The crawl agent on a site of %zu pages, at most %d of them, %d seeds, %d attempts:\n",
      pages.size(), settings.max_pages, settings.seeds, max_attempts);
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const std::size_t all = static_cast<std::size_t>(settings.seeds) * arms.size();
  run_campaign(settings, pages, arms, [&](std::size_t done, const Arm&) {
    if (!terminal && done % 20 != 0 && done != all) return;
    std::string line =
        "  " + std::to_string(done) + " of " + std::to_string(all) + " jobs; finished:";
    for (const Arm& arm : arms) {
      int finished = 0;
      for (const Outcome& outcome : arm.outcomes) finished += outcome.finished ? 1 : 0;
      line += " " + arm.name + " " + std::to_string(finished);
    }
    std::printf(terminal ? "\r%s   " : "%s\n", line.c_str());
    std::fflush(stdout);
  });
  std::printf("%s\n%s", terminal ? "\n" : "", table_of(arms).c_str());
  for (const Arm& arm : arms) {
    if (arm.name == "triage") {
      std::printf("\nWhat the failures were that triage dealt with: %s.\n",
                  failures_of(arm).c_str());
    }
  }
  constexpr std::uint64_t killed_seed = 7;
  const Killed killed = kill_and_resume(settings, pages, killed_seed);
  print_killed(killed, killed_seed);
  const std::string problems = compare(arms);
  std::printf("%s", problems.empty()
                        ? "\nTriage finished every seed that the oracle finished, with the same "
                          "reports.\n"
                        : ("\nFAILED:\n" + problems).c_str());
  // One page may have arrived when the process died before it could record that.
  if (!settings.runs.empty()) {
    std::printf("\nThe names of its runs in the store begin with %s\n", settings.runs.c_str());
  }
  const bool resumed = killed.finished && killed.resumed_at > 0 && killed.sent_again <= 1;
  return problems.empty() && resumed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return demonstrate(parse(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "demo_crawl: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo_crawl: %s\n", error.what());
    return 1;
  }
}
