// SPDX-License-Identifier: MIT
#include "crawl.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

namespace crawl {
namespace {

void write_file(const std::string& path, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  // Renaming makes it all or nothing, also when the process is killed in between.
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + unfinished);
  std::filesystem::rename(unfinished, path);
}

}  // namespace

Report make_report(const std::string& goal, const nlohmann::json& state) {
  Report report{.goal = goal};
  std::map<std::string, int> linked;
  for (const auto& [key, page] : state.items()) {
    if (key.rfind("page:", 0) != 0) continue;
    const std::string url = key.substr(5);
    report.pages.push_back({.url = url, .words = page.at("words")});
    report.words += report.pages.back().words;
    for (const std::string link : page.at("links")) {
      if (link != url) ++linked[link];
    }
  }
  for (PageCount& page : report.pages) page.linked_from = linked[page.url];
  std::stable_sort(
      report.pages.begin(), report.pages.end(),
      [](const PageCount& a, const PageCount& b) { return a.linked_from > b.linked_from; });
  return report;
}

void write_report(const Report& report, const std::string& path) {
  std::string text = "# " + report.goal + "\n\n" + std::to_string(report.pages.size()) +
                     " pages, " + std::to_string(report.words) +
                     " words. The most linked pages first.\n\n"
                     "| page | linked from | words |\n|---|---:|---:|\n";
  for (const PageCount& page : report.pages) {
    text += "| " + page.url + " | " + std::to_string(page.linked_from) + " | " +
            std::to_string(page.words) + " |\n";
  }
  write_file(path + ".md", text);
  const nlohmann::json json(report);
  write_file(path + ".json",
             json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::string page_file(const std::string& folder, const std::string& url) {
  std::string name;
  for (const char c : url) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (plain || !name.empty()) name += plain ? c : '_';
  }
  return (std::filesystem::path(folder) / (name.empty() ? "root" : name)).string();
}

std::string save_page(const std::string& folder, const std::string& url, const std::string& html) {
  std::string file = page_file(folder, url);
  write_file(file, html);
  return file;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace crawl
