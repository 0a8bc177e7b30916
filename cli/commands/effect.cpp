// SPDX-License-Identifier: MIT
// triage effect: runs a command at most once per run, and replays its output.

#include "command.hpp"
#include "programs/supervisor_client.hpp"
#include "render/output.hpp"
#include "supervise/attempt/verdict.hpp"
#include "supervise/process/child.hpp"
#include "supervise/process/file_descriptor.hpp"
#include "supervise/process/signals.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_output = 1U << 20U;
// For what a command that has ended has left running.
constexpr auto last_words = std::chrono::milliseconds(200);
constexpr auto ask_again_after = std::chrono::milliseconds(100);

// The keys of the effects that this process is part of: a list in JSON.
constexpr const char* outer_variable = "TRIAGE_EFFECTS";

struct EffectArguments {
  std::string key{};
  std::vector<std::string> command{};
  int not_done_status = 0;
};

struct Ran {
  int status = 0;
  bool stopped = false;  // By a signal to this process, so that only the status 0 says what it did.
  std::string out{};
  int unwritten = 0;  // Why the output could not be passed on; 0 if it was, or nobody reads it.
};

// An effect within an effect has its own key: with the outer one, a service would take two inner
// ones for one.
std::vector<std::string> environment_with_key(const std::string& idempotency_key,
                                              const Json& keys) {
  const std::string variable = "TRIAGE_IDEMPOTENCY_KEY=";
  const std::string outer = std::string(outer_variable) + "=";
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!text.starts_with(variable) && !text.starts_with(outer)) all.emplace_back(text);
  }
  all.push_back(variable + idempotency_key);
  all.push_back(outer + show(keys));
  return all;
}

Json outer_keys() {
  const char* text = std::getenv(outer_variable);
  Json keys = Json::parse(text == nullptr ? "" : text, nullptr, false);
  return keys.is_array() ? keys : Json::array();
}

// Returns why it failed, or 0. The command continues, because its effect is recorded anyway.
int pass_on(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (put <= 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

// Keeps the signals that end programs from this process, which must record what its command has
// done; the command gets those to their group itself. They take effect at this object's end.
class Deferred {
 public:
  Deferred() {
    ::sigemptyset(&ours_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      struct sigaction now {};
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
        ::sigaddset(&ours_, signal);
      }
    }
    ::sigprocmask(SIG_BLOCK, &ours_, &before_);
  }
  ~Deferred() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
  // One of them has come.
  [[nodiscard]] bool came() const noexcept {
    sigset_t pending;
    ::sigpending(&pending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      if (::sigismember(&ours_, signal) == 1 && ::sigismember(&pending, signal) == 1) return true;
    }
    return false;
  }

 private:
  sigset_t ours_{};
  sigset_t before_{};
};

using Seen = std::function<void(std::string_view)>;

// Reads once. False: the end.
bool read_block(int from, const Seen& seen) {
  std::array<char, 65'536> block;
  const ssize_t got = ::read(from, block.data(), block.size());
  if (got < 0) return errno == EINTR;
  seen({block.data(), static_cast<std::size_t>(got)});
  return got > 0;
}

// Until the command has ended and what it printed has been read. False: what it has left running
// holds the pipe open.
bool read_until_end(int from, pid_t pid, const Seen& seen) {
  using Clock = std::chrono::steady_clock;
  const supervise::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  std::optional<Clock::time_point> give_up_at;
  for (;;) {
    std::array<pollfd, 2> files{pollfd{from, POLLIN, 0},
                                pollfd{give_up_at ? -1 : process.get(), POLLIN, 0}};
    int wait_ms = -1;
    if (give_up_at) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*give_up_at - Clock::now());
      if (left.count() <= 0) return false;
      wait_ms = static_cast<int>(left.count());
    }
    if (::poll(files.data(), files.size(), wait_ms) < 0 && errno != EINTR) return true;
    if (files[0].revents != 0 && !read_block(from, seen)) return true;
    if (files[1].revents != 0) give_up_at = Clock::now() + last_words;
  }
}

// A process of its own passes on what comes later, so that neither side waits for the other.
void leave_passing_on(int from, const Deferred& deferred) {
  if (::fork() != 0) return;
  ::sigprocmask(SIG_SETMASK, &deferred.before(), nullptr);
  ::dup2(from, STDIN_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);  // The supervisor must notice this process's end.
  while (read_block(STDIN_FILENO, pass_on)) continue;
  ::_exit(0);
}

// Runs the command; its output is passed on and its beginning kept.
Result<Ran> run_effect(const EffectArguments& given, const std::string& idempotency_key, Json keys,
                       const Deferred& deferred) {
  keys.push_back(given.key);
  supervise::ChildPlan plan;
  plan.arguments = given.command;
  TRIAGE_TRY(folder, supervise::current_folder());
  plan.folder = std::move(folder);
  TRIAGE_TRY(program, supervise::find_program(given.command.front(), plan.folder));
  TRIAGE_TRY(pipe, supervise::make_pipe());
  plan.program = std::move(program);
  plan.out = pipe.write.get();
  plan.own_group = false;  // It may ask somebody at the terminal.
  plan.environment = environment_with_key(idempotency_key, keys);
  plan.signals = deferred.before();
  plan.at_our_death = SIGTERM;
  TRIAGE_TRY(child, supervise::Child::fork_gated(plan));
  // The command has not got one from before its process existed, and would be killed later.
  if (deferred.came()) return Error{Errc::cancelled, "a signal came before it was begun"};
  pipe.write.close();
  TRIAGE_TRYV(child.let_go());
  Ran ran;
  std::signal(SIGPIPE, SIG_IGN);
  supervise::fail_at_file_limit();
  const bool all = read_until_end(pipe.read.get(), child.pid(), [&ran](std::string_view bytes) {
    if (const int why = pass_on(bytes); why != 0 && why != EPIPE) ran.unwritten = why;
    ran.out += bytes.substr(0, longest_output - ran.out.size());
  });
  if (!all) leave_passing_on(pipe.read.get(), deferred);
  int status = 0;
  while (::waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) continue;
  ran.status = supervise::shell_status(status);
  ran.stopped = deferred.came();
  return outcome::success(std::move(ran));
}

