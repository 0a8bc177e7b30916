// SPDX-License-Identifier: MIT
#include "trial.hpp"

#include "triage/detail/file_descriptor.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

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

// A child process that runs a body; killed with the object.
struct Child {
  Child() = default;
  Child(Child&& other) noexcept
      : id(std::exchange(other.id, -1)), pipe(std::move(other.pipe)), returned(other.returned) {}
  Child& operator=(Child&&) = delete;
  ~Child() { kill(); }
  void kill() noexcept {
    if (id <= 0) return;
    ::kill(id, SIGKILL);
    int status = 0;
    while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {}
    id = -1;
  }

  pid_t id = -1;
  triage::detail::FileDescriptor pipe{};
  bool returned = false;  // The body has.
};

Child start_child(Trial& trial, const ChildBody& body) {
  trial.close();
  std::array<int, 2> pipe{};
  expect(::pipe(pipe.data()) == 0, "no pipe can be made");
  Child child;
  child.pipe = triage::detail::FileDescriptor(pipe[0]);
  triage::detail::FileDescriptor to_parent(pipe[1]);
  child.id = ::fork();
  expect(child.id >= 0, "no child process can be made");
  if (child.id == 0) {
    ::close(pipe[0]);
    be_child(
        pipe[1], [&] { return trial.open(); }, body);
  }
  return child;
}

// The next report; empty once the body has returned, or the process has died. Throws what the body
// has thrown.
std::optional<std::uint64_t> next_from(Child& child) {
  const auto value = next_report(child.pipe.get());
  if (value == body_broken) throw Broken{"in a child process: " + rest_of(child.pipe.get())};
  child.returned = value == body_returned;
  return child.returned ? std::nullopt : value;
}

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
  Child child = start_child(*this, body);
  std::vector<std::uint64_t> reports;
  while (const auto value = next_from(child)) reports.push_back(*value);
  expect(child.returned, "a child process died before it was done");
  if (meanwhile) meanwhile();
  return reports;
}

std::vector<std::uint64_t> Trial::killed_child_after(std::uint64_t reports, const ChildBody& body) {
  Child child = start_child(*this, body);
  std::vector<std::uint64_t> seen;
  while (seen.size() < reports) {
    const auto value = next_from(child);
    if (!value) break;
    seen.push_back(*value);
  }
  child.kill();
  // Reports sent before it died also count as acknowledged.
  while (const auto value = next_report(child.pipe.get())) {
    if (*value >= body_broken) break;
    seen.push_back(*value);
  }
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
