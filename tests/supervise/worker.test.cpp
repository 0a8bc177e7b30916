// SPDX-License-Identifier: MIT
// Workers: several on one store, their deaths, and their stops.
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <chrono>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> worker_line(const Workshop& shop, std::vector<std::string> rest = {}) {
  std::vector<std::string> all{TRIAGE_COMMAND, "worker", "--store", shop.store(),
                               "--poll",       "20ms",   "--quiet"};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

// The first attempt hits a limit, and the run waits for it to end; then `then` runs.
std::string limited(const Workshop& shop, const std::string& name, const std::string& then) {
  return shop.script(name,
                     "if [ $TRIAGE_ATTEMPT = 1 ]; then\n"
                     "  echo 'HTTP 429 Too Many Requests, retry after 1 seconds' >&2\n"
                     "  exit 1\nfi\n" +
                         then);
}

void begin(const Workshop& shop, const RunId& run, const std::string& program) {
  CHECK(shop.run({"--run", run, "--max-wait", "1ms", "--quiet"}, {program}).status == 75);
}

std::size_t number_of(const Workshop& shop, const std::string& status) {
  const Json runs = Json::parse(shop.triage({"runs", "--json", "--status", status}).out);
  return runs["runs"].size();
}

// Polls until the condition holds; false if it never did.
template <class Condition>
bool comes(const Condition& condition) {
  for (int look = 0; look < 2'000; ++look) {
    if (condition()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("two workers on one store go on with each run once", "[run][worker]") {
  const Workshop shop;
  const std::string program = limited(shop, "a", "echo $TRIAGE_RUN_ID >> $W/ran");
  constexpr std::size_t runs = 12;
  for (std::size_t i = 0; i < runs; ++i) begin(shop, "r" + std::to_string(i), program);
  Beside one(worker_line(shop));
  Beside other(worker_line(shop));
  CHECK(comes([&] { return number_of(shop, "finished") == runs; }));
  CHECK(one.end_with(SIGTERM) == 0);
  CHECK(other.end_with(SIGTERM) == 0);
  const std::string ran = read_text(shop.file("ran"));
  CHECK(std::count(ran.begin(), ran.end(), '\n') == runs);
  for (std::size_t i = 0; i < runs; ++i) {
    CHECK_THAT(ran, ContainsSubstring("r" + std::to_string(i) + "\n"));
  }
}

TEST_CASE("a killed worker's run is taken up by another one", "[run][worker]") {
  const Workshop shop;
  const std::string program =
      limited(shop, "a", "echo $TRIAGE_ATTEMPT > $W/told\n[ -e $W/finish ] || exec sleep 1000");
  begin(shop, "r", program);
  Beside killed(worker_line(shop));
  REQUIRE(shop.next_word() == "2");
  Beside other(worker_line(shop));
  std::ofstream(shop.file("finish")) << "now";
  killed.end_with(SIGKILL);
  const auto then = std::chrono::steady_clock::now();
  CHECK(shop.next_word() == "3");
  CHECK(std::chrono::steady_clock::now() - then < 30s + 1s);  // One lease and a second.
  CHECK(comes([&] { return number_of(shop, "finished") == 1; }));
  CHECK(other.end_with(SIGTERM) == 0);
}

TEST_CASE("a worker ends what another one's attempt left, though it has served the run before",
          "[run][worker]") {
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "case $TRIAGE_ATTEMPT in\n"
                  "1|2) echo $TRIAGE_ATTEMPT >> $W/ran\n"
                  "  echo 'HTTP 429 Too Many Requests, retry after 1 seconds' >&2; exit 1;;\n"
                  "3) setsid sleep 1000 & echo $! > $W/left; echo ready > $W/told; wait;;\n"
                  "*) state=$(sed 's/.*) //;s/ .*//' /proc/$(cat $W/left)/stat 2>/dev/null)\n"
                  "  [ -n \"$state\" ] && [ \"$state\" != Z ] && echo alive > $W/doubled\n"
                  "  echo $TRIAGE_ATTEMPT >> $W/ran;;\nesac");
  begin(shop, "r", program);
  Beside worker(worker_line(shop, {"--max-wait", "1ms"}));
  CHECK(comes([&] {
    return number_of(shop, "suspended") == 1 && read_text(shop.file("ran")) == "1\n2\n";
  }));
  worker.signal(SIGSTOP);
  Beside other({TRIAGE_COMMAND, "resume", "r", "--store", shop.store(), "--max-wait", "1m"});
  CHECK(shop.next_word() == "ready");
  other.end_with(SIGKILL);
  worker.signal(SIGCONT);
  CHECK(comes([&] { return number_of(shop, "finished") == 1; }));
  CHECK(worker.end_with(SIGTERM) == 0);
  CHECK(read_text(shop.file("ran")) == "1\n2\n4\n");
  CHECK_FALSE(std::filesystem::exists(shop.file("doubled")));
}

TEST_CASE("a worker that is stopped lets its run come to its end, and begins no other one",
          "[run][worker]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  const std::string program =
      limited(shop, "a", "echo ready > $W/told\nread word < $W/go\necho $word >> $W/ran");
  begin(shop, "r1", program);
  begin(shop, "r2", program);
  Beside worker(worker_line(shop));
  REQUIRE(shop.next_word() == "ready");
  worker.signal(SIGTERM);
  std::ofstream(shop.file("go")) << "went\n";
  CHECK(worker.wait() == 0);
  CHECK(read_text(shop.file("ran")) == "went\n");
  CHECK(number_of(shop, "finished") == 1);
  CHECK(number_of(shop, "suspended") == 1);
}

TEST_CASE("a second stop ends the run of a worker, which can go on", "[run][worker]") {
  const Workshop shop;
  begin(shop, "r",
        limited(shop, "a",
                "[ $TRIAGE_ATTEMPT = 3 ] && exit 0\necho ready > $W/told\nexec sleep 1000"));
  Beside worker(worker_line(shop));
  REQUIRE(shop.next_word() == "ready");
  worker.signal(SIGTERM);
  CHECK(comes([&] {
    worker.signal(SIGINT);  // Two pending signals of one kind merge into one.
    return number_of(shop, "cancelled") == 1;
  }));
  CHECK(worker.wait() == 0);
  CHECK(shop.triage({"resume", "r"}).status == 0);
}

TEST_CASE("a worker for one command leaves other runs alone, and runs it where it is",
          "[run][worker]") {
  const Workshop shop;
  begin(shop, "a", limited(shop, "other.sh", "exit 1"));  // Due first.
  begin(shop, "b", limited(shop, "mine.sh", "exit 1"));
  std::filesystem::create_directory(shop.file("here"));
  const std::string here = shop.script("here/mine.sh", "echo here >> $W/ran");
  Beside worker(worker_line(shop, {"--", here}));
  CHECK(comes([&] { return number_of(shop, "finished") > 0; }));
  CHECK(worker.end_with(SIGTERM) == 0);
  CHECK(read_text(shop.file("ran")) == "here\n");
  const Json waiting = Json::parse(shop.triage({"runs", "--json", "--status", "suspended"}).out);
  REQUIRE(waiting["runs"].size() == 1);
  CHECK(waiting["runs"][0]["id"] == "a");
}

TEST_CASE("a worker says what is wrong with its options", "[run][worker]") {
  const Workshop shop;
  CHECK(shop.triage({"worker", "--poll", "0s"}).status == 2);
  CHECK(shop.triage({"worker", "--poll", "soon"}).status == 2);
  CHECK(run_program({TRIAGE_COMMAND, "worker", "--store", "redis://127.0.0.1:1"}).status == 9);
}

TEST_CASE("a branch may run another command", "[run]") {
  const Workshop shop;
  const std::string first =
      shop.script("first", "T='" TRIAGE_COMMAND
                           "'\n$T step one && $T state set page=7\n$T checkpoint label here");
  CHECK(shop.run({"--run", "r"}, {first}).status == 0);
  const Json listed = Json::parse(
      shop.triage({"checkpoint", "list", "--run", "r", "--label", "here", "--json"}).out);
  const std::string here = listed["checkpoints"][0]["id"];
  const std::string second =
      shop.script("second",
                  "[ $TRIAGE_ATTEMPT = 1 ] && kill -TERM $PPID && sleep 1000\n"
                  "echo page $('" TRIAGE_COMMAND "' state get page) \"$@\"");
  CHECK(run_program({TRIAGE_COMMAND, "fork", shop.store(), here, "--run", "b", "--", second,
                     "--label", "x"})
            .status == 128 + SIGTERM);
  CHECK(shop.triage({"resume", "b"}).out == "page 7 --label x\n");  // The branch has its own.
  CHECK(run_program({TRIAGE_COMMAND, "fork", shop.store(), here, "--", "no-such-program"}).status ==
        127);
  CHECK(shop.triage({"fork", here}).status == 0);
}
