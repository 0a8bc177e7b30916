// SPDX-License-Identifier: MIT
#pragma once
// A place to try `triage workflow run`.

#include "support/program.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace triage::test {

// A folder with a file, a store, and the commands' output.
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
    Printed printed = run_program(all);
    printed.error = told(printed.error);
    return printed;
  }
  // How often a command that adds a line to this file was run.
  [[nodiscard]] std::size_t lines(const std::string& name) const {
    const std::string text = read_text(file(name));
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

 private:
  // The lines of JSON on standard error, as shown to people.
  static std::string told(const std::string& lines) {
    std::string text;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const Json event = Json::parse(line, nullptr, false);
      const bool is_event = event.is_object() && event.contains("message");
      text += (is_event ? "triage: " + event["message"].get<std::string>() : line) + "\n";
    }
    return text;
  }

  TempFolder folder_{};
};

}  // namespace triage::test
