// SPDX-License-Identifier: MIT
// triage chaos: runs a program behind a proxy that injects faults.

#include "arguments/duration_argument.hpp"
#include "arguments/read_policy.hpp"
#include "command.hpp"
#include "documents/output_file.hpp"
#include "supervise/attempt/verdict.hpp"
#include "supervise/process/leftovers.hpp"
#include "triage/detail/counted.hpp"
#include "triage/detail/try.hpp"
#include "triage/lab/http_proxy.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <utility>

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

extern char** environ;

namespace triage::inline v0_1::cli {
namespace {

constexpr Duration longest_timeout = std::chrono::hours(24);

struct ChaosArguments {
  std::vector<std::string> command{};
  std::string mix{};     // A file.
  std::string replay{};  // Likewise.
  std::string record{};  // Likewise.
  std::string upstream{};
  std::string variable = "BASE_URL";
  std::string timeout = "10m";
  std::uint64_t seed = 1;
  double rate = 0.1;
};

// Reads a JSON file; errors say where in it the problem is.
Result<Json> read_json(const std::string& path) {
  TRIAGE_TRY(text, read_text_file(path));
  try {
    Json json = Json::parse(text);
    TRIAGE_TRYV(check_json(json, "\"" + printable(path) + "\""));
    return outcome::success(std::move(json));
  } catch (const Json::exception& e) {
    return Error{Errc::invalid_argument, "\"" + printable(path) + "\" is not JSON: " + e.what()};
  }
}

Result<lab::Chaos> chaos_of(const ChaosArguments& given, lab::ChaosOptions options) {
  options.seed = given.seed;
  if (!given.replay.empty()) {
    TRIAGE_TRY(json, read_json(given.replay));
    auto schedule = lab::schedule_from_json(json);
    if (!schedule) return in_file(given.replay, schedule.error());
    return outcome::success(lab::Chaos::replay(schedule.value(), std::move(options)));
  }
  lab::FaultMix mix = lab::service_faults(given.rate);
  if (!given.mix.empty()) {
    TRIAGE_TRY(json, read_json(given.mix));
    auto read = lab::fault_mix_from_json(json);
    if (!read) return in_file(given.mix, read.error());
    mix = std::move(read).value();
    if (auto checked = lab::check_proxy_mix(mix); !checked) {
      return in_file(given.mix, checked.error());
    }
  }
  return outcome::success(lab::Chaos(std::move(mix), std::move(options)));
}

// "http://HOST:PORT" of an upstream, and the path that clients go on from.
std::pair<std::string, std::string> upstream_and_path(const std::string& given) {
  const std::size_t scheme = given.find("://");
  const std::size_t slash =
      scheme == std::string::npos ? std::string::npos : given.find('/', scheme + 3);
  if (slash == std::string::npos) return {given, ""};
  return {given.substr(0, slash), given.substr(slash)};
}

std::vector<std::string> environment_of(const ChaosArguments& given, const std::string& url) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) all.emplace_back(*one);
  if (!given.upstream.empty()) {
    all.push_back(given.variable + "=" + url + upstream_and_path(given.upstream).second);
    return all;
  }
  // Programs read different ones. Variables that bypass the proxy are removed.
  for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"}) {
    all.push_back(std::string(name) + "=" + url);
  }
  for (const char* name : {"NO_PROXY", "no_proxy"}) all.push_back(std::string(name) + "=");
  return all;
}

// The last value of a repeated name wins, as in a shell.
std::vector<std::string> without_doubles(const std::vector<std::string>& all) {
  std::vector<std::string> once;
  for (const std::string& one : all) {
    const std::string name = one.substr(0, one.find('=') + 1);
    std::erase_if(once, [&](const std::string& other) { return other.starts_with(name); });
    once.push_back(one);
  }
  return once;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& one : texts) all.push_back(one.data());
  all.push_back(nullptr);
  return all;
}

std::atomic<pid_t> told_to_end = 0;  // The program; 0: none yet, or it has ended.
std::atomic<int> asked_to_end = 0;   // The signal.

void pass_on(int signal) {
  asked_to_end = signal;
  if (const pid_t program = told_to_end; program > 0) ::kill(program, signal);
}

