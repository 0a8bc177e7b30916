// SPDX-License-Identifier: MIT
// Worker processes that share one PostgreSQL: how many runs a second 1, 2, 4 and 8 of them end, and
// how long after a kill -9 of one its runs are taken up by another. Needs the server of
// `scripts/setup --test`. Usage: worker_figures [--runs N] [--kills N]
#include "support/postgres_server.hpp"
#include "support/temp_folder.hpp"
#include "support/turns.hpp"
#include "triage/stores/interchange.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/postgres.hpp"
#include "triage/triage.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace triage::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds lease{2'000};

std::int64_t now_ms() {
  return std::chrono::duration_cast<milliseconds>(Clock::now().time_since_epoch()).count();
}

// As on another host: nobody can see there whether the owner of a run lives.
void go_far() {
  if (::unshare(CLONE_NEWPID) != 0) return;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return;
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
}

// A worker: says that it is ready, and begins when it is told to.
int work(const std::string& url, const std::string& log, const std::string& name, int threads,
         milliseconds thinks) {
  go_far();
  const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const auto store = PostgresStore::open(url, {.lease_timeout = lease});
  if (!store || file < 0) return 2;
  const TriageAgent agent{[&](int task, Attempt& attempt) {
                            const std::string line = attempt.run_id() + " " + name + " " +
                                                     std::to_string(now_ms()) + "\n";
                            if (::write(file, line.data(), line.size()) < 0) std::abort();
                            attempt.record_step({.action = "think"});
                            std::this_thread::sleep_for(thinks);  // Its model answers.
                            attempt.record_step({.action = "act"});
                            attempt.update_state({{"done", task}});
                            return task;
                          },
                          FailurePolicy().otherwise(escalate()),
                          {.name = "worker", .store = store.value()}};
  std::printf("ready\n");
  std::fflush(stdout);
  std::getchar();
  std::stop_source never;
  static_cast<void>(agent.work(static_cast<std::size_t>(threads), never.get_token()));
  return 0;
}

