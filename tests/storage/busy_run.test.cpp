// SPDX-License-Identifier: MIT
#include "storage/busy_run.hpp"
#include "storage/owner_mark.hpp"

#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace triage;
using detail::owner_in_words;
using detail::OwnerMark;

namespace {

// The mark of a process that lives until this object ends.
class OtherProcess {
 public:
  OtherProcess() {
    int told[2];
    int held[2];
    REQUIRE(::pipe(told) == 0);
    REQUIRE(::pipe(held) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(held[1]);
      const std::string text = OwnerMark(7, false).text();
      const bool written = ::write(told[1], text.data(), text.size()) > 0;
      ::close(told[1]);
      char byte = 0;
      ::_exit(::read(held[0], &byte, 1) == 0 && written ? 0 : 1);
    }
    ::close(told[1]);
    ::close(held[0]);
    end_ = held[1];
    char buffer[256];
    const ssize_t size = ::read(told[0], buffer, sizeof buffer);
    ::close(told[0]);
    REQUIRE(size > 0);
    mark_.assign(buffer, static_cast<std::size_t>(size));
  }
  ~OtherProcess() {
    ::close(end_);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  [[nodiscard]] const std::string& mark() const { return mark_; }
  [[nodiscard]] std::string number() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = -1;
  int end_ = -1;
  std::string mark_{};
};

}  // namespace

TEST_CASE("whoever works on a run is told in words", "[store]") {
  const OwnerMark ours(5, false);
  CHECK(owner_in_words(ours.text(), ours.text()) == "this process");
  const OtherProcess other;
  const std::string words = owner_in_words(other.mark(), ours.text());
  INFO(words);
  CHECK(words.starts_with("process " + other.number() + " ("));
  const std::size_t at = words.find(") on this host, since 20");
  REQUIRE(at != std::string::npos);
  CHECK(words.substr(at).size() ==
        std::string(") on this host, since 2026-11-23 15:02:11 UTC").size());
  CHECK(words.ends_with(" UTC"));
  CHECK(owner_in_words("elsewhere/1 4711 99 1", ours.text()) ==
        "process 4711 on another host, or in another container");
  for (const char* broken : {"", "x", "host pid 3 4", "\x1b[2J"}) {
    CHECK(owner_in_words(broken, ours.text()) == "an unknown process");
  }
  const Error busy = detail::busy_run("r", "elsewhere/1 4711 99 1", ours.text());
  CHECK(busy.code == Errc::busy);
  CHECK(busy.detail ==
        "run \"r\" is under way: process 4711 on another host, or in another container");
}

TEST_CASE("a host that cannot be told from others is none that is known", "[store]") {
  const detail::LeaseKey lease{1, 1};
  // No process has this number, which says nothing about those of another host.
  for (const char* mark : {"unknown/unknown 2147483646 0 1", "boot/unknown 2147483646 0 1",
                           "unknown/1 2147483646 0 1"}) {
    INFO(mark);
    CHECK(detail::check_owner(mark, mark, lease) == detail::OwnerLife::elsewhere);
  }
  CHECK(detail::check_owner("boot/1 2147483646 0 1", "boot/1 7 0 2", lease) ==
        detail::OwnerLife::gone);
}
