// SPDX-License-Identifier: MIT
// What is left of a workflow file's commands when `triage workflow run` is killed, or has ended.
#include "supervise/running.hpp"
#include "triage/json.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

std::vector<std::string> run_line(const std::string& file, const std::string& store) {
  return {TRIAGE_COMMAND, "workflow", "run", file, "--store", store, "--run", "one", "--json"};
}

// Prints whether the process whose number is in a file lives.
std::string look_at(const std::string& file) {
  return "state=$(sed -n 's/^State:.\\(.\\).*/\\1/p' /proc/$(cat $W/" + file +
         ")/status)\ncase $state in ''|X|Z) echo '\"ended\"';; *) echo '\"lives\"';; esac";
}

Json output_of(const Printed& printed) {
  const Json document = Json::parse(printed.out, nullptr, false);
  REQUIRE(document.is_object());
  return document.at("tasks").at(0).at("output");
}

// A folder whose agent "serve" leaves a server running, and whose agent "look" tells whether it
// lives.
struct Served : Workshop {
  Served() {
    script(
        "serve",
        "cat > $W/read\nsetsid sh -c \"echo \\$\\$ > $W/told; exec sleep 1000\" >$W/none 2>&1 &\n"
        "cat $W/told > $W/server; echo 1");
    script("look", "cat > $W/read\n" + look_at("server"));
  }
  ~Served() noexcept(false) {
    std::ifstream in(file("server"));
    pid_t server = 0;
    if (in >> server) ::kill(server, SIGKILL);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
};

}  // namespace

TEST_CASE("what a killed workflow run has left of its commands ends before one begins again",
          "[cli][workflow]") {
  const Workshop shop;
  shop.script("work", "cd; trap '' TERM; setsid sleep 1000 &\necho $! > $W/told; exec sleep 1000");
  shop.script("look", look_at("left"));
  shop.script("agent", "cat > $W/read\nif [ -e $W/left ]; then $W/look; else $W/work; fi");
  const std::string file = shop.file("w.yaml");
  std::ofstream(file) << "workflow: w\nagents: {a: {command: [./agent]}}\n"
                         "tasks: [{id: x, description: d}]\n";
  std::string left;
  {
    Beside killed(run_line(file, shop.store()));
    left = shop.next_word();
    killed.end_with(SIGKILL);
  }
  REQUIRE(lives(left));
  std::ofstream(shop.file("left")) << left << "\n";
  // Another run of that name may be at work, in another store.
  CHECK(output_of(run_program(run_line(file, shop.file("other.db")))) == "lives");
  CHECK(output_of(run_program(run_line(file, shop.store()))) == "ended");
}

TEST_CASE("what a workflow run has left that asked a question stays when it goes on",
          "[cli][workflow]") {
  const Served shop;
  const std::string file = shop.file("w.yaml");
  std::ofstream(file) << "workflow: w\n"
                         "agents: {serve: {command: [./serve]}, look: {command: [./look]}}\n"
                         "start: a\n"
                         "executors: [{id: a, agent: serve}, {id: b, ask: \"Sure?\"},\n"
                         "  {id: c, agent: look}]\n"
                         "edges: [{from: a, to: b}, {from: b, to: c}]\n";
  auto line = run_line(file, shop.store());
  const Json asked = Json::parse(run_program(line).out, nullptr, false);
  REQUIRE(asked.is_object());
  const auto request = asked.at("requests").at(0).at("id").get<std::string>();
  line.insert(line.end(), {"--answer", request + "=true"});
  const Json done = Json::parse(run_program(line).out, nullptr, false);
  REQUIRE(done.is_object());
  CHECK(done.at("outputs").at(0).at("output") == "lives");
}

TEST_CASE("what a finished workflow run has left stays when its name is used again",
          "[cli][workflow]") {
  const Served shop;
  const std::string file = shop.file("w.yaml");
  const auto run = [&](const std::string& agent) {
    std::ofstream(file) << "workflow: w\nagents: {a: {command: [./" << agent
                        << "]}}\ntasks: [{id: x, description: d}]\n";
    return output_of(run_program(run_line(file, shop.store())));
  };
  CHECK(run("serve") == 1);
  REQUIRE(shop.triage({"checkpoint", "prune", "--keep", "0"}).status == 0);
  CHECK(run("look") == "lives");
}
