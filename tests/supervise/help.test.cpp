// SPDX-License-Identifier: MIT
// What every command has: examples in its help that work, a manual page, completions, and errors as
// JSON on request.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <map>
#include <sstream>

using namespace triage;
using namespace triage::test;

namespace {

// All commands except mere groups.
std::vector<std::string> all_commands() {
  const std::string script = run_program({TRIAGE_COMMAND, "completion", "bash"}).out;
  const std::size_t begin = script.find("known='|") + 8;
  std::istringstream names(script.substr(begin, script.find('\'', begin) - begin));
  std::vector<std::string> all;
  for (std::string name; std::getline(names, name, '|');) {
    if (!name.empty()) all.push_back(name);
  }
  std::vector<std::string> leaves;
  std::copy_if(all.begin(), all.end(), std::back_inserter(leaves), [&](const std::string& one) {
    return std::none_of(all.begin(), all.end(),
                        [&](const std::string& other) { return other.rfind(one + " ", 0) == 0; });
  });
  return leaves;
}

std::vector<std::string> command_line(const std::string& command,
                                      const std::vector<std::string>& more) {
  std::vector<std::string> words{TRIAGE_COMMAND};
  std::istringstream names(command);
  for (std::string name; names >> name;) words.push_back(name);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string help_of(const std::string& command) {
  return run_program(command_line(command, {"--help"})).out;
}

// The lines after "Example: ", with continuations joined.
std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> found;
  const std::size_t at = help.find("Example: ");
  if (at == std::string::npos) return found;
  std::istringstream lines(help.substr(at + 9));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const std::string text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (text.rfind("-- ", 0) == 0 && !found.empty()) {
      found.back() += " " + text;
    } else {
      found.push_back(text);
    }
  }
  return found;
}

std::string replaced(std::string text, const std::map<std::string, std::string>& by) {
  for (const auto& [what, with] : by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size())) {
      text.replace(at, what.size(), with);
    }
  }
  return text;
}

// A folder with everything that the examples name.
class Desk {
 public:
  Desk() {
    const std::string files = R"sh(
mkdir bin state data data/failures examples
ln -s "$TRIAGE" bin/triage
cat > nightly.sh <<'END'
#!/bin/sh
case "$1" in --all|--small-pages) exit 0;; esac
triage step plan
[ "$(triage state get page)" = 7 ] && exit 0
triage state set page=3
triage checkpoint label planned
[ -n "$TRIAGE_RECOVERY" ] && grep -q 'called users' "$TRIAGE_RECOVERY" && exit 0
triage step lookup --tool lookup --error "no such table: usrs"
echo "HTTP 404 no such table: usrs" >&2; exit 1
END
printf '#!/bin/sh\nexit 0\n' | tee agent.py by_hand.sh send_mail.sh > /dev/null
chmod +x *.sh *.py
echo '{"default": {"strategy": "retry", "max_attempts": 5}}' > patient.yaml
echo '{"default": "suspend"}' > suspend.json
cat > news.yaml <<'END'
workflow: news
agents: {searcher: {command: [sh, -c, 'cat > seen; echo 1']}}
inputs: {topic: tea}
tasks:
  - {id: search, description: Search., assignee: searcher}
  - {id: write, description: Write., assignee: searcher, depends_on: [search]}
END
echo '{"said": "edited"}' > found.json
for origin in a b c d e f; do
  echo "{\"text\": \"peer $origin reset the connection\", \"origin\": \"$origin\", \"label\": \"external_fault\", \"kind\": \"written\"}"
  echo "{\"text\": \"the request to $origin timed out\", \"origin\": \"$origin\", \"label\": \"timeout\", \"kind\": \"written\"}"
  echo "{\"text\": \"nothing to say of $origin\", \"origin\": \"$origin\", \"label\": \"unknown\", \"kind\": \"written\"}"
done > data/failures/rows.jsonl
echo "old $(printf '0%.0s' $(seq 64))" > old.key
echo "new $(printf '1%.0s' $(seq 64))" > new.key
chmod 600 *.key
triage run --run nightly --max-attempts 1 --quiet -- ./nightly.sh && exit 1
triage workflow run news.yaml --run today --input topic=tea > /dev/null
triage workflow run news.yaml --run news > /dev/null
cp -r "$EXPERIMENTS" examples/experiments
cp -r state as_made; cp nightly.sh as_made
)sh";
    const Printed made = sh(files);
    INFO(made.out << made.error);
    REQUIRE(made.status == 0);
  }

  // line: available as $LINE.
  [[nodiscard]] Printed sh(const std::string& text, const std::string& line = {}) const {
    return run_program(
        {"/usr/bin/env", "-C", folder_.path().string(), "TRIAGE=" TRIAGE_COMMAND, "LINE=" + line,
         "EXPERIMENTS=" TRIAGE_SOURCE_DIR "/examples/experiments",
         "HOME=" + folder_.path().string(), "XDG_STATE_HOME=" + folder_.file("state"),
         "PATH=" + folder_.file("bin") + ":" +
             std::filesystem::path(TRIAGE_COMMAND).parent_path().string() + ":/usr/bin:/bin",
         "timeout", "60", "bash", "-c", text});
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  // The run's newest checkpoint, as a person would choose it.
  [[nodiscard]] std::string checkpoint_of(const std::string& run) const {
    const Json all =
        Json::parse(sh("triage checkpoint list --run " + run + " --json").out, nullptr, false);
    REQUIRE(all.is_object());
    REQUIRE_FALSE(all["checkpoints"].empty());
    return all["checkpoints"].back()["id"];
  }

 private:
  TempFolder folder_{};
};

