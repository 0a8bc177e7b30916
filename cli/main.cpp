// SPDX-License-Identifier: MIT
// The `triage` command; the table below lists its subcommands.

#include "arguments/open_store.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/json.hpp"
#include "triage/version.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>

using namespace triage;
using namespace triage::cli;

namespace {

struct Group {
  const char* name;
  const char* help;
};
constexpr std::array groups{
    Group{"checkpoint", "Inspect the runs and checkpoints in a store."},
    Group{"signal", "Answer runs that wait for a signal."},
    Group{"state", "Inside a supervised program: what the next attempt should know."},
    Group{"workflow", "Run many agents, and inspect their runs."},
    Group{"policy", "Check and explain policy documents, in JSON or YAML."},
};
constexpr std::array commands{
    Command{"", "run", "Runs a program and sees it through, whatever goes wrong.", &run},
    Command{"", "resume", "Continues runs whose supervisor died or whose time has come.", &resume},
    Command{"", "worker", "Continues runs that nobody is working on, until it is stopped.",
            &worker},
    Command{"", "runs", "Lists past and current runs.", &runs},
    Command{"", "suspended", "Lists suspended runs and what they wait for.", &suspended},
    Command{"", "decide", "Continues a run that waits for a decision.", &decide},
    Command{"", "reissue", "Gives a run that waits for a decision a new token.", &reissue},
    Command{"signal", "send", "Answers a run that waits for a signal.", &signal_send},
    Command{"", "settle", "Records whether an effect in doubt happened.", &settle},
    Command{"", "cancel", "Ends a run that waits, or whose process died.", &cancel},
    Command{"", "explain", "Explains every decision of a run with its evidence, in sentences.",
            &explain},
    Command{"", "replay", "Shows where another policy would have decided differently.", &replay},
    Command{"", "fork", "Starts a run from a checkpoint of another one.", &cli::fork},
    Command{"", "doctor", "Checks whether the store is sound, and what this machine lacks.",
            &doctor},
    Command{"", "completion", "Prints a completion script for a shell.", &completion},
    Command{"", "man", "Prints the manual page of a command.", &man},
    Command{"", "step", "Inside a supervised program: records a step.", &step},
    Command{"", "effect", "Inside a supervised program: runs a command at most once in the run.",
            &effect},
    Command{"", "hook", "The hook for Claude Code and Codex: guards calls, records results.",
            &hook},
    Command{"state", "get", "Prints the state, or the value of one key.", &state_get},
    Command{"state", "set", "Sets keys of the state.", &state_set},
    Command{"checkpoint", "label", "Inside a supervised program: labels a checkpoint.",
            &checkpoint_label},
    Command{"", "chaos", "Runs a program behind a proxy that fails on purpose, by seed.", &chaos},
    Command{"", "experiment", "Compares policies on a simulated agent, as a file describes it.",
            &experiment},
    Command{"", "classify", "Says why attempts failed: JSON Lines in, JSON Lines out.", &classify},
    Command{"", "correct", "Labels a failure that was classified wrongly.", &correct},
    Command{"", "train", "Fits the text model to labelled failures, and says what that gained.",
            &train},
    Command{"checkpoint", "list", "Lists the runs of a store, or the checkpoints of one run.",
            &checkpoint_list},
    Command{"checkpoint", "diff", "Shows how two checkpoints differ.", &checkpoint_diff},
    Command{"checkpoint", "show",
            "Shows a run or a checkpoint: state, steps, failures, decisions, effects, result.",
            &checkpoint_show},
    Command{"checkpoint", "tree",
            "Shows a workflow's run with its branches, and what became of each executor.",
            &checkpoint_tree},
    Command{"workflow", "run", "Runs the tasks of a file, or continues them.", &workflow_run},
    Command{"workflow", "show", "Shows how far a run of a workflow has come, and what happened.",
            &workflow_show},
    Command{"checkpoint", "compact", "Merges the old checkpoints of a run.", &checkpoint_compact},
    Command{"checkpoint", "rekey", "Re-encrypts a store with another key.", &checkpoint_rekey},
    Command{"checkpoint", "prune", "Removes old runs.", &checkpoint_prune},
    Command{"checkpoint", "release", "Takes a run away from an owner that hangs or is gone.",
            &checkpoint_release},
    Command{"checkpoint", "export", "Writes runs as JSON Lines, for another store.",
            &checkpoint_export},
    Command{"checkpoint", "import", "Imports what `checkpoint export` wrote, all of it or nothing.",
            &checkpoint_import},
    Command{"checkpoint", "verify", "Reads everything and reports what is damaged or missing.",
            &checkpoint_verify},
    Command{"policy", "check", "Reads a policy document and explains what is wrong with it.",
            &policy_check},
    Command{"policy", "show", "Prints what would be done about each kind of failure.",
            &policy_show},
};

// "checkpoint list", or "classify" for a command without a group.
std::string full_name(const Command& command) {
  return command.group + std::string(*command.group == '\0' ? "" : " ") + command.name;
}

// The commands of a group, one per line; of all groups by default.
std::string known_commands(std::string_view group = {}) {
  std::string known;
  for (const Command& command : commands) {
    if (!group.empty() && group != command.group) continue;
    std::string name = full_name(command);
    name.resize(std::max<std::size_t>(name.size(), 20), ' ');
    known += "\n  " + name + "  " + command.help;
  }
  return known;
}

// "; did you mean "checkpoint list"?", or nothing. `given` may include an argument.
std::string meant_command(std::string_view given) {
  const std::string_view first_word = given.substr(0, given.find(' '));
  std::vector<std::string> alone;
  std::vector<std::string> grouped;
  for (const Command& command : commands) {
    (*command.group == '\0' ? alone : grouped).push_back(full_name(command));
  }
  const std::string meant = detail::meant_name(given, grouped);
  return meant.empty() ? detail::meant_name(first_word, alone) : meant;
}

// For a missing or misspelt command, CLI11 only says that one is required.
Result<void> check_names(int argc, char** argv) {
  std::string given;
  for (int i = 1; i < 3; ++i) {
    if (i < argc && *argv[i] == '-') {
      const auto is_given = [&given](const auto& one) { return given == one.name; };
      if (i == 1 || std::any_of(groups.begin(), groups.end(), is_given)) return outcome::success();
      break;  // An option of a command without a group.
    }
    if (i < argc) given += std::string(given.empty() ? "" : " ") + argv[i];
  }
  for (const Command& command : commands) {
    const std::string name = full_name(command);
    if (given == name || (*command.group == '\0' && given.starts_with(name + " "))) {
      return outcome::success();
    }
  }
  for (const Group& group : groups) {
    if (given != group.name) continue;
    return Error{
        Errc::invalid_argument,
        "behind \"" + given + "\" a command is missing; there are" + known_commands(group.name)};
  }
  if (given.empty()) {
    return Error{Errc::invalid_argument, "a command is missing; there are" + known_commands()};
  }
  // A list of all would hide what was probably meant.
  const std::string meant = meant_command(given);
  return Error{Errc::invalid_argument,
               "there is no command \"" + printable(given) + "\"" +
                   (meant.empty() ? "; there are" + known_commands() : meant)};
}

// "; did you mean "--timeout"?", or nothing. given: a word that begins with a dash.
std::string meant_option(const CLI::App& command, std::string_view given) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return detail::meant_name(given.substr(0, given.find('=')), names);
}