// JSON holds no bytes that are not UTF-8: they are kept beside the text that shows them.
Json result_of(const Ran& ran) {
  Json result{{"status", ran.status}, {"out", ran.out}};
  const std::string shown = Json::parse(show(result))["out"];
  if (shown == ran.out) return result;
  result["out"] = shown;
  result["out_hex"] = detail::to_hex(ran.out);
  return result;
}

std::string bytes_of(const Json& result) {
  const auto bytes = detail::from_hex(result.value("out_hex", ""));
  return bytes && !bytes->empty() ? *bytes : result.value("out", "");
}

ExitStatus replay(const Json& result) {
  print(bytes_of(result));
  return static_cast<ExitStatus>(result.value("status", 0));
}

// The command was not executed, or its status says that it did nothing, so the key is released.
ExitStatus withdraw_effect(SupervisorClient& client, const EffectArguments& given,
                           const std::string& cause) {
  if (auto told = client.tell({{"effect_not_done", {{"key", given.key}, {"cause", cause}}}});
      !told) {
    return report(told.error());
  }
  static_cast<void>(client.hear());  // The reply to a withdrawal is an error.
  return ExitStatus::done;
}

// Begins the effect. Where too many are under way it asks again, on another connection, since they
// may need this one for their ends.
Result<Json> begin_effect(std::optional<SupervisorClient>& client, const Json& effect,
                          const Deferred& deferred) {
  for (;;) {
    TRIAGE_TRY(connected, SupervisorClient::connect());
    client.emplace(std::move(connected));
    auto answer = client->ask({{"effect", effect}}, deferred.before());
    if (answer || answer.error().code != Errc::exhausted) return answer;
    client.reset();
    if (deferred.came()) return answer;
    std::this_thread::sleep_for(ask_again_after);
  }
}

ExitStatus carry_out_effect(const EffectArguments& given) {
  const Json keys = outer_keys();
  if (std::find(keys.begin(), keys.end(), given.key) != keys.end()) {
    return report(
        {Errc::invalid_argument, "effect \"" + printable(given.key) +
                                     "\" is what this command is part of: it would wait for its "
                                     "own end; give it another key"});
  }
  const Deferred deferred;
  std::optional<SupervisorClient> client;
  const auto answer = begin_effect(
      client, {{"key", given.key}, {"arguments", {{"command", given.command}}}}, deferred);
  if (!answer) return report(answer.error());
  if (answer.value().value("run", false) == false) return replay(answer.value().at("result"));
  const auto ran = run_effect(given, answer.value().value("idempotency_key", ""), keys, deferred);
  if (!ran) {
    static_cast<void>(withdraw_effect(*client, given, ran.error().detail));
    return report_no_program(ran.error());
  }
  if (given.not_done_status != 0 && ran.value().status == given.not_done_status) {
    static_cast<void>(
        withdraw_effect(*client, given, "status " + std::to_string(ran.value().status)));
    return static_cast<ExitStatus>(ran.value().status);
  }
  const bool unknown = ran.value().stopped && ran.value().status != 0;
  if (unknown) return static_cast<ExitStatus>(ran.value().status);  // Which leaves it in doubt.
  const Json result = result_of(ran.value());
  if (auto told = client->tell({{"effect_done", {{"key", given.key}, {"result", result}}}});
      !told) {
    return report(told.error());
  }
  if (const auto durable = client->hear(); !durable) return report(durable.error());
  if (ran.value().unwritten != 0) {
    const ExitStatus status =
        report({Errc::io, std::string("what the command printed could not be written: ") +
                              std::strerror(ran.value().unwritten) +
                              "; the effect is done, and keeps its output (of more than 1 MB, the "
                              "beginning)"});
    if (ran.value().status == 0) return status;
  }
  return static_cast<ExitStatus>(ran.value().status);
}

}  // namespace

std::function<ExitStatus()> effect(CLI::App& arguments) {
  auto given = std::make_shared<EffectArguments>();
  arguments.add_option("KEY", given->key, "What is done, such as mail:42.")->required();
  arguments.add_option("CMD", given->command, "The command and its arguments, behind --.")
      ->required();
  arguments
      .add_option("--not-done-status", given->not_done_status,
                  "An exit status of CMD that says that surely nothing happened: it may be run "
                  "again.")
      ->check(whole_number(1, 255));
  arguments.footer(
      "Example: triage effect mail:42 -- ./send_mail.sh 42\n\n"
      "CMD runs at most once in the life of the run; later calls print what it printed (the first\n"
      "MB) and end with its status. What it leaves running prints on, but that is not kept. It "
      "finds\n"
      "its idempotency key in TRIAGE_IDEMPOTENCY_KEY. If nobody knows whether it happened, the "
      "exit\n"
      "status is 5, and it is not run again: a person must find out, and tell `triage settle`.\n\n"
      "Exit status: CMD's own; 126 and 127 if it cannot be executed or found (then it counts as "
      "not "
      "done);\nelse as of any command.");
  return [given] { return carry_out_effect(*given); };
}

}  // namespace triage::inline v0_1::cli
