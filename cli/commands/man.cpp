// SPDX-License-Identifier: MIT
// triage man: manual pages from the table of commands and their options.

#include "arguments/command_tree.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/version.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

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
  int why = 0;
  for_each_command(root, "", [&](const CLI::App& app, const std::string& path) {
    std::string name = "triage" + (path.empty() ? "" : "-" + path);
    std::replace(name.begin(), name.end(), ' ', '-');
    errno = 0;
    std::ofstream file(folder + "/" + name + ".1");
    file << page_of(app, path);
    file.close();
    if (!file && why == 0) why = errno == 0 ? EIO : errno;
  });
  if (why == 0) return ExitStatus::done;
  return report({Errc::io, "not every page could be written to " + printable(folder) + ": " +
                               std::strerror(why)});
}

}  // namespace

std::function<ExitStatus()> man(CLI::App& arguments) {
  struct Given {
    std::vector<std::string> words{};
    std::string folder{};
  };
  auto given = std::make_shared<Given>();
  arguments.add_option("COMMAND", given->words, "The command, as in `triage man checkpoint list`.");
  arguments
      .add_option("--into", given->folder,
                  "Writes the pages of all commands into this folder, which must exist, instead.")
      ->check(not_empty());
  arguments.footer("Example: triage man run | man -l -");
  return [given, &arguments] {
    const CLI::App& root = root_of(arguments);
    return given->folder.empty() ? print_page(root, given->words)
                                 : write_pages(root, given->folder);
  };
}

}  // namespace triage::inline v0_1::cli