// All commands that open a store take its key in the same way, by environment variable.
void declare_keys(CLI::App& leaf) {
  leaf.add_option_function<std::string>(
          "--key-file",
          [](const std::string& file) { ::setenv(key_file_variable, file.c_str(), 1); },
          "The store is encrypted with the key in this file (ID and 64 hexadecimal digits, mode "
          "0600). Default: $TRIAGE_KEY_FILE; older keys: $TRIAGE_OLD_KEY_FILES.")
      ->check(not_empty());
}

// Whether its options are asked for: to declare those of all commands takes longer than most
// commands take to run.
bool is_meant(const Command& command, std::span<char* const> words) {
  const auto word = [words](std::size_t at) {
    return at < words.size() ? std::string_view(words[at]) : std::string_view();
  };
  if (word(1) == "completion" || word(1) == "man") return true;  // They tell of all.
  if (*command.group == '\0') return word(1) == command.name;
  return word(1) == command.group && word(2) == command.name;
}

// The help of every command says what its exit statuses mean, perhaps in words of its own.
void tell_exit_status(CLI::App& command) {
  std::string footer = command.get_footer();
  if (footer.find("Exit status:") != std::string::npos) return;
  if (!footer.empty()) footer += "\n\n";
  command.footer(footer + exit_status_help());
}

void add_commands(CLI::App& app, std::string_view group, std::span<char* const> words,
                  std::function<ExitStatus()>& chosen) {
  for (const Command& command : commands) {
    if (group != command.group) continue;
    CLI::App* leaf = app.add_subcommand(command.name, command.help);
    if (!is_meant(command, words)) continue;
    auto work = command.prepare(*leaf);
    tell_exit_status(*leaf);
    if (leaf->get_option_no_throw("--store") != nullptr) declare_keys(*leaf);
    leaf->callback([&chosen, work = std::move(work)] { chosen = work; });
  }
}

