// SPDX-License-Identifier: MIT
// triage completion, triage man: what is generated from the table of commands and their options.

#include "command.hpp"
#include "render/output.hpp"
#include "triage/version.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

const CLI::App& root_of(const CLI::App& app) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return *root;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The command's long options, such as "--store" and "--json".
std::vector<const CLI::Option*> options_for(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() && !option->get_group().empty();
  });
}

std::string dashed(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

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

// Calls `each` for every command with its words after "triage"; "" for triage itself.
template <class Each>
void for_each_command(const CLI::App& app, const std::string& path, const Each& each) {
  each(app, path);
  for (const CLI::App* one : commands_of(app)) {
    for_each_command(*one, path + (path.empty() ? "" : " ") + one->get_name(), each);
  }
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

// A character beyond ASCII at `at`, which is moved behind it, as groff(7) writes it: "\\[u2026]".
std::string roff_character(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t more = byte(at) >= 0xF0U ? 3 : byte(at) >= 0xE0U ? 2 : 1;
  unsigned code = byte(at) & (0x3FU >> more);
  for (std::size_t i = 0; i < more && at + 1 < text.size(); ++i)
    code = code << 6U | (byte(++at) & 0x3FU);
  std::array<char, 16> name{};
  std::snprintf(name.data(), name.size(), "\\[u%04X]", code);
  return name.data();
}

// Text for roff: nothing of it is a request or an escape.
std::string roff(const std::string& text) {
  std::string safe;
  bool line_start = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (line_start && (letter == '.' || letter == '\'')) safe += "\\&";
    if (letter == '\\') {
      safe += "\\e";
    } else if (letter == '-') {
      safe += "\\-";
    } else if (static_cast<unsigned char>(letter) >= 0x80U) {
      safe += roff_character(text, at);
    } else {
      safe += letter;
    }
    line_start = letter == '\n';
  }
  return safe;
}

// Source: man-pages(7).
std::string page_of(const CLI::App& app, const std::string& path) {
  std::string title = "triage" + (path.empty() ? "" : " " + path);
  std::string name = title;
  std::replace(name.begin(), name.end(), ' ', '-');
  std::string synopsis = title;
  std::string options;
  for (const CLI::Option* one : options_for(app)) {
    options += ".TP\n\\fB" + roff(dashed(*one)) + "\\fR" +
               (takes_value(*one) ? " \\fI" + roff(one->get_type_name()) + "\\fR" : "") + "\n" +
               roff(one->get_description()) + "\n";
  }
  if (!options.empty()) synopsis += " [OPTIONS]";
  for (const CLI::Option* one :
       app.get_options([](const CLI::Option* option) { return option->get_positional(); })) {
    const std::string word = one->get_name(true);
    synopsis += one->get_required() ? " " + word : " [" + word + "]";
    options += ".TP\n\\fI" + roff(word) + "\\fR\n" + roff(one->get_description()) + "\n";
  }
  std::string commands;
  for (const CLI::App* one : commands_of(app)) {
    commands +=
        ".TP\n\\fB" + roff(one->get_name()) + "\\fR\n" + roff(one->get_description()) + "\n";
  }
  if (!commands.empty()) synopsis += " COMMAND";
  return ".TH \"" + roff(name) + "\" 1 \"\" \"triage " TRIAGE_VERSION_STRING "\"\n.SH NAME\n" +
         roff(name) + " \\- " + roff(app.get_description()) + "\n.SH SYNOPSIS\n" + roff(synopsis) +
         "\n" + (commands.empty() ? "" : ".SH COMMANDS\n" + commands) +
         (options.empty() ? "" : ".SH OPTIONS\n" + options) + ".SH NOTES\n.nf\n" +
         roff(app.get_footer()) + "\n.fi\n";
}

ExitStatus print_page(const CLI::App& root, const std::vector<std::string>& words) {
  std::string path;
  for (const std::string& word : words) path += (path.empty() ? "" : " ") + word;
  std::string page;
  for_each_command(root, "", [&](const CLI::App& app, const std::string& at) {
    if (at == path) page = page_of(app, at);
  });
  if (page.empty()) {
    return report({Errc::not_found, "there is no command \"" + printable(path) + "\""});
  }
  print(page);
  return ExitStatus::done;
}

ExitStatus write_pages(const CLI::App& root, const std::string& folder) {
  bool written = true;
  for_each_command(root, "", [&](const CLI::App& app, const std::string& path) {
    std::string name = "triage" + (path.empty() ? "" : "-" + path);
    std::replace(name.begin(), name.end(), ' ', '-');
    std::ofstream file(folder + "/" + name + ".1");
    file << page_of(app, path);
    file.close();
    written = written && file;
  });
  if (written) return ExitStatus::done;
  return report({Errc::io, "not every page could be written to " + printable(folder)});
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

std::function<ExitStatus()> man(CLI::App& arguments) {
  struct Given {
    std::vector<std::string> words{};
    std::string folder{};
  };
  auto given = std::make_shared<Given>();
  arguments.add_option("COMMAND", given->words, "The command, as in `triage man checkpoint list`.");
  arguments
      .add_option("--into", given->folder,
                  "Writes the pages of all commands into this folder instead.")
      ->check(not_empty());
  arguments.footer("Example: triage man run | man -l -");
  return [given, &arguments] {
    const CLI::App& root = root_of(arguments);
    return given->folder.empty() ? print_page(root, given->words)
                                 : write_pages(root, given->folder);
  };
}

}  // namespace triage::inline v0_1::cli
