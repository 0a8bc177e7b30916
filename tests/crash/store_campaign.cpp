// SPDX-License-Identifier: MIT
// Injects random faults into writers, files and servers of the stores, and checks the invariants
// after each. Usage: store_campaign [--abort] [--minutes M | --rounds N] [--seed S] [--write FILE]
//        store_campaign --races N: sixteen writers race N times each for one run of every store
//        store_campaign --kills N [--seed S]: N writers die by SIGKILL, in turn over the stores
#include "lease_races.hpp"
#include "store_faults.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace triage::test;

struct Options {
  double minutes = 0;
  int rounds = 16;
  int kills = 0;       // More than 0: nothing else.
  bool abort = false;  // At the first violation.
  std::uint64_t seed = 1;
  std::string write{};
};

constexpr const char* begin_mark = "<!-- campaign of the stores: begin -->\n";
constexpr const char* end_mark = "<!-- campaign of the stores: end -->";

// Puts the report between the markers of a document.
bool write_into(const std::string& file, const std::string& account) {
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find(begin_mark);
  const std::size_t end = text.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return false;
  const std::size_t from = begin + std::strlen(begin_mark);
  text.replace(from, end - from, account);
  std::ofstream out(file);
  out << text;
  return out.good();
}

int campaign(const Options& options) {
  using clock = std::chrono::steady_clock;
  const auto began = clock::now();
  const auto until = began + std::chrono::duration_cast<clock::duration>(
                                 std::chrono::duration<double>(options.minutes * 60));
  StoreFaults faults;
  std::uint64_t round = 0;
  const auto more = [&] {
    if (options.abort && faults.violations() > 0) return false;
    return options.minutes > 0 ? clock::now() < until
                               : round < static_cast<std::uint64_t>(options.rounds);
  };
  if (options.kills > 0) faults.kills(options.seed, options.kills);
  for (; options.kills == 0 && more(); ++round) faults.round(options.seed + round);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(clock::now() - began).count();
  const std::string what = options.kills > 0 ? std::to_string(options.kills) + " kills"
                                             : std::to_string(round) + " rounds";
  const std::string account = faults.account() + "\n" + what + " from seed " +
                              std::to_string(options.seed) + " on, " + std::to_string(seconds) +
                              " s; " + std::to_string(faults.violations()) + " violations.\n";
  std::printf("%s", account.c_str());
  if (!options.write.empty() && !write_into(options.write, account)) {
    std::fprintf(stderr, "store_campaign: %s has no place for the account\n",
                 options.write.c_str());
    return 2;
  }
  return faults.violations() == 0 ? 0 : 1;
}

int races(int number) {
  const TempFolder folder;
  const RedisServer redis({"--appendonly", "yes", "--appendfsync", "everysec"});
  const PostgresServer postgres({"fsync=off"});
  std::printf(
      "| store | races | won | stale appends, all refused | wrong | took "
      "|\n|---|---|---|---|---|---|\n");
  int wrong = race_for_leases("SQLite", folder.file("races.db"), number);
  wrong += race_for_leases("JSON files", "file:" + folder.file("races"), number);
  if (redis.ready()) wrong += race_for_leases("Redis", redis.url(), number);
  if (postgres.ready()) wrong += race_for_leases("PostgreSQL", postgres.url(), number);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 8 && words[0] == "write") {
    return write_run({.url = words[1],
                      .run = words[2],
                      .seed = std::stoull(words[3]),
                      .batches = std::stoi(words[4]),
                      .clock = words[5],
                      .file_bytes = std::stoull(words[6]),
                      .far = words[7] == "far"});
  }
  Options options;
  options.abort = !words.empty() && words.front() == "--abort";
  for (std::size_t i = options.abort ? 1 : 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--races") return races(std::stoi(words[i + 1]));
    if (words[i] == "--minutes") options.minutes = std::stod(words[i + 1]);
    if (words[i] == "--kills") options.kills = std::stoi(words[i + 1]);
    if (words[i] == "--rounds") options.rounds = std::stoi(words[i + 1]);
    if (words[i] == "--seed") options.seed = std::stoull(words[i + 1]);
    if (words[i] == "--write") options.write = words[i + 1];
  }
  return campaign(options);
}
