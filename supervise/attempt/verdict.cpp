// SPDX-License-Identifier: MIT
#include "supervise/attempt/verdict.hpp"

#include "supervise/process/tail.hpp"
#include "supervise/spec/rules.hpp"
#include "triage/exit_status.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/wait.h>

namespace triage::inline v0_1::supervise {
namespace {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : "SIG" + std::string(name);
}

// "sh exited with status 3", "sh was killed by SIGSEGV".
std::string how_it_ended(const ChildEnd& end, const std::string& name) {
  if (end.cause == ChildEnd::Cause::timeout) return name + " did not end before its timeout";
  if (end.cause == ChildEnd::Cause::idle_timeout) {
    return name + " showed no sign of life before its idle timeout";
  }
  if (WIFSIGNALED(end.status)) return name + " was killed by " + signal_name(WTERMSIG(end.status));
  return name + " exited with status " + std::to_string(WEXITSTATUS(end.status));
}

// The kernel's way to end a process that takes too much memory; a shell reports a status.
bool was_killed(int status) { return shell_status(status) == 128 + SIGKILL; }

bool ended_by_itself(const ChildEnd& end) {
  return end.cause == ChildEnd::Cause::itself && WIFEXITED(end.status);
}

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

int shell_status(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Failure failure_of(const ChildEnd& end, const std::string& name) {
  Failure failure;
  // Programs report errors on standard error; some use only one stream.
  const std::string said = without_end(end.error.empty() ? end.out : end.error);
  auto reported = last_json_error(end.error);
  if (!reported) reported = last_json_error(end.out);
  if (reported) failure = *std::move(reported);
  const std::string how = how_it_ended(end, name);
  if (failure.text.empty()) failure.text = said;
  // The kernel may have killed any process of the control group, also a neighbour of the program.
  const bool out_of_memory = end.out_of_memory && (was_killed(end.status) || failure.text.empty());
  // Beside the program's own words, ours would count as its words.
  if (failure.text.empty() || !ended_by_itself(end)) {
    failure.text += (failure.text.empty() ? "" : "\n") + how;
  }
  if (WIFEXITED(end.status)) failure.code = exit_status(WEXITSTATUS(end.status));
  if (end.cause == ChildEnd::Cause::timeout || end.cause == ChildEnd::Cause::idle_timeout) {
    failure.type = FailureType::timeout;
    failure.reason =
        end.cause == ChildEnd::Cause::timeout ? "attempt_timeout" : "attempt_idle_timeout";
  } else if (out_of_memory || WIFSIGNALED(end.status)) {
    failure.type = FailureType::crashed;
    failure.reason = out_of_memory ? "out_of_memory" : "killed_by_signal";
  }
  return failure;
}

std::string memory_limit_text(const ChildLimits& limits) {
  return "--memory " + std::to_string(limits.memory_bytes >> 20U) + " (MB of address space)";
}

// Sources: glibc's elf/dl-load.c and elf/rtld.c, whose loader has no texts for errors yet.
std::optional<Failure> limit_too_low(const ChildEnd& end, const ChildLimits& limits,
                                     const std::string& name) {
  constexpr int loader_status = 127;
  const bool unloaded =
      WIFEXITED(end.status) && WEXITSTATUS(end.status) == loader_status &&
      end.error.find("error while loading shared libraries: ") != std::string::npos;
  if (!unloaded || end.printed) return std::nullopt;
  const bool opens = end.error.find("cannot open shared object file") == std::string::npos;
  const bool too_many_files =
      !opens && end.error.find("Error " + std::to_string(EMFILE)) != std::string::npos;
  std::string limit;
  if (opens && limits.memory_bytes > 0) {
    limit = memory_limit_text(limits);
  } else if (too_many_files && limits.open_files > 0) {
    limit = "--files " + std::to_string(limits.open_files);
  } else {
    return std::nullopt;
  }
  return Failure{.text = name + " cannot start within " + limit + ": " + without_end(end.error),
                 .type = opens ? FailureType::crashed : FailureType::unknown,
                 .reason = limit_too_low_reason};
}

}  // namespace triage::inline v0_1::supervise
