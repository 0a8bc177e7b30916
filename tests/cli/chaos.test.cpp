// SPDX-License-Identifier: MIT
// triage chaos, run as by a user.
#include "cli/stores.hpp"
#include "support/wait_until.hpp"

#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

std::string file_with(const TempFolder& folder, const char* name, const std::string& text) {
  const std::string path = folder.file(name);
  std::ofstream(path) << text;
  return path;
}

// A shell's function that sends these lines to the proxy and reads the first one of the answer.
const std::string ask = R"(ask() {
    exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}
    printf '%s\r\n\r\n' "$1" >&3
    read -r line <&3; echo "$line"; line=; exec 3>&-
  }
)";

// Z: it has ended, and nobody has asked yet how.
bool is_alive(const std::string& pid) {
  const std::string stat = read_text("/proc/" + pid + "/stat");
  return !stat.empty() && stat.find(") Z ") == std::string::npos;
}

}  // namespace

TEST_CASE("chaos ends with the status of the program, and tells it where the proxy is", "[cli]") {
  const Printed printed =
      triage_command({"chaos", "--", "sh", "-c", "echo $HTTP_PROXY $https_proxy; exit 7"});
  CHECK(printed.status == 7);
  CHECK_THAT(printed.out, ContainsSubstring("http://127.0.0.1:"));
  CHECK_THAT(printed.error, ContainsSubstring("chaos: 0 faults in 0 requests, seed 1"));
  const Printed based = triage_command({"chaos", "--upstream", "http://127.0.0.1:9", "--variable",
                                        "API_URL", "--", "sh", "-c", "echo $API_URL"});
  CHECK(based.status == 0);
  CHECK_THAT(based.out, ContainsSubstring("http://127.0.0.1:"));
  const Printed deeper =
      triage_command({"chaos", "--upstream", "http://127.0.0.1:9/v1", "--variable", "API_URL", "--",
                      "sh", "-c", "echo $API_URL"});
  CHECK_THAT(deeper.out,
             ContainsSubstring("http://127.0.0.1:") && Catch::Matchers::EndsWith("/v1\n"));
}

TEST_CASE("the faults that a program met are written down, and happen again", "[cli]") {
  const TempFolder folder;
  const std::string mix = file_with(folder, "mix.json", R"({"faults": [
      {"fault": "fails", "site": "nobody.invalid", "rate": 0.5, "types": ["external_fault", "access_denied"]},
      {"fault": "throws", "at": [3]}]})");
  const std::string faults = folder.file("faults.json");
  // Without a fault, the proxy contacts a host that does not exist.
  const char* const ten_requests = R"(for i in 1 2 3 4 5 6 7 8 9 10; do
      exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}
      printf 'GET http://nobody.invalid/ HTTP/1.1\r\n\r\n' >&3
      read -r line <&3; echo "$line"; line=; exec 3>&-
    done 2>/dev/null)";
  const Printed first = triage_command(
      {"chaos", "--seed", "5", "--mix", mix, "--record", faults, "--", "bash", "-c", ten_requests});
  CHECK(first.status == 0);
  CHECK_THAT(first.out,
             ContainsSubstring("502 Bad Gateway") && ContainsSubstring("401 Unauthorized"));
  CHECK_THAT(first.error, ContainsSubstring(" faults in 10 requests, seed 5") &&
                              ContainsSubstring("nobody.invalid"));
  const Printed second =
      triage_command({"chaos", "--replay", faults, "--", "bash", "-c", ten_requests});
  CHECK(second.out == first.out);
}

