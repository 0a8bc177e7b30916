// SPDX-License-Identifier: MIT
// Kills a run with SIGKILL at records drawn uniformly from an undisturbed run, resumes it in
// another process, and checks that nothing acknowledged is lost, nothing is duplicated and the
// journal is intact. Usage: crash_campaign [--kills N] [--seed S]
#include "support/temp_folder.hpp"
#include "triage/journal.hpp"
#include "triage/stores/sqlite.hpp"
#include "victim.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

using namespace triage;
using triage::test::VictimOptions;

struct Options {
  int kills = 30;
  std::uint64_t seed = 1;
};

pid_t spawn(const VictimOptions& victim) {
  std::vector<std::string> words{"crash_campaign",
                                 "victim",
                                 victim.database,
                                 victim.side_log,
                                 victim.mode,
                                 std::to_string(victim.kill_at),
                                 victim.after_commit ? "after" : "before",
                                 victim.resume ? "resume" : "run"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) != 0) {
    std::perror("posix_spawn");
    std::exit(2);
  }
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options), random_(options.seed) {}

  int run() {
    std::printf("seed %llu, %d kills\n", static_cast<unsigned long long>(options_.seed),
                options_.kills);
    measure();
    for (int i = 0; i < options_.kills; ++i) kill_once(i);
    report();
    return problems_ == 0 ? 0 : 1;
  }

 private:
  static constexpr const char* modes[] = {"background", "immediate", "deferred"};

  VictimOptions victim(const std::string& name, const std::string& mode) const {
    return {.database = (folder_.path() / (name + ".db")).string(),
            .side_log = (folder_.path() / (name + ".log")).string(),
            .mode = mode};
  }
  void problem(const std::string& what) {
    ++problems_;
    std::printf("FAILED: %s\n", what.c_str());
  }

  // Runs undisturbed: the number and kinds of records, and the duration.
  void measure() {
    const VictimOptions undisturbed = victim("undisturbed", "background");
    const auto begin = std::chrono::steady_clock::now();
    if (wait_for(spawn(undisturbed)) != 0) {
      std::printf("the undisturbed run fails\n");
      std::exit(2);
    }
    duration_ = std::chrono::steady_clock::now() - begin;
    auto store = SqliteStore::open(undisturbed.database).value();
    const JournalReading reading = store->read("r", {}).value();
    for (const Record& record : reading.records) {
      kinds_.push_back(std::string(to_string(record.kind())));
    }
  }

  void kill_once(int number) {
    VictimOptions options = victim(std::to_string(number), modes[random_() % 3]);
    const bool asynchronous = number % 5 == 4;
    std::string what;
    if (asynchronous) {
      what = "at any time";
      const pid_t pid = spawn(options);
      std::this_thread::sleep_for(duration_ * static_cast<double>(random_() % 1000) / 1000.0);
      ::kill(pid, SIGKILL);
      wait_for(pid);
    } else {
      options.kill_at = 1 + random_() % kinds_.size();
      options.after_commit = random_() % 2 == 0;
      what = kinds_[options.kill_at - 1];
      const int status = wait_for(spawn(options));
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        problem("kill " + std::to_string(number) + " did not happen");
      }
    }
    ++killed_at_[what];
    const std::string name = "kill " + std::to_string(number) + " (" + options.mode + ", " + what +
                             (options.after_commit ? ", after" : ", before") + " record " +
                             std::to_string(options.kill_at) + ")";
    const std::size_t lines_before = lines_of(options.side_log).size();
    options.kill_at = 0;
    options.resume = true;
    if (const int status = wait_for(spawn(options)); status != 0) {
      problem(name + ": resuming ended with status " + std::to_string(status));
      return;
    }
    check(name, options, lines_before);
  }

  void check(const std::string& name, const VictimOptions& options, std::size_t lines_before) {
    const auto lines = lines_of(options.side_log);
    auto store = SqliteStore::open(options.database).value();
    const JournalReading reading = store->read("r", {}).value();
    if (!reading.damaged.empty()) problem(name + ": damaged records");
    const Journal journal = Journal::fold(reading).value();
    if (journal.broken_at()) problem(name + ": the journal has a hole");
    if (reading.info.status != RunStatus::finished) problem(name + ": not finished");

    std::vector<std::string> steps;
    for (const Record& record : reading.records) {
      if (record.kind() == RecordKind::step) steps.push_back(record.step().value().action);
    }
    std::map<std::string, int> effects;
    std::map<std::string, bool> explained;  // Acknowledged, or reported to be in doubt.
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      const auto rest = [&](std::string_view prefix) { return line.substr(prefix.size()); };
      if (line.starts_with("effect ")) {
        ++effects[rest("effect ")];
      } else if (line.starts_with("ack effect ")) {
        explained[rest("ack effect ")] = true;
        const auto stored = journal.effects().find(rest("ack effect "));
        if (stored == journal.effects().end() ||
            stored->second.status != EffectState::Status::completed) {
          problem(name + ": lost: " + line);
        }
      } else if (line.starts_with("in doubt ")) {
        explained[rest("in doubt ")] = true;
        ++in_doubt_;
      } else if (line.starts_with("ack step ")) {
        if (std::find(steps.begin(), steps.end(), rest("ack step ")) == steps.end()) {
          problem(name + ": lost: " + line);
        }
      } else if (line.starts_with("ack label ")) {
        const auto id = parse_checkpoint_id(rest("ack label "));
        if (!id || !store->load(id.value())) problem(name + ": lost: " + line);
      } else if (line.starts_with("resumed after us ")) {
        resumed_ms_.push_back(std::stod(rest("resumed after us ")) / 1000.0);
      }
    }
    for (const auto& [key, count] : effects) {
      if (count > 1) problem(name + ": effect " + key + " ran " + std::to_string(count) + " times");
      if (!explained[key]) problem(name + ": effect " + key + " ran and is not accounted for");
    }
    for (int page = 3; page <= 12; page += 3) {
      if (!explained["pay:" + std::to_string(page)]) problem(name + ": an effect is missing");
    }
    if (lines.size() <= lines_before) problem(name + ": resuming did nothing");
  }

  void report() {
    std::printf("%-22s %8s\n", "killed at", "times");
    for (const auto& [kind, count] : killed_at_) {
      std::printf("%-22s %8d %s\n", kind.c_str(), count,
                  std::string(static_cast<std::size_t>(count), '#').c_str());
    }
    report_resuming();
    std::printf("effects in doubt: %d; problems: %d\n", in_doubt_, problems_);
  }

  // The goal is 100 ms. Half of the resumptions must reach it on any machine; the slowest few
  // depend on the machine's other load.
  void report_resuming() {
    constexpr double goal_ms = 100;
    constexpr double busy_machine = 10;
    if (resumed_ms_.empty()) return problem("no resumed attempt said when it started");
    std::sort(resumed_ms_.begin(), resumed_ms_.end());
    const auto at = [&](double part) {
      return resumed_ms_[static_cast<std::size_t>(part *
                                                  static_cast<double>(resumed_ms_.size() - 1))];
    };
    std::printf(
        "from opening the store to the resumed attempt: median %.1f ms, p95 %.1f ms, slowest %.1f "
        "ms\n",
        at(0.5), at(0.95), at(1));
    if (at(0.5) > goal_ms) problem("half of the resumptions take longer than 100 ms");
    if (at(0.95) > goal_ms * busy_machine) problem("some resumptions take longer than 1 s");
  }

  Options options_;
  std::mt19937_64 random_;
  test::TempFolder folder_{};
  std::vector<std::string> kinds_;
  std::chrono::duration<double> duration_{};
  std::map<std::string, int> killed_at_;
  int in_doubt_ = 0;
  std::vector<double> resumed_ms_;
  int problems_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 7 && words[0] == "victim") {
    return triage::test::run_victim({.database = words[1],
                                     .side_log = words[2],
                                     .mode = words[3],
                                     .kill_at = std::stoull(words[4]),
                                     .after_commit = words[5] == "after",
                                     .resume = words[6] == "resume"});
  }
  Options options;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--kills") options.kills = std::stoi(words[i + 1]);
    if (words[i] == "--seed") options.seed = std::stoull(words[i + 1]);
  }
  return Campaign(options).run();
}
