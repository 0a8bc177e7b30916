// SPDX-License-Identifier: MIT
#pragma once
// A stand-in for an agent's command line that plays back a recorded stream under `triage run`.
//
// A file of tests/supervise/streams: "# " and what it is about; lines "# expect N: TYPE REASON;
// NEXT" of failed attempts and "# expect end: HOW" of the run; then for each attempt a line "===
// attempt N", what is printed, "!err TEXT" for standard error, and how it ends: "!exit N", "!kill
// SIGNAL",
// "!hang".

#include "supervise/running.hpp"
#include "triage/json.hpp"

#include <map>
#include <sstream>

namespace triage::test {

inline std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Json one = Json::parse(line, nullptr, false);
    if (one.is_object()) all.push_back(std::move(one));
  }
  return all;
}

class Played {
 public:
  // Starts it.
  explicit Played(const std::filesystem::path& file)
      : name_(file.parent_path().filename().string() + "/" + file.stem().string()),
        program_(file.parent_path().filename().string()) {
    read(file);
    shop_.script(program_,
                 "printf '%s\\n' \"$@\" > $W/args.$TRIAGE_ATTEMPT\n"
                 "n=$TRIAGE_ATTEMPT\n"
                 "[ -f $W/$n.err ] && cat $W/$n.err >&2\n"
                 "cat $W/$n.out\n"
                 ". $W/$n.end");
    start();
  }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;

  void wait() {
    printed_.status = running_->wait();
    printed_.out = read_text(shop_.file("out"));
    printed_.error = read_text(shop_.file("error"));
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& about() const { return about_; }
  // By attempt; 0: the end of the run.
  [[nodiscard]] const std::map<int, std::string>& expected() const { return expected_; }
  [[nodiscard]] const Printed& printed() const { return printed_; }
  // The arguments of an attempt, one per line; the prompt may have several lines.
  [[nodiscard]] std::string arguments(int attempt) const {
    return read_text(shop_.file("args." + std::to_string(attempt)));
  }
  [[nodiscard]] std::string first_session() const { return session_; }

 private:
  void read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ofstream out;
    std::string attempt;
    for (std::string line; std::getline(in, line);) {
      if (attempt.empty() && line.starts_with("# expect ")) {
        const std::size_t colon = line.find(": ");
        const std::string key = line.substr(9, colon - 9);
        expected_[key == "end" ? 0 : std::stoi(key)] = line.substr(colon + 2);
      } else if (attempt.empty() && line.starts_with("# ")) {
        about_ = line.substr(2);
      } else if (line.starts_with("=== attempt ")) {
        attempt = line.substr(12);
        out = std::ofstream(shop_.file(attempt + ".out"), std::ios::binary);
      } else if (line.starts_with("!err ")) {
        std::ofstream(shop_.file(attempt + ".err")) << line.substr(5) << '\n';
      } else if (line.starts_with("!exit ")) {
        std::ofstream(shop_.file(attempt + ".end")) << "exit " << line.substr(6) << '\n';
      } else if (line.starts_with("!kill ")) {
        std::ofstream(shop_.file(attempt + ".end")) << "kill -" << line.substr(6) << " $$\n";
      } else if (line == "!hang") {
        std::ofstream(shop_.file(attempt + ".end")) << "exec sleep 1000\n";
      } else {
        note_session(line);
        out << line << '\n';
      }
    }
  }

  void note_session(const std::string& line) {
    const Json event = Json::parse(line, nullptr, false);
    if (!session_.empty() || !event.is_object()) return;
    session_ = event.value("session_id", event.value("thread_id", std::string()));
  }

  // Several are played at once, and leftover processes of a run are identified by its id.
  [[nodiscard]] std::string run_id() const {
    std::string id = name_;
    id[id.find('/')] = '.';
    return id;
  }

  // The shipped adapter, but with short waits for a program that hangs.
  [[nodiscard]] std::string adapter() const {
    std::string text = read_text(std::string(TRIAGE_ADAPTERS) + "/" + program_ + ".yaml");
    const std::size_t at = text.find("linger: 10s");
    if (at != std::string::npos) text.replace(at, 11, "linger: 500ms");
    std::ofstream(shop_.file("adapter.yaml")) << text;
    return shop_.file("adapter.yaml");
  }

  void start() {
    std::vector<std::string> command{shop_.file(program_)};
    const std::map<std::string, std::vector<std::string>> arguments{
        {"claude",
         {"-p", "--output-format", "stream-json", "--verbose", "make the tests pass",
          "--allowedTools", "Bash", "Edit"}},
        {"codex", {"exec", "--json", "-s", "workspace-write", "make the tests pass"}},
        {"generic", {"-q", "make the tests pass"}}};
    const auto& more = arguments.at(program_);
    command.insert(command.end(), more.begin(), more.end());
    running_.emplace(shop_.run_line({"--json", "--run", run_id(), "--adapter", adapter()}, command),
                     shop_.file("out"), shop_.file("error"));
  }

  Workshop shop_{};
  std::string name_;
  std::string program_;
  std::string about_{};
  std::string session_{};
  std::map<int, std::string> expected_{};
  std::optional<Beside> running_{};
  Printed printed_{};
};

}  // namespace triage::test
