// SPDX-License-Identifier: MIT
#pragma once
// Knows the faults in advance: the yardstick for recovery.

#include "http_client.hpp"

#include <map>
#include <string>
#include <vector>

namespace crawl {

// Reads the fault plan of the faulty site. Before a request that would fail it sends one that does
// not matter, waits until the fault has passed, and keeps up with renamed tools.
class Oracle {
 public:
  void clear_the_way(HttpClient& http, const std::string& site);
  // What the site calls this tool now.
  [[nodiscard]] std::string current_name(const std::string& tool) const;

 private:
  struct Fault {
    std::string kind{};
    int milliseconds = 0;
  };

  void read_plan(HttpClient& http, const std::string& site);
  void read_names(HttpClient& http, const std::string& site);

  bool known_ = false;
  long next_ = 1;  // Number of the next request.
  std::map<long, Fault> plan_{};
  std::vector<std::string> names_{};
};

}  // namespace crawl