// Shell commands that must run before a command's examples.
const std::map<std::string, std::string>& preparations() {
  static const std::string id = "01JDZ3K5W8M2N8XQ";
  static const std::string fails = "triage run --run " + id + " --max-attempts 1 -- ./nightly.sh";
  static const std::string waits =
      "triage run --run " + id +
      " --policy suspend.json -- sh -c '[ $TRIAGE_ATTEMPT -gt 1 ] || { echo x; exit 1; }' 2> told; "
      "token=$(grep -o 'decide [^ ]*' told | cut -d' ' -f2)";
  static const std::string doubts =
      "triage run --run " + id +
      " -- sh -c 'triage effect charge:42 -- sh -c \"kill -KILL \\$PPID\"; exit 1'";
  static const std::map<std::string, std::string> all{
      {"cancel", waits},
      {"checkpoint compact", fails},
      {"checkpoint import",
       "rm -f runs.jsonl checkpoints.db runs.db*; triage checkpoint export --out runs.jsonl; "
       "triage checkpoint export --format triage-agent --out old.db"},
      {"checkpoint export", "rm -f runs.jsonl checkpoints.db; cp state/triage/runs.db* ."},
      {"checkpoint rekey",
       "export XDG_STATE_HOME=$PWD/other; TRIAGE_KEY_FILE=old.key triage run -- true"},
      {"decide", waits},
      {"explain", fails},
      {"reissue", waits},
      {"replay", fails},
      {"settle", doubts},
      {"signal send", waits},
      {"train", "triage correct nightly --type timeout"},
      {"worker",
       "printf '#!/bin/sh\\n[ $TRIAGE_ATTEMPT = 1 ] && kill -KILL $PPID && sleep 100\\n"
       "kill -TERM $PPID; exit 0\\n' > nightly.sh; triage run -- ./nightly.sh"}};
  return all;
}

// Commands that talk to their own supervisor.
bool is_helper(const std::string& command) {
  return command == "step" || command == "effect" || command == "checkpoint label" ||
         command.rfind("state ", 0) == 0;
}

}  // namespace

