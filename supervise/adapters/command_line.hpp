// SPDX-License-Identifier: MIT
#pragma once
// The command line of a program with an adapter: what it requests, and how to resume it.

#include "supervise/adapters/adapter.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

using Words = std::vector<std::string>;

// A command line, parsed as its program would.
class CommandLine {
 public:
  // adapter: must outlive this object. command: the program, possibly after another one that starts
  // it ("env", "npx").
  CommandLine(const Adapter& adapter, Words command);

  // One of these options is given: "--name", or "--name value" with that value.
  [[nodiscard]] bool has_any(const std::vector<std::string>& options) const;
  // The adapter's `needs` and `subcommands` are met: the program will read a prompt and end.
  [[nodiscard]] bool fits() const;
  // The prompt, if it is certain which argument it is.
  [[nodiscard]] std::optional<std::string> prompt() const;

  // The command that resumes a session; empty if the prompt's position is uncertain. text: replaces
  // the prompt.
  [[nodiscard]] std::optional<Words> resumed(const std::string& session,
                                             const std::string& text) const;
  // All of it.
  [[nodiscard]] Words words() const { return without({}); }
  // Without these options and their values.
  [[nodiscard]] Words without(const std::vector<std::string>& options) const;
  // The same with another prompt. Empty as above, or if the prompt is not an argument.
  [[nodiscard]] std::optional<Words> with_prompt(const std::string& text) const;
  // The same with these options replacing those of the same names. {name} in them becomes value.
  [[nodiscard]] Words with_options(const Words& options, const std::string& name,
                                   const std::string& value) const;

 private:
  struct Word {
    enum class Kind : std::uint8_t { program, option, value, positional, nested };
    Kind kind = Kind::program;
    std::string text{};
    std::string option{};  // The option it belongs to.
  };
  void take_apart(std::size_t program, const Words& command);
  void find_prompt();

  const Adapter& adapter_;
  std::vector<Word> words_{};
  bool fits_ = true;
  bool certain_ = true;                  // The prompt's position, or lack of one, is certain.
  std::optional<std::size_t> prompt_{};  // Its place.
};

// The text with {name} replaced.
[[nodiscard]] std::string filled(std::string text, const std::string& name,
                                 const std::string& value);

}  // namespace triage::inline v0_1::supervise
