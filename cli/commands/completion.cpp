// SPDX-License-Identifier: MIT
// triage completion: completes commands and their options, for three shells.

#include "arguments/command_tree.hpp"
#include "command.hpp"
#include "render/output.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace triage::inline v0_1::cli {
namespace {

// Escaped for a shell's single quotes, on one line.
std::string quoted(std::string text) {
  std::string safe = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      safe += "'\\''";
    } else {
      safe += letter == '\n' ? ' ' : letter;
    }
  }
  return safe + "'";
}

std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* one : commands_of(app)) words += one->get_name() + " ";
  for (const CLI::Option* one : options_for(app)) words += dashed(*one) + " ";
  if (!words.empty()) words.pop_back();
  return words;
}

// Words after -- belong to another program's command.
std::string for_bash(const CLI::App& root) {
  std::string cases;
  std::string paths;
  for_each_command(root, "", [&](const CLI::App& app, const std::string& path) {
    cases += "    " + quoted(path) + ") words=" + quoted(words_of(app)) + " ;;\n";
    paths += "|" + path;
  });
  return "# Completion of triage in bash. To use it: source <(triage completion bash)\n"
         "_triage() {\n"
         "  local path='' next words i known=" +
         quoted(paths + "|") +
         "\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    [[ ${COMP_WORDS[i]} == -- ]] && { COMPREPLY=($(compgen -f -- \"$2\")); return; }\n"
         "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    [[ $known == *\"|$next|\"* ]] && path=$next\n"
         "  done\n"
         "  case $path in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$2\"))\n"
         "  [[ $path && $2 != -* ]] && COMPREPLY+=($(compgen -f -- \"$2\"))\n"
         "  return 0\n"
         "}\n"
         "complete -o filenames -F _triage triage\n";
}

std::string for_zsh(const CLI::App& root) {
  return "#compdef triage\n"
         "# Completion of triage in zsh. To use it: source <(triage completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         for_bash(root);
}

// Under which words in front of the cursor fish offers what stands behind `path`. A name of a
// command may also be one of a group's: `run` and `workflow run`.
std::string fish_condition(const CLI::App& root, const CLI::App& app, const std::string& path) {
  if (path.empty()) return "__fish_use_subcommand";
  const std::string seen = "__fish_seen_subcommand_from ";
  const auto not_seen = [&seen](const std::string& names) {
    return names.empty() ? "" : "; and not " + seen + names;
  };
  std::string names;
  if (const std::size_t space = path.find(' '); space != std::string::npos) {
    return seen + path.substr(0, space) + "; and " + seen + path.substr(space + 1);
  }
  if (const auto own = commands_of(app); !own.empty()) {
    for (const CLI::App* one : own) names += (names.empty() ? "" : " ") + one->get_name();
    return seen + path + not_seen(names);
  }
  for (const CLI::App* group : commands_of(root)) {
    const auto own = commands_of(*group);
    const bool has = std::any_of(own.begin(), own.end(),
                                 [&path](const CLI::App* one) { return one->get_name() == path; });
    if (has) names += (names.empty() ? "" : " ") + group->get_name();
  }
  return seen + path + not_seen(names);
}

std::string for_fish(const CLI::App& root) {
  std::string script =
      "# Completion of triage in fish. To use it: triage completion fish | source\n";
  for_each_command(root, "", [&](const CLI::App& app, const std::string& path) {
    const std::string line = "complete -c triage -n " + quoted(fish_condition(root, app, path));
    for (const CLI::App* one : commands_of(app)) {
      script += line + " -f -a " + one->get_name() + " -d " + quoted(one->get_description()) + "\n";
    }
    for (const CLI::Option* one : options_for(app)) {
      script += line + " -l " + one->get_lnames().front() + (takes_value(*one) ? " -r" : "") +
                " -d " + quoted(one->get_description()) + "\n";
    }
  });
  return script;
}

}  // namespace

std::function<ExitStatus()> completion(CLI::App& arguments) {
  auto shell = std::make_shared<std::string>();
  arguments.add_option("SHELL", *shell, "bash, zsh or fish.")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  arguments.footer("Example: source <(triage completion bash)");
  return [shell, &arguments] {
    const CLI::App& root = root_of(arguments);
    print(*shell == "bash" ? for_bash(root) : *shell == "zsh" ? for_zsh(root) : for_fish(root));
    return ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
