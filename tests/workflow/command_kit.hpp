// SPDX-License-Identifier: MIT
#pragma once
// A place to try `triage workflow run` at.

#include "support/program.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace triage::test {

// A folder with a file, a store, and what the commands leave behind.
class Place {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] Printed run(const std::string& path, std::vector<std::string> more = {}) const {
    std::vector<std::string> all{TRIAGE_COMMAND,  "workflow", "run", path,    "--store",
                                 file("runs.db"), "--run",    "one", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  }
  // How often a command was run that adds a line to this file.
  [[nodiscard]] std::size_t lines(const std::string& name) const {
    const std::string text = read_text(file(name));
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

 private:
  TempFolder folder_{};
};

}  // namespace triage::test