TEST_CASE("every command has examples in its help, and they work as they stand", "[help]") {
  const std::map<std::string, std::string> shown_otherwise{
      {"4f1c…", "$token"},
      {"postgresql://db/triage", "\"$XDG_STATE_HOME/triage/runs.db\""},
      {"redis://localhost", "imported.db"},
      {"man -l -", "grep -q TH"},
      {"--confirm --hint", "--confirm --times 6 --hint"},
      {"--times 50", "--times 6"},
      {"routing.yaml", "routing.yaml --seeds 4"}};
  const Desk desk;
  auto otherwise = shown_otherwise;
  for (const std::string run : {"nightly", "news"}) {
    otherwise[run + "@12"] = desk.checkpoint_of(run);
  }
  for (const std::string& command : all_commands()) {
    const std::vector<std::string> examples = examples_of(help_of(command));
    INFO(command);
    REQUIRE_FALSE(examples.empty());
    const auto found = preparations().find(command);
    const std::string before = found == preparations().end() ? ":" : found->second;
    const std::string work = is_helper(command)
                                 ? "triage run -- bash -c \"triage state set page=1; $LINE\""
                                 : "eval \"$LINE\"";
    for (const std::string& example : examples) {
      INFO(example);
      const Printed printed =
          desk.sh("rm -rf state; cp -r as_made state; cp as_made/nightly.sh .; { " + before +
                      "; } > said 2>&1; " + work,
                  replaced(example, otherwise));
      INFO(printed.out << printed.error << read_text(desk.file("said")));
      CHECK(printed.status == 0);
    }
  }
}

TEST_CASE("every help says once what the exit statuses mean", "[help]") {
  std::vector<std::string> commands = all_commands();
  commands.insert(commands.end(), {"", "checkpoint", "workflow"});
  for (const std::string& command : commands) {
    const std::string help = help_of(command);
    INFO(command);
    const std::size_t at = help.find("Exit status: ");
    CHECK(at != std::string::npos);
    CHECK(help.rfind("Exit status: ") == at);
  }
}

TEST_CASE("every command that knows --json tells its errors as JSON, too", "[help]") {
  const TempFolder folder;
  for (const std::string& command : all_commands()) {
    const std::string help = help_of(command);
    if (help.find("--json") == std::string::npos) continue;
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--json", "--nonsense"},
          std::vector<std::string>{"--json", "--store", folder.file("none.db"), "no-such-run"}}) {
      if (command == "worker" && wrong.size() > 2) continue;  // It would wait for work.
      const Printed printed = run_program(command_line(command, wrong));
      INFO(command << ": " << printed.out << printed.error);
      if (printed.status == 0) continue;  // It has created the store, or there is nothing to list.
      const Json line = Json::parse(printed.error, nullptr, false);
      REQUIRE(line.is_object());
      CHECK(line["event"] == "error");
      CHECK(line["exit_status"] == printed.status);
      CHECK(line["code"].is_string());
      CHECK_FALSE(line["message"].get<std::string>().empty());
    }
  }
}

