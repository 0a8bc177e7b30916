// SPDX-License-Identifier: MIT
#include "crawl.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>

namespace crawl {
namespace {

template <class Number>
Number number(const std::string& option, const std::string& text, Number least, Number most) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(option + " is \"" + text + "\"; allowed is " +
                                std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

// "http://host:1/a/b.html" → the site "http://host:1" and the path "/a/b.html".
void split_url(const std::string& url, CrawlTask& task) {
  const std::size_t host = url.find("://");
  if (host == std::string::npos || url.compare(0, 4, "http") != 0) {
    throw std::invalid_argument("--start is \"" + url +
                                "\"; allowed is an http:// or https:// URL");
  }
  const std::size_t path = url.find('/', host + 3);
  task.site = url.substr(0, path);
  task.start = path == std::string::npos ? "/" : url.substr(path);
}

}  // namespace

const char* const usage =
    "Usage: crawl_agent --start URL [OPTION VALUE]...\n"
    "  --goal TEXT        What is wanted, in words; quoted in the report\n"
    "  --store URL        what keeps the checkpoints: PATH, redis://HOST, … (default: none)\n"
    "  --run-id ID        Start this run, or continue it, or print its recorded result\n"
    "  --report PATH      Write PATH.md and PATH.json\n"
    "  --pages FOLDER     Save pages here (default: crawl_pages)\n"
    "  --max-pages N      Follow no links beyond so many pages (default: 40)\n"
    "  --max-attempts N   Attempts, the first included (default: 30)\n"
    "  --arm NAME         triage (default), bare, retry, or oracle\n"
    "  --seed N           Of the waits between attempts (default: 1)\n";

Options parse_options(int argc, char** argv) {
  Options options;
  options.task.goal = "Count the words of every page and list the most linked pages.";
  options.task.pages = "crawl_pages";
  std::string start;
  using Setter = std::function<void(const std::string&)>;
  const std::map<std::string, Setter> setters{
      {"--start", [&](const auto& v) { split_url(start = v, options.task); }},
      {"--goal", [&](const auto& v) { options.task.goal = v; }},
      {"--store", [&](const auto& v) { options.store = v; }},
      {"--run-id", [&](const auto& v) { options.run_id = v; }},
      {"--report", [&](const auto& v) { options.report = v; }},
      {"--pages", [&](const auto& v) { options.task.pages = v; }},
      {"--max-pages",
       [&](const auto& v) { options.task.max_pages = number("--max-pages", v, 1, 100'000); }},
      {"--max-attempts",
       [&](const auto& v) { options.max_attempts = number("--max-attempts", v, 1, 1'000'000); }},
      {"--arm", [&](const auto& v) { options.arm = v; }},
      {"--seed",
       [&](const auto& v) {
         options.seed = number("--seed", v, std::uint64_t{0}, ~std::uint64_t{0});
       }},
  };
  for (int i = 1; i < argc; i += 2) {
    const auto setter = setters.find(argv[i]);
    if (setter == setters.end()) {
      throw std::invalid_argument(std::string("unknown option \"") + argv[i] + "\"");
    }
    if (i + 1 == argc) throw std::invalid_argument(std::string(argv[i]) + " needs a value");
    setter->second(argv[i + 1]);
  }
  if (start.empty()) throw std::invalid_argument("--start is missing");
  if (options.arm != "triage" && options.arm != "bare" && options.arm != "retry" &&
      options.arm != "oracle") {
    throw std::invalid_argument("--arm is \"" + options.arm +
                                "\"; allowed are triage, bare, retry and oracle");
  }
  return options;
}

}  // namespace crawl