// Unless they are ignored, as nohup does.
void pass_on_signals() {
  for (const int signal : {SIGTERM, SIGHUP}) {
    if (std::signal(signal, &pass_on) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

// The program runs in this process's group, so a terminal's signals reach both.
class Program {
 public:
  Result<int> run(const ChaosArguments& given, const std::string& url);
  void kill();

 private:
  std::mutex mutex_{};
  pid_t pid_ = 0;  // 0: not running.
};

// With all that it started: the agent may be behind a shell or a wrapper.
void Program::kill() {
  constexpr int most_rounds = 100;  // Of searching, because processes may start others meanwhile.
  const std::scoped_lock lock(mutex_);
  if (pid_ <= 0) return;
  std::set<pid_t> killed;
  std::size_t before = 0;
  for (int round = 0; round == 0 || (killed.size() > before && round < most_rounds); ++round) {
    before = killed.size();
    const supervise::Family family = supervise::family_without({}, 0);
    for (const auto& members : {family.children, family.others}) {
      for (const pid_t member : members) {
        if (killed.insert(member).second) ::kill(member, SIGKILL);
      }
    }
  }
}

Result<int> Program::run(const ChaosArguments& given, const std::string& url) {
  std::vector<std::string> command = given.command;
  std::vector<std::string> environment = without_doubles(environment_of(given, url));
  int trouble = 0;
  pid_t pid = 0;
  pass_on_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // All that the program starts remains below this process.
  {
    const std::scoped_lock lock(mutex_);
    trouble = ::posix_spawnp(&pid, command.front().c_str(), nullptr, nullptr,
                             pointers(command).data(), pointers(environment).data());
    if (trouble == 0) pid_ = pid;
  }
  if (trouble != 0) {
    return Error{trouble == ENOENT ? Errc::not_found : Errc::io,
                 "\"" + printable(command.front()) + "\" cannot be run: " + std::strerror(trouble)};
  }
  told_to_end = pid;
  if (const int signal = asked_to_end; signal != 0) ::kill(pid, signal);
  // The program handles interrupts; the summary is printed in any case.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  ::siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
  told_to_end = 0;
  const std::scoped_lock lock(mutex_);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  pid_ = 0;
  return outcome::success(supervise::shell_status(status));
}

Result<void> write_schedule(const std::string& path, const lab::Schedule& schedule) {
  const auto write = [&](std::ostream& out) -> Result<void> {
    out << show(lab::to_json(schedule), 2) << "\n";
    return outcome::success();
  };
  return write_output(path, write, Readable::as_usual);
}

// Of the proxy's requests.
struct Counts {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;
  std::uint64_t unchanged = 0;
};

std::string summary_of(const lab::Chaos& chaos, const Counts& counts, std::uint64_t seed) {
  std::string text = "triage: chaos: " + detail::counted(chaos.injected_count(), "fault") + " in " +
                     detail::counted(counts.requests, "request") + ", seed " +
                     std::to_string(seed) + "\n";
  if (counts.unchanged > 0) {
    text += "triage: chaos: " + detail::counted(counts.unchanged, "fault") +
            " found nothing to change\n";
  }
  if (counts.refused > 0) {
    text += "triage: chaos: " + detail::counted(counts.refused, "more request") +
            " could not be read or passed on\n";
  }
  return text;
}

Result<ExitStatus> carry_out(const ChaosArguments& given) {
  TRIAGE_TRY(timeout, duration_argument("--timeout", given.timeout));
  if (timeout == Duration::zero() || timeout > longest_timeout) {
    return Error{Errc::invalid_argument,
                 "--timeout is " + given.timeout + "; allowed is more than 0s, at most 1d"};
  }
  Program program;
  TRIAGE_TRY(chaos, chaos_of(given, {.kill = [&program] { program.kill(); }}));
  // Checked before anything runs, because a run cannot be repeated exactly. A schedule that is
  // replayed may be replaced by what happens.
  const OutputFile record{"--record", given.record};
  TRIAGE_TRYV(check_outputs({&record, 1}, {&given.mix, 1}));
  TRIAGE_TRY(proxy,
             lab::HttpProxy::start(
                 chaos, {.upstream = upstream_and_path(given.upstream).first, .timeout = timeout}));
  const auto status = program.run(given, proxy->url());
  if (!status) return report_no_program(status.error());
  const Counts counts{proxy->requests(), proxy->refused(), proxy->unchanged()};
  proxy.reset();
  std::cerr << summary_of(chaos, counts, given.seed) << lab::describe(chaos.injected());
  if (!given.record.empty()) {
    TRIAGE_TRYV(write_schedule(given.record, chaos.injected()));
  }
  return static_cast<ExitStatus>(status.value());
}

}  // namespace

std::function<ExitStatus()> chaos(CLI::App& arguments) {
  auto given = std::make_shared<ChaosArguments>();
  arguments.add_option("CMD", given->command, "The command and its arguments, behind --.")
      ->required();
  arguments.add_option("--seed", given->seed, "Which faults, of all that may be. Default: 1.")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  auto* mix = arguments.add_option("--mix", given->mix, "A fault mix in JSON: see docs/lab.md.")
                  ->check(not_empty());
  auto* rate = arguments.add_option("--rate", given->rate,
                                    "Share of requests that meet a fault, without a mix. 0 to 1; "
                                    "default: 0.1.");
  rate->check(CLI::Range(0.0, 1.0))->excludes(mix);
  arguments
      .add_option("--timeout", given->timeout,
                  "How long the program or the service may be silent. Default: 10m.")
      ->check(not_empty());
  arguments.add_option("--record", given->record, "Writes the faults that happened to this file.")
      ->check(not_empty());
  arguments.add_option("--replay", given->replay, "Injects the faults of such a file, no others.")
      ->excludes(mix)
      ->excludes(rate)
      ->check(not_empty());
  auto* upstream = arguments
                       .add_option("--upstream", given->upstream,
                                   "http://HOST:PORT that all requests go to. Then CMD finds "
                                   "the proxy's URL, with this one's path if it has any, in a "
                                   "variable, not in HTTP_PROXY.")
                       ->check(not_empty());
  arguments.add_option("--variable", given->variable, "Name of that variable. Default: BASE_URL.")
      ->needs(upstream)
      ->check(not_empty());
  arguments.footer(
      "Example: triage chaos --seed 7 --upstream http://localhost:8080 --variable URL\n"
      "         -- ./agent.py\n\n"
      "Requests meet 429s and 503s, resets, answers that break off, calls of a tool with another\n"
      "name, and delays. What happened is printed to stderr.\n\n"
      "Exit status: CMD's own; 126 and 127 if it cannot be executed or found; else as of any\n"
      "command.");
  return [given] {
    const auto status = carry_out(*given);
    return status ? status.value() : report(status.error());
  };
}

}  // namespace triage::inline v0_1::cli