// If one of the three is closed, a file opened later gets its number: perhaps a store, into which a
// program's output would be written. A placeholder that fails in the same way prevents that.
bool hold_standard_files() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    if (::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY) != number) return false;
  }
  return true;
}

// The words for the parser, in reverse order. It only accepts a command after -- if an argument is
// still missing, which is not so for fork and replay.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const bool optional = words.front() == "fork" || words.front() == "replay";
  if (dashes != words.end() && optional) {
    for (auto word = dashes + 1; word != words.end(); ++word) {
      word->insert(0, behind_dashes);
    }
    words.erase(dashes);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// Which words of the line nothing took. If an option is among them, only the options: the others
// may be its value and CMD. CLI11 itself tells only of those that it kept outermost.
std::string unexpected_words(const CLI::App& app, std::span<char* const> line) {
  const CLI::App* command = &app;
  std::vector<std::string> words = app.remaining();
  for (auto within = app.get_subcommands(); !within.empty(); within = command->get_subcommands()) {
    command = within.front();
    const std::vector<std::string> inner = command->remaining();
    words.insert(words.begin(), inner.begin(), inner.end());
  }
  std::erase(words, "--");
  const auto dashes = std::find(line.begin(), line.end(), std::string_view("--"));
  std::vector<std::string> options;
  std::copy_if(words.begin(), words.end(), std::back_inserter(options), [&](const auto& word) {
    return word.starts_with('-') && std::find(line.begin(), dashes, word) != dashes;
  });
  if (!options.empty()) words = options;
  std::string text = words.size() == 1 ? "The following argument was not expected:"
                                       : "The following arguments were not expected:";
  for (const std::string& word : words) text += " " + word;
  return options.size() == 1 ? text + meant_option(*command, options.front()) : text;
}

std::string what_was_wrong(const CLI::ParseError& error, const CLI::App& app,
                           std::span<char* const> line) {
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  return extras ? unexpected_words(app, line) : error.what();
}

// Programs that call hooks read status 2 as "block this call"; a usage error must not block it.
bool is_hook(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "hook"; }

int run_command(int argc, char** argv) {
  if (const auto named = check_names(argc, argv); !named) {
    return static_cast<int>(report(named.error()));
  }
  CLI::App app{
      "Finds out why agents fail; looks at what those wrapped with triage did, and at their "
      "policies.",
      "triage"};
  app.set_version_flag("--version", "triage " TRIAGE_VERSION_STRING);
  app.require_subcommand(1);
  tell_exit_status(app);
  std::function<ExitStatus()> chosen;
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  add_commands(app, "", words, chosen);
  for (const Group& group : groups) {
    CLI::App* sub = app.add_subcommand(group.name, group.help);
    sub->require_subcommand(1);
    tell_exit_status(*sub);
    add_commands(*sub, group.name, words, chosen);
  }
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
      print(folded_help(app.help()));
      return 0;
    }
    if (error.get_exit_code() == 0) return app.exit(error);  // Prints the version.
    const bool hooked = is_hook(argc, argv);
    const ExitStatus status = hooked ? ExitStatus::not_found : ExitStatus::misuse;
    const std::string wrong = what_was_wrong(error, app, words);
    if (asked_for_json()) {
      tell_error(to_string(Errc::invalid_argument), wrong, status);
    } else {
      std::fprintf(stderr, "%s\nRun with --help for more information.\n", printable(wrong).c_str());
    }
    return static_cast<int>(status);
  }
  return static_cast<int>(chosen());
}

}  // namespace

int main(int argc, char** argv) {
  if (!hold_standard_files()) return static_cast<int>(ExitStatus::failed);
  std::signal(SIGCHLD, SIG_DFL);  // If a caller ignores it, nobody learns how a child has ended.
  asked_for_json({argv, static_cast<std::size_t>(argc)});
  try {
    const int status = run_command(argc, argv);
    if (is_hook(argc, argv)) return status;  // It has seen to its output itself.
    const auto written = flush_output();
    if (written) return status;
    const ExitStatus failed = report(written.error());
    return status == 0 ? static_cast<int>(failed) : status;
  } catch (const std::exception& error) {  // Out of memory, for example.
    report({Errc::io, error.what()});
    return static_cast<int>(is_hook(argc, argv) ? ExitStatus::not_found : ExitStatus::failed);
  }
}
