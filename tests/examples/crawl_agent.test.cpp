// SPDX-License-Identifier: MIT
// The crawl agent as its users run it: in its own process, on a site that fails.
#include "site/faulty_site.hpp"
#include "support/program.hpp"
#include "support/result.hpp"
#include "triage/json.hpp"
#include "triage/stores/sqlite.hpp"

#include <csignal>

using namespace triage;
using namespace triage::test;

namespace {

constexpr int max_pages = 12;

std::vector<std::string> command(const site::FaultySite& server, const TempFolder& folder,
                                 const std::string& arm, const std::string& run) {
  return {CRAWL_AGENT,
          "--start",
          server.url() + "/index.html",
          "--store",
          folder.file("a.db"),
          "--run-id",
          run,
          "--report",
          folder.file(run),
          "--pages",
          folder.file(run + "_pages"),
          "--max-pages",
          std::to_string(max_pages),
          "--arm",
          arm};
}

Json summary_of(const Printed& printed) {
  INFO("status " << printed.status << "\n" << printed.out << printed.error);
  Json summary = Json::parse(printed.out, nullptr, false);
  REQUIRE(summary.is_object());
  return summary;
}

int sent_again(const site::FaultySite& server) {
  int pages = 0;
  for (const auto& [path, times] : server.sent()) pages += times > 1 ? 1 : 0;
  return pages;
}

// Starts the agent and kills it with SIGKILL once it was sent this many pages.
void start_and_kill(const std::vector<std::string>& arguments, const site::FaultySite& server,
                    int after_pages) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  REQUIRE(::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) == 0);
  const bool sent = server.wait_until_sent(after_pages, std::chrono::seconds(60));
  ::kill(pid, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(sent);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("without faults the agent finishes at once and reports every page", "[examples]") {
  const TempFolder folder;
  const site::FaultySite server(site::render_folder(DOCS_FOLDER), 0);
  const Json summary = summary_of(run_program(command(server, folder, "bare", "run")));
  CHECK(summary["finished"] == true);
  CHECK(summary["attempts"] == 1);
  CHECK(server.total_sent() == max_pages);
  const Json report = Json::parse(read_text(folder.file("run.json")));
  REQUIRE(report["pages"].size() == max_pages);
  CHECK(report["pages"][0]["url"] == "/index.html");
  CHECK_THAT(read_text(folder.file("run.md")), ContainsSubstring("| /index.html |"));
}

TEST_CASE("on a failing site the agent finishes with the same report, no page read twice",
          "[examples]") {
  const TempFolder folder;
  const site::Pages pages = site::render_folder(DOCS_FOLDER);
  {
    const site::FaultySite server(pages, 0);
    REQUIRE(run_program(command(server, folder, "bare", "undisturbed")).status == 0);
  }
  int attempts = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    INFO("seed " << seed);
    const std::string run = "seed-" + std::to_string(seed);
    // Many more faults than in the demonstration.
    const site::FaultySite server(pages, seed, 0.15);
    const Json summary = summary_of(run_program(command(server, folder, "triage", run)));
    INFO(show(summary));
    CHECK(summary["finished"] == true);
    CHECK(sent_again(server) == 0);
    CHECK(read_text(folder.file(run + ".json")) == read_text(folder.file("undisturbed.json")));
    attempts += summary["attempts"].get<int>();
  }
  CHECK(attempts > 8);
}

TEST_CASE("a bare agent gives up at the first fault, an oracle meets none", "[examples]") {
  const TempFolder folder;
  const site::Pages pages = site::render_folder(DOCS_FOLDER);
  const site::FaultySite first(pages, 5, 0.2);
  const Printed bare = run_program(command(first, folder, "bare", "bare"));
  CHECK(bare.status == 5);
  CHECK(summary_of(bare)["attempts"] == 1);
  const site::FaultySite second(pages, 5, 0.2);
  const Json oracle = summary_of(run_program(command(second, folder, "oracle", "oracle")));
  CHECK(oracle["finished"] == true);
  CHECK(oracle["failures"].empty());
}

TEST_CASE("an agent killed with SIGKILL goes on where it stood, and nothing is saved twice",
          "[examples]") {
  const site::Pages pages = site::render_folder(DOCS_FOLDER);
  for (const int after : {1, 4, 9}) {
    INFO("killed after " << after << " pages");
    const TempFolder folder;
    const site::FaultySite server(pages, 3);
    const auto arguments = command(server, folder, "triage", "killed");
    start_and_kill(arguments, server, after);
    const Json summary = summary_of(run_program(arguments));
    INFO(show(summary));
    CHECK(summary["finished"] == true);
    CHECK(summary["resumed_at_step"] > 0);
    CHECK(summary["pages"] == max_pages);
    // Only a page that was in transit when the process died.
    CHECK(sent_again(server) <= 1);
    // Asked once more, it answers from its record, without the site.
    const int sent = server.total_sent();
    CHECK(summary_of(run_program(arguments))["attempts"] == 0);
    CHECK(server.total_sent() == sent);
  }
}

TEST_CASE("wrong options of the agent are refused with what is allowed", "[examples]") {
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{
           {"--arm", "magic"}, {"--max-pages", "0"}, {"--start", "ftp://x"}, {"--nonsense", "1"}}) {
    const Printed printed =
        run_program({CRAWL_AGENT, "--start", "http://127.0.0.1:1/", option, value});
    CHECK(printed.status == 2);
    CHECK_THAT(printed.error, ContainsSubstring(option));
  }
}