// Newer versions of CLI11 refuse any other: no command would start at all.
TEST_CASE("every argument without a dash has a name of one word in capitals", "[help]") {
  std::size_t seen = 0;
  for (const std::string& command : all_commands()) {
    const std::string help = help_of(command);
    const std::size_t at = help.find("Positionals:\n");
    if (at == std::string::npos) continue;
    std::istringstream lines(help.substr(at + 13));
    for (std::string line; std::getline(lines, line) && !line.empty();) {
      if (line.starts_with("   ")) continue;  // Says more about the one before.
      INFO(command << ": " << line);
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      CHECK(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos);
      CHECK_FALSE(name.empty());
      ++seen;
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("manual pages and completions are well-formed, and have every command and option",
          "[help]") {
  const TempFolder folder;
  REQUIRE(run_program({TRIAGE_COMMAND, "man", "--into", folder.path().string()}).status == 0);
  const auto has = [](const std::string& program) {
    return run_program({"/bin/sh", "-c", "command -v " + program}).status == 0;
  };
  for (const std::string& command : all_commands()) {
    std::string name = "triage-" + command;
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string page = folder.file(name + ".1");
    INFO(page);
    REQUIRE(std::filesystem::exists(page));
    CHECK_THAT(read_text(page), ContainsSubstring("Example:"));
    if (!has("groff")) continue;
    const Printed set = run_program({"/usr/bin/env", "groff", "-man", "-Tutf8", "-ww", "-z", page});
    CHECK(set.error == "");
  }
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = run_program({TRIAGE_COMMAND, "completion", shell}).out;
    std::ofstream(folder.file(shell)) << script;
    for (const std::string& command : all_commands()) {
      const std::string last = command.substr(command.rfind(' ') + 1);
      CHECK_THAT(script, ContainsSubstring(last));
    }
    if (!has(shell)) {
      WARN(shell << " is not installed");
      continue;
    }
    const Printed read = run_program({"/usr/bin/env", shell, "-n", folder.file(shell)});
    CHECK(read.status == 0);
    CHECK(read.error == "");
  }
}

TEST_CASE("zsh and fish complete a command that was begun", "[help]") {
  const TempFolder folder;
  const std::map<std::string, std::string> completes{
      {"zsh",
       "zmodload zsh/zpty; zpty z 'TERM=dumb zsh -f -i'\n"
       "zpty -w z \"autoload -U compinit; compinit -u -D; source $S; PS1='REA''DY'\"\n"
       "zpty -r -m z line '*READY*'; zpty -w -n z $'triage checkpoint dif\\t'\n"
       "zpty -r -m z line '*checkpoint diff*' && print diff"},
      {"fish", "source $S; complete -C 'triage checkpoint di' | string split -f 1 \\t"}};
  for (const auto& [shell, script] : completes) {
    if (run_program({"/bin/sh", "-c", "command -v " + shell}).status != 0) {
      WARN(shell << " is not installed");
      continue;
    }
    const std::string file = folder.file(shell);
    std::ofstream(file) << run_program({TRIAGE_COMMAND, "completion", shell}).out;
    const Printed completed =
        run_program({"/usr/bin/env", "S=" + file, "HOME=" + folder.path().string(), "timeout", "60",
                     shell, "-c", script});
    INFO(shell << ": " << completed.error);
    CHECK(completed.out == "diff\n");
  }
}

TEST_CASE("no line of a help is wider than 80 characters", "[help]") {
  std::vector<std::string> commands = all_commands();
  commands.insert(commands.end(), {"", "checkpoint", "workflow"});
  for (const std::string& command : commands) {
    const std::string help = help_of(command);
    INFO(command);
    REQUIRE(!help.empty());
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      const auto characters = std::count_if(line.begin(), line.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
      });
      INFO(line);
      CHECK(characters <= 80);
    }
  }
  CHECK_THAT(
      help_of("run"),
      ContainsSubstring("\n  --session TEXT:{auto,resume,fresh}\n                              "
                        "Whether the program goes on with its own session\n                "
                        "              after a failure: auto"));
}

TEST_CASE("a value that does not fit is refused with its option and what is allowed", "[help]") {
  const Workshop shop;
  const auto said = [&](const std::vector<std::string>& option) {
    const Printed refused = shop.run(option, {"true"});
    CHECK(refused.status == 2);
    return refused.error;
  };
  for (const char* option : {"--timeout", "--idle-timeout", "--kill-after", "--max-wait"}) {
    CHECK_THAT(said({option, "1"}), ContainsSubstring(std::string(option) + ": \"1\" is not") &&
                                        ContainsSubstring("allowed are numbers with a unit"));
  }
  CHECK_THAT(said({"--budget", "tokens=x"}),
             ContainsSubstring("--budget: \"tokens=x\" is not") && ContainsSubstring("allowed is"));
  for (const char* option : {"--memory", "--cpu", "--files", "--max-attempts", "--start-ups"}) {
    CHECK_THAT(said({option, "x"}), ContainsSubstring(std::string(option) + ": Value x not in"));
  }
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"resume", "--due", "--max-wait", "soon"},
                                             {"worker", "--max-wait", "soon"},
                                             {"decide", "token", "retry", "--max-wait", "soon"}}) {
    const Printed refused = shop.triage(line);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring("--max-wait: \"soon\" is not"));
  }
}
