// SPDX-License-Identifier: MIT
// `triage run` whose output cannot be written, or is not read.
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <array>

#include <poll.h>

using namespace triage;
using namespace triage::test;

namespace {

// A named pipe that is full until it is read.
class FullPipe {
 public:
  explicit FullPipe(const std::string& path) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    file_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::string block(4096, '.');
    while (::write(file_, block.data(), block.size()) > 0) continue;
    reading_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(reading_ >= 0);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  ~FullPipe() {
    ::close(file_);
    ::close(reading_);
  }

  // What was written until all who wrote have ended.
  std::string read() {
    ::close(std::exchange(file_, -1));
    std::string all;
    std::array<char, 65'536> block{};
    for (ssize_t got = 0; (got = ::read(reading_, block.data(), block.size())) > 0;) {
      all.append(block.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int file_ = -1;
  int reading_ = -1;
};

}  // namespace

TEST_CASE("output that a full disk refuses is told, and does not count as done", "[run]") {
  const Workshop shop;
  const auto run = [&](const std::string& where, const std::string& text) {
    std::vector<std::string> line{"/bin/sh", "-c", "\"$@\" " + where, "sh"};
    for (const std::string& word :
         shop.run_line({"--max-attempts", "1", "--quiet"}, {shop.script("a", text)})) {
      line.push_back(word);
    }
    return run_program(line);
  };
  const Printed output = run("> /dev/full", "echo text");
  CHECK(output.status == 9);
  CHECK_THAT(output.error,
             ContainsSubstring("standard output could not be written: No space left on device"));
  CHECK(run("2> /dev/full", "echo text >&2").status == 9);
  CHECK(run("> /dev/full", "echo text; exit 3").status == 3);
  CHECK(run("> /dev/full", "").status == 0);
  // A reader that has gone wants nothing.
  const Printed gone = run("| true", "sleep 0.2; echo text");
  CHECK(gone.status == 0);
  CHECK(gone.error.empty());
}

TEST_CASE("an effect whose output a full disk refuses is done, and that is told", "[protocol]") {
  const Workshop shop;
  const std::string effect = "'" TRIAGE_COMMAND "' effect ";
  const Printed printed = shop.run(
      {}, {shop.script("effects", effect + "k -- echo hi >/dev/full\n" + "echo $?\n" + effect +
                                      "k -- echo hi >/dev/full\necho $?\n" + effect +
                                      "k -- echo hi\n" + effect +
                                      "fails -- sh -c 'echo hi; exit 4' >/dev/full\necho $?\n" +
                                      effect + "silent -- true >/dev/full\necho $?\n")});
  INFO(printed.error);
  CHECK(printed.out == "9\n9\nhi\n4\n0\n");
  CHECK_THAT(printed.error, ContainsSubstring("No space left on device; the effect is done, and "
                                              "keeps its output"));
}

TEST_CASE("a message that nobody reads does not hold up the timeout", "[run]") {
  const Workshop shop;
  FullPipe errors(shop.file("errors"));
  REQUIRE(::mkfifo(shop.file("alive").c_str(), 0600) == 0);
  const int alive = ::open(shop.file("alive").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const std::string program = shop.script("a",
                                          "exec 9> $W/alive\n"
                                          "echo no JSON >&$TRIAGE_FD\n"
                                          "echo ready > $W/told\n"
                                          "exec sleep 1000");
  Beside running(
      shop.run_line({"--timeout", "500ms", "--kill-after", "100ms", "--max-attempts", "1"},
                    {program}),
      "/dev/null", shop.file("errors"));
  CHECK(shop.next_word() == "ready");
  pollfd ended{alive, 0, 0};  // POLLHUP: the program has ended.
  CHECK(::poll(&ended, 1, 30'000) == 1);
  ::close(alive);
  const std::string told = errors.read();
  CHECK_THAT(told, ContainsSubstring("triage: a line of the program was skipped"));
  CHECK_THAT(told, ContainsSubstring("attempt 1 failed: timeout"));
  CHECK(running.wait() == 128 + SIGTERM);
}

TEST_CASE("a program that waits for whoever reads its output is not idle", "[run]") {
  const Workshop shop;
  FullPipe output(shop.file("output"));
  const std::string program = shop.script("a", "echo ready > $W/told\nhead -c 300000 /dev/zero");
  Beside running(shop.run_line({"--idle-timeout", "500ms", "--max-attempts", "1"}, {program}),
                 shop.file("output"));
  CHECK(shop.next_word() == "ready");
  REQUIRE(run_program({"/bin/sleep", "1.5"}).status == 0);  // Longer than the limit.
  CHECK(output.read().size() > 300'000);
  CHECK(running.wait() == 0);
}

TEST_CASE("output beyond the limit of a file's size is told, and does not end the supervisor",
          "[run]") {
  const Workshop shop;
  const std::string effect = "'" TRIAGE_COMMAND "' effect k -- head -c 3000000 /dev/zero";
  for (const std::string& prints : {std::string("head -c 3000000 /dev/zero"), effect}) {
    const std::string program = shop.script("a", prints + "\necho done >&2\nexit 0");
    std::vector<std::string> line{"/usr/bin/env", "bash", "-c",
                                  "ulimit -f 1000; \"$@\" > '" + shop.file("out") + "'", "bash"};
    for (const std::string& word : shop.run_line({"--max-attempts", "1"}, {program})) {
      line.push_back(word);
    }
    const Printed printed = run_program(line);
    INFO(printed.error);
    CHECK(printed.status == 9);
    CHECK_THAT(printed.error, ContainsSubstring("done\n") && ContainsSubstring("File too large"));
  }
  // The program itself is ended as it would be without a supervisor.
  const Printed killed =
      run_program({"/usr/bin/env", "bash", "-c",
                   "ulimit -f 1000; exec '" TRIAGE_COMMAND "' run --store '" + shop.store() +
                       "' --max-attempts 1 --quiet -- head -c 3000000 /dev/zero | cat > /dev/null; "
                       "exit ${PIPESTATUS[0]}"});
  CHECK(killed.status == 0);
  const Printed own =
      run_program({"/usr/bin/env", "bash", "-c",
                   "ulimit -f 1000; exec '" TRIAGE_COMMAND "' run --store '" + shop.store() +
                       "' --max-attempts 1 --quiet -- dd if=/dev/zero of='" + shop.file("own") +
                       "' bs=3000000 count=1"});
  CHECK(own.status == 128 + SIGXFSZ);
}
