// SPDX-License-Identifier: MIT
#pragma once
// A workflow with effects, requests and a nested workflow, to be killed at any time.

#include "triage/workflow/run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace triage::test {

// One line per event in the world, in one write, which kill -9 does not tear.
inline void note(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  static_cast<void>(::write(fd, text.data(), text.size()));
  ::close(fd);
}

inline std::map<std::string, int> noted(const std::string& file) {
  std::map<std::string, int> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) ++lines[line];
  return lines;
}

// 30 executors: a start, eight workers with effects, a nested workflow of ten, two that ask, eight
// that check, and a join.
inline workflow::Workflow victim(const std::string& world) {
  using namespace workflow;
  WorkflowBuilder inner("inner");
  std::vector<std::string> steps;
  for (int i = 0; i < 10; ++i) {
    steps.push_back("s" + std::to_string(i));
    inner.executor(steps.back(), [](const int& n) { return n + 1; });
  }
  inner.start("s0").chain(steps);
  WorkflowBuilder builder("victim");
  builder.port<int>("bonus").executor("start", [](const int& n) { return n; }).start("start");
  std::vector<std::string> last;
  std::vector<std::string> first;
  for (int i = 0; i < 8; ++i) {
    const std::string work = "work" + std::to_string(i);
    const std::string check = "check" + std::to_string(i);
    builder.executor(work, stateless([world](const int& n, Context& context) {
                       const std::string line = "effect " + context.executor();
                       const auto look = [world, line, n] {
                         return noted(world).contains(line) ? Reconciled::done(n * 2)
                                                            : Reconciled::not_done();
                       };
                       const auto act = [&] {
                         note(world, line);
                         return n * 2;
                       };
                       return context.effect("act", act, {.reconcile = look});
                     }));
    builder.executor(check, stateless([world](const int& n, Context& context) {
                       context.shared("sums").set(context.executor(), n);
                       return n;
                     }));
    builder.edge(work, check);
    first.push_back(work);
    last.push_back(check);
  }
  for (const char* id : {"ask0", "ask1"}) {
    builder.executor(
        id, [](const int& n, Context& context) { return n + context.request<int>("bonus", n); });
    first.emplace_back(id);
    last.emplace_back(id);
  }
  builder.executor("inner", inner.build().value());
  first.emplace_back("inner");
  last.emplace_back("inner");
  builder.executor("join", [](const std::vector<int>& all) {
    int sum = 0;
    for (const int n : all) sum += n;
    return sum;
  });
  return builder.fan_out("start", first).fan_in(last, "join").build().value();
}

inline constexpr int undisturbed = 8 * 14 + 2 * (7 + 100) + 17;

}  // namespace triage::test
