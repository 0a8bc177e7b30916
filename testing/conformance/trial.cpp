// SPDX-License-Identifier: MIT
#include "trial.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace triage::inline v0_1::testing::kit {
namespace {

constexpr unsigned longest_child_s = 60;  // A hanging child ends by itself.
constexpr std::uint64_t body_returned = ~std::uint64_t{0};
constexpr std::uint64_t body_broken = body_returned - 1;

void report_to(int pipe, std::uint64_t value) {
  if (::write(pipe, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) ::_exit(3);
}

std::optional<std::uint64_t> next_report(int pipe) {
  std::uint64_t value = 0;
  std::size_t got = 0;
  while (got < sizeof value) {
    const ssize_t size = ::read(pipe, reinterpret_cast<char*>(&value) + got, sizeof value - got);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    got += static_cast<std::size_t>(size);
  }
  return value;
}

using ChildBody = std::function<void(CheckpointStore&, const std::function<void(std::uint64_t)>&)>;

// Never returns, because no object of the parent may be destroyed here.
[[noreturn]] void be_child(int pipe, const std::function<std::shared_ptr<CheckpointStore>()>& open,
                           const ChildBody& body) {
  ::alarm(longest_child_s);
  try {
    const std::shared_ptr<CheckpointStore> store = open();
    body(*store, [&](std::uint64_t value) { report_to(pipe, value); });
    report_to(pipe, body_returned);
    for (;;) ::pause();
  } catch (const Broken& broken) {
    report_to(pipe, body_broken);
    static_cast<void>(::write(pipe, broken.what.data(), broken.what.size()));
    ::_exit(1);
  } catch (...) {
    ::_exit(2);
  }
}

std::string rest_of(int pipe) {
  std::string text;
  std::array<char, 512> buffer{};
  for (;;) {
    const ssize_t size = ::read(pipe, buffer.data(), buffer.size());
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

struct Child {
  pid_t id = -1;
  int pipe = -1;
  ~Child() {
    if (id > 0) {
      ::kill(id, SIGKILL);
      int status = 0;
      while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {}
    }
    if (pipe >= 0) ::close(pipe);
  }
};

}  // namespace

CheckpointStore& Trial::store() {
  if (!store_) store_ = open();
  return *store_;
}

std::shared_ptr<CheckpointStore> Trial::open() {
  auto opened = must(factory_(folder_), "opening the store");
  expect(opened != nullptr, "the factory gave no store");
  return opened;
}

CheckpointStore& Trial::reopen() {
  close();
  return store();
}

std::vector<std::uint64_t> Trial::killed_child(const ChildBody& body,
                                               const std::function<void()>& meanwhile) {
  close();
  std::array<int, 2> pipe{};
  expect(::pipe(pipe.data()) == 0, "no pipe can be made");
  Child child;
  child.id = ::fork();
  expect(child.id >= 0, "no child process can be made");
  if (child.id == 0) {
    ::close(pipe[0]);
    child.id = -1;
    be_child(
        pipe[1], [&] { return open(); }, body);
  }
  ::close(pipe[1]);
  child.pipe = pipe[0];
  std::vector<std::uint64_t> reports;
  for (;;) {
    const auto value = next_report(child.pipe);
    if (!value) throw Broken{"a child process died before it was done"};
    if (*value == body_broken) throw Broken{"in a child process: " + rest_of(child.pipe)};
    if (*value == body_returned) break;
    reports.push_back(*value);
  }
  if (meanwhile) meanwhile();
  return reports;
}

std::vector<std::uint64_t> Trial::killed_child_after(std::uint64_t reports, const ChildBody& body) {
  close();
  std::array<int, 2> pipe{};
  expect(::pipe(pipe.data()) == 0, "no pipe can be made");
  std::vector<std::uint64_t> seen;
  {
    Child child;
    child.id = ::fork();
    expect(child.id >= 0, "no child process can be made");
    if (child.id == 0) {
      ::close(pipe[0]);
      child.id = -1;
      be_child(
          pipe[1], [&] { return open(); }, body);
    }
    ::close(pipe[1]);
    while (seen.size() < reports) {
      const auto value = next_report(pipe[0]);
      if (!value) break;
      if (*value == body_broken) throw Broken{"in a child process: " + rest_of(pipe[0])};
      if (*value == body_returned) break;
      seen.push_back(*value);
    }
  }
  // Reports sent before it died also count as acknowledged.
  while (const auto value = next_report(pipe[0])) {
    if (*value >= body_broken) break;
    seen.push_back(*value);
  }
  ::close(pipe[0]);
  return seen;
}

void Trial::damage(const RunId& run, Sequence seq) {
  close();
  must(options_.damage(folder_, run, seq), "damaging a record");
}

void Trial::make_newer() {
  close();
  must(options_.make_newer(folder_), "making the store newer");
}

}  // namespace triage::inline v0_1::testing::kit
