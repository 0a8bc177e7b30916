// SPDX-License-Identifier: MIT
// `--max-wait` of the commands that continue runs: it takes the place of the run's own.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Does `first` in its first attempt; later ones hit a limit that ends in five minutes.
std::string limited_later(const Workshop& shop, const std::string& first) {
  return shop.script("a", "[ $TRIAGE_ATTEMPT = 1 ] && { " + first +
                              "; }\necho HTTP 429, retry after 300 seconds >&2\nexit 1");
}

// The command, unless it takes half a minute: it would wait for five.
Printed bounded(const Workshop& shop, const std::vector<std::string>& words) {
  std::vector<std::string> line{"/usr/bin/timeout", "30", TRIAGE_COMMAND};
  line.insert(line.end(), words.begin(), words.end());
  line.insert(line.end(), {"--max-wait", "1ms", "--store", shop.store()});
  return run_program(line);
}

}  // namespace

TEST_CASE("resume takes another longest wait than the run began with", "[run][max_wait]") {
  const Workshop shop;
  const std::string program = limited_later(shop, "kill -TERM $PPID; exec sleep 1000");
  CHECK(shop.run({"--run", "r"}, {program}).status == 128 + SIGTERM);
  CHECK(bounded(shop, {"resume", "r"}).status == 75);
  // A dead run's, too.
  const std::string dies = limited_later(shop, "kill -KILL $PPID; exec sleep 1000");
  CHECK(shop.run({"--run", "s"}, {dies}).status != 0);
  CHECK(bounded(shop, {"resume", "--all"}).status == 75);
}

TEST_CASE("decide takes another longest wait than the run began with", "[run][max_wait]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json"))
      << R"({"access_denied": {"strategy": "suspend"}, "default": "retry_with_backoff"})";
  const Printed asks = shop.run({"--policy", shop.file("p.json")},
                                {limited_later(shop, "echo HTTP 401 Unauthorized >&2; exit 1")});
  INFO(asks.error);
  REQUIRE(asks.status == 75);
  const std::size_t at = asks.error.find("triage decide ") + 14;
  const std::string token = asks.error.substr(at, asks.error.find(' ', at) - at);
  const Printed decided = bounded(shop, {"decide", token, "retry"});
  INFO(decided.error);
  CHECK(decided.status == 75);
}

TEST_CASE("a branch takes another longest wait than the run it leaves", "[run][max_wait]") {
  const Workshop shop;
  const std::string program =
      limited_later(shop, "[ $TRIAGE_RUN_ID = r ] && exec " TRIAGE_COMMAND " checkpoint label x");
  REQUIRE(shop.run({"--run", "r"}, {program}).status == 0);
  const Json listed =
      Json::parse(shop.triage({"checkpoint", "list", "--run", "r", "--label", "x", "--json"}).out);
  const Printed branch = bounded(shop, {"fork", listed["checkpoints"][0]["id"]});
  INFO(branch.error);
  CHECK(branch.status == 75);
}

TEST_CASE("a worker's longest wait suspends the runs that it takes", "[run][max_wait]") {
  const Workshop shop;
  const std::string dies = limited_later(shop, "kill -KILL $PPID; exec sleep 1000");
  CHECK(shop.run({"--run", "r"}, {dies}).status != 0);
  Beside worker({TRIAGE_COMMAND, "worker", "--store", shop.store(), "--poll", "20ms", "--quiet",
                 "--max-wait", "1ms"});
  std::size_t suspended = 0;
  for (int look = 0; look < 2'000 && suspended == 0; ++look) {
    suspended =
        Json::parse(shop.triage({"runs", "--json", "--status", "suspended"}).out)["runs"].size();
  }
  CHECK(suspended == 1);
  CHECK(worker.end_with(SIGTERM) == 0);
}

TEST_CASE("a program's own sleep is held against the longest wait of who continues it",
          "[run][max_wait]") {
  const Workshop shop;
  if (!has_python()) return;
  std::ofstream(shop.file("a.py")) << R"(
import os, signal, sys, time
sys.path.insert(0, os.environ["CLIENTS"])
from triage_client import Supervisor
if os.environ["TRIAGE_ATTEMPT"] == "1":
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(1000)
Supervisor().sleep_until(time.time() + 300)
)";
  CHECK(shop.run({"--run", "r"},
                 {"env", "CLIENTS=" TRIAGE_SOURCE_DIR "/clients", "python3", shop.file("a.py")})
            .status == 128 + SIGTERM);
  CHECK(bounded(shop, {"resume", "r"}).status == 75);
}