class Worker {
 public:
  explicit Worker(const std::vector<std::string>& words) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    std::vector<std::string> copy{"/proc/self/exe"};
    copy.insert(copy.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : copy) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::execv("/proc/self/exe", arguments.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    begin_ = in[1];
    std::array<char, 16> text{};
    ready_ = ::read(out[0], text.data(), text.size()) > 0;
    ::close(out[0]);
  }
  ~Worker() { kill(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void begin() const {
    if (!ready_ || ::write(begin_, "\n", 1) != 1) std::abort();
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(begin_);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
  int begin_ = -1;
  bool ready_ = false;
};

// Runs as a process leaves them that dies in their first attempt.
void leave_behind(CheckpointStore& store, int from, int count) {
  const auto source = MemoryStore::create();
  std::string text;
  const TriageAgent agent{[&](int task, Attempt& attempt) {
                            attempt.record_step({.action = "begin"});
                            attempt.checkpoint("begun").value();
                            std::ostringstream out;
                            const std::vector<RunId> run{attempt.run_id()};
                            export_runs(*source, run, out).value();
                            text = out.str();
                            return task;
                          },
                          FailurePolicy().otherwise(escalate()),
                          {.name = "worker", .store = source}};
  for (int i = from; i < from + count; ++i) {
    agent.run(i, {.run_id = "run-" + std::to_string(i)}).value();
    std::istringstream in(text);
    import_runs(store, in).value();
  }
}

struct Line {
  std::string run{};
  std::string worker{};
  std::int64_t ms = 0;
};
std::vector<Line> lines_of(const std::string& log) {
  std::ifstream in(log);
  std::vector<Line> lines;
  for (Line line; in >> line.run >> line.worker >> line.ms;) lines.push_back(line);
  return lines;
}

class Trials {
 public:
  explicit Trials(const test::PostgresServer& server)
      : server_(server), store_(PostgresStore::open(server.url()).value()) {}

  // Runs a second of this many worker processes.
  double rate(int workers, int runs_each, milliseconds thinks) {
    const std::string log = folder_.file("log-" + std::to_string(next_));
    const int runs = workers * runs_each;
    leave_behind(*store_, next_, runs);
    next_ += runs;
    std::vector<std::unique_ptr<Worker>> all;
    for (int i = 0; i < workers; ++i) all.push_back(start(log, i, 1, thinks));
    const auto begin = Clock::now();
    for (const auto& worker : all) worker->begin();
    wait_for(next_);
    const double seconds = seconds_since(begin);
    if (lines_of(log).size() != static_cast<std::size_t>(runs)) {
      std::printf("a run was begun twice: %zu for %d\n", lines_of(log).size(), runs);
    }
    return runs / seconds;
  }

  // Kills one of four workers again and again, and starts another in its place.
  void kills(int times) {
    constexpr int workers = 4;
    constexpr int threads = 2;
    const std::string log = folder_.file("kills");
    const int runs = 24 * times;
    leave_behind(*store_, next_, runs);
    next_ += runs;
    std::vector<std::unique_ptr<Worker>> all;
    int name = 0;
    for (; name < workers; ++name) {
      all.push_back(start(log, name, threads, milliseconds(500)));
      all.back()->begin();
    }
    std::map<std::string, std::int64_t> killed;  // When.
    for (int i = 0; i < times; ++i) {
      std::this_thread::sleep_for(milliseconds(1'200));
      const std::size_t which = static_cast<std::size_t>(i % workers);
      killed[names_[all[which].get()]] = now_ms();
      all[which]->kill();
      all[which] = start(log, name++, threads, milliseconds(500));
      all[which]->begin();
    }
    wait_for(next_);
    account(lines_of(log), killed, runs);
  }

 private:
  std::unique_ptr<Worker> start(const std::string& log, int number, int threads,
                                milliseconds thinks) {
    const std::string name = "w" + std::to_string(number);
    auto worker = std::make_unique<Worker>(std::vector<std::string>{
        "work", server_.url(), log, name, std::to_string(threads), std::to_string(thinks.count())});
    names_[worker.get()] = name;
    return worker;
  }
  void wait_for(int finished) const {
    const std::string count = "SELECT count(*) FROM triage.runs WHERE status = 'finished'";
    while (std::stoi(server_.ask(count).value()) < finished) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
  static void account(const std::vector<Line>& lines,
                      const std::map<std::string, std::int64_t>& killed, int runs) {
    std::map<std::string, std::vector<Line>> by_run;
    for (const Line& line : lines) by_run[line.run].push_back(line);
    std::vector<double> waited;
    int wrong = 0;
    for (const auto& [run, begun] : by_run) {
      for (std::size_t i = 1; i < begun.size(); ++i) {
        const auto death = killed.find(begun[i - 1].worker);
        // Begun again, although its worker lived; or by a dead one.
        if (death == killed.end() || begun[i].ms < death->second) ++wrong;
        if (death != killed.end()) {
          waited.push_back(static_cast<double>(begun[i].ms - death->second) / 1e3);
        }
      }
    }
    std::printf(
        "| kill -9 of a worker: %zu kills, %d runs | %zu taken over | median %.2f s | longest %.2f "
        "s "
        "| begun twice: %d |\n",
        killed.size(), runs, waited.size(), median(waited), percentile(waited, 1), wrong);
  }

  const test::PostgresServer& server_;
  test::TempFolder folder_{};
  std::shared_ptr<PostgresStore> store_;
  std::map<const Worker*, std::string> names_{};
  int next_ = 0;
};

void rates(Trials& trials, const char* title, int runs_each, milliseconds thinks) {
  constexpr int rounds = 3;
  const auto all = by_turns(
      rounds, [&] { return trials.rate(1, runs_each, thinks); },
      [&] { return trials.rate(2, runs_each, thinks); },
      [&] { return trials.rate(4, runs_each, thinks); },
      [&] { return trials.rate(8, runs_each, thinks); });
  std::printf("| %s |", title);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf(" %.0f (%.2f) |", all[i], all[i] / (all[0] * static_cast<double>(1U << i)));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace triage::bench

int main(int count, char** arguments) {
  using namespace triage::bench;
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 6 && words[0] == "work") {
    return work(words[1], words[2], words[3], std::stoi(words[4]),
                milliseconds(std::stoi(words[5])));
  }
  int runs = 40;
  int kills = 20;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--runs") runs = std::stoi(words[i + 1]);
    if (words[i] == "--kills") kills = std::stoi(words[i + 1]);
  }
  const triage::test::PostgresServer server;
  if (!server.ready()) {
    std::fprintf(stderr, "worker_figures: there is no PostgreSQL server\n");
    return 1;
  }
  Trials trials(server);
  std::printf(
      "| runs a second (of as many times one worker's) | 1 worker | 2 | 4 | 8 |\n"
      "|---|---|---|---|---|\n");
  if (runs > 0) {
    rates(trials, "a run waits 200 ms for its model", runs / 4, milliseconds(200));
    rates(trials, "a run waits 50 ms", runs, milliseconds(50));
    rates(trials, "a run waits for nothing", 2 * runs, milliseconds(0));
  }
  if (kills > 0) trials.kills(kills);
}
