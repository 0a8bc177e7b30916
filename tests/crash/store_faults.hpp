// SPDX-License-Identifier: MIT
#pragma once
// One round of the store campaign: a writer, faults, and the invariants.

#include "store_writer.hpp"
#include "support/fault_proxy.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "support/temp_folder.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace triage::test {

class Writer;

class StoreFaults {
 public:
  StoreFaults();
  ~StoreFaults();
  StoreFaults(const StoreFaults&) = delete;
  StoreFaults& operator=(const StoreFaults&) = delete;

  // One run in one store, three faults, and an undisturbed end. Everything follows from the seed
  // except the moments at which processes are hit.
  void round(std::uint64_t seed);

  // Kills writers again and again, in turn over the stores; each run is killed 25 times, and then
  // ends undisturbed.
  void kills(std::uint64_t seed, int count);

  // The injected faults with their counts and the violations, as a table in Markdown.
  [[nodiscard]] std::string account() const;
  [[nodiscard]] int violations() const noexcept { return violations_; }

 private:
  struct Case;  // The run of a round, and what is known of it.

  [[nodiscard]] std::vector<std::string> stores() const;
  [[nodiscard]] Case begin(std::uint64_t seed, const std::string& store) const;
  void inject(Case& now, const std::string& fault);
  void kill_writer(Case& now);
  void stop_and_take_over(Case& now);
  void restart_server(Case& now);
  void end_sessions(Case& now);
  void cut_connection(Case& now);
  void fill_disk(Case& now);
  void tear_file(Case& now);
  void write_undisturbed(Case& now);
  bool take(Case& now, const std::string& line);
  bool follow(Case& now, Writer& writer, int batches);
  bool run_to_end(Case& now, Writer& writer);
  void verify(Case& now);
  void violation(const Case& now, const std::string& what);

  TempFolder folder_{};
  std::unique_ptr<RedisServer> redis_{};
  std::unique_ptr<PostgresServer> postgres_{};
  std::map<std::string, std::map<std::string, int>> injected_{};  // By fault and store.
  std::map<std::string, int> found_{};                            // Violations, by fault.
  std::uint64_t records_ = 0;
  std::uint64_t acknowledged_ = 0;
  int takeovers_ = 0;
  int fenced_ = 0;
  int losses_ = 0;
  int violations_ = 0;
};

}  // namespace triage::test
