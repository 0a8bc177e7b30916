// SPDX-License-Identifier: MIT
#pragma once
// What the crawl agent is asked, what it answers, and where it puts things.

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace crawl {

struct CrawlTask {
  std::string site{};   // "http://127.0.0.1:8080"
  std::string start{};  // Path of the first page: "/index.html"
  std::string goal{};   // In words; quoted in the report.
  std::string pages{};  // Folder that pages are saved in.
  int max_pages = 40;   // 1 or more; links beyond it are not followed.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrawlTask, site, start, goal, pages, max_pages)

struct PageCount {
  std::string url{};
  int words = 0;
  int linked_from = 0;  // On how many other pages there is a link to it.

  friend bool operator==(const PageCount&, const PageCount&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PageCount, url, words, linked_from)

struct Report {
  std::string goal{};
  std::vector<PageCount> pages{};  // The most linked ones first.
  int words = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, goal, pages, words)

struct Options {
  CrawlTask task{};
  std::string store{};   // SQLite file; empty: nothing outlives the process.
  std::string report{};  // REPORT.md and REPORT.json are written; empty: none.
  std::string run_id{};  // Empty: a new run.
  std::string arm = "triage";
  std::uint64_t seed = 1;  // Of the waits between attempts.
  int max_attempts = 30;
};

// Throws std::invalid_argument with a text for people.
Options parse_options(int argc, char** argv);
extern const char* const usage;

// The report from the agent's state: its "page:URL" entries.
Report make_report(const std::string& goal, const nlohmann::json& state);
// Writes REPORT.md and REPORT.json. Throws std::runtime_error.
void write_report(const Report& report, const std::string& path);

// Writes a page to its file in the folder, all of it or nothing, and returns the file's name.
// Throws std::runtime_error.
std::string save_page(const std::string& folder, const std::string& url, const std::string& html);
// The file that a page is saved in.
std::string page_file(const std::string& folder, const std::string& url);
// Throws std::runtime_error.
std::string read_file(const std::string& path);

}  // namespace crawl