TEST_CASE("chaos says which file, which key and what is allowed", "[cli]") {
  const TempFolder folder;
  const std::string mix =
      file_with(folder, "mix.json", R"({"faults": [{"fault": "fails", "rate": 1.5}]})");
  const Printed wrong = triage_command({"chaos", "--mix", mix, "--", "true"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.error,
             ContainsSubstring("mix.json\": .faults[0].rate is 1.5; allowed is 0 to 1"));
  const Printed absent = triage_command({"chaos", "--mix", folder.file("no.json"), "--", "true"});
  CHECK(absent.status == 1);
  CHECK_THAT(absent.error, ContainsSubstring("no.json"));
  const std::string broken = file_with(folder, "broken.json", "{");
  CHECK_THAT(triage_command({"chaos", "--replay", broken, "--", "true"}).error,
             ContainsSubstring("broken.json\" is not JSON"));
  CHECK(triage_command({"chaos", "--", "/no/such/program"}).status == 127);
  CHECK(triage_command({"chaos", "--", folder.path().string()}).status == 126);
  CHECK(triage_command({"chaos", "--rate", "2", "--", "true"}).status == 2);
  CHECK(triage_command({"chaos", "--upstream", "ftp://x", "--", "true"}).status == 2);
  for (const char* timeout : {"0s", "25h", "soon"}) {
    CHECK(triage_command({"chaos", "--timeout", timeout, "--", "true"}).status == 2);
  }
}

TEST_CASE("chaos refuses a mix of faults that no request can meet", "[cli]") {
  const TempFolder folder;
  const std::string none = file_with(folder, "none.json", R"({"faults": []})");
  const Printed empty = triage_command({"chaos", "--mix", none, "--", "true"});
  CHECK(empty.status == 2);
  CHECK_THAT(empty.error, ContainsSubstring("none.json\": .faults is empty"));
  const std::string outage =
      file_with(folder, "outage.json", R"({"faults": [{"fault": "store_outage"}]})");
  CHECK_THAT(triage_command({"chaos", "--mix", outage, "--", "true"}).error,
             ContainsSubstring("outage.json\": .faults[0].fault is store_outage"));
}

TEST_CASE("chaos does not run anything if it could not write down what happens", "[cli]") {
  const TempFolder folder;
  const std::string made = folder.file("made");
  const Printed printed =
      triage_command({"chaos", "--record", "/proc/none/faults.json", "--", "touch", made});
  CHECK(printed.status == 9);
  CHECK_THAT(printed.error, ContainsSubstring("faults.json\" cannot be written"));
  CHECK_FALSE(std::ifstream(made).good());
}

TEST_CASE("a schedule is not lost to a mistake, nor to its own replay", "[cli]") {
  const TempFolder folder;
  const std::string schedule = file_with(
      folder, "s.json", R"([{"place": "h/GET /", "visit": 1, "fault": "throws", "draw": 1}])");
  const std::string before = read_text(schedule);
  const std::string broken = file_with(folder, "broken.json", "{");
  CHECK(triage_command({"chaos", "--record", schedule, "--mix", broken, "--", "true"}).status == 2);
  CHECK(read_text(schedule) == before);
  CHECK(triage_command({"chaos", "--record", schedule, "--", "/no/such/program"}).status == 127);
  CHECK(read_text(schedule) == before);
  CHECK(triage_command({"chaos", "--record", schedule, "--replay", schedule, "--", "cp", schedule,
                        folder.file("seen.json")})
            .status == 0);
  CHECK(read_text(folder.file("seen.json")) == before);
}

TEST_CASE("a request to end reaches the program, and what happened is told", "[cli]") {
  const TempFolder folder;
  const std::string faults = folder.file("faults.json");
  for (const std::string signal : {"TERM", "HUP"}) {
    const Printed printed = triage_command(
        {"chaos", "--record", faults, "--", "sh", "-c",
         "trap 'exit 9' " + signal + "; kill -" + signal + " $PPID; sleep 5 & wait; exit 3"});
    INFO(signal);
    CHECK(printed.status == 9);
    CHECK_THAT(printed.error, ContainsSubstring("chaos: 0 faults in 0 requests"));
    CHECK(read_text(faults) == "[]\n");
  }
}

TEST_CASE("a kill reaches a program that is behind a shell", "[cli]") {
  const TempFolder folder;
  const std::string mix = file_with(folder, "mix.json", R"({"faults": [{"fault": "kill"}]})");
  const std::string agent = folder.file("agent");
  const std::string script = file_with(
      folder, "agent.sh",
      "echo $$ >" + agent + "\n" + ask + "ask 'GET http://x.invalid/ HTTP/1.1'\nsleep 30\n");
  const Printed printed =
      triage_command({"chaos", "--mix", mix, "--", "sh", "-c", "bash " + script + "; true"});
  CHECK(printed.status == 137);
  CHECK_THAT(printed.error, ContainsSubstring("chaos: 1 fault in 1 request"));
  std::string pid = read_text(agent);
  REQUIRE_FALSE(pid.empty());
  pid.pop_back();
  CHECK(wait_until([&] { return !is_alive(pid); }));
}

TEST_CASE("chaos counts the requests that it could not pass on", "[cli]") {
  const Printed printed = triage_command(
      {"chaos", "--rate", "0", "--", "bash", "-c", ask + "ask hello; ask 'GET / HTTP/1.1'"});
  CHECK(printed.out == "HTTP/1.1 400 Bad Request\r\nHTTP/1.1 400 Bad Request\r\n");
  CHECK_THAT(printed.error, ContainsSubstring("chaos: 0 faults in 0 requests, seed 1\n"
                                              "triage: chaos: 2 more requests could not be read"));
}
