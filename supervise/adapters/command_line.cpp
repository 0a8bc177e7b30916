// SPDX-License-Identifier: MIT
#include "supervise/adapters/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

bool is_one_of(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The program's position after others that start it; 0 if its name does not occur.
std::size_t place_of_program(const Adapter& adapter, const Words& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (is_one_of(adapter.programs, std::filesystem::path(command[i]).filename().string())) {
      return i;
    }
  }
  return 0;
}

}  // namespace

std::string filled(std::string text, const std::string& name, const std::string& value) {
  const std::string mark = "{" + name + "}";
  for (std::size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
  return text;
}

CommandLine::CommandLine(const Adapter& adapter, Words command) : adapter_(adapter) {
  take_apart(place_of_program(adapter, command), command);
  fits_ = fits_ && (adapter.command.needs.empty() || has_any(adapter.command.needs));
  find_prompt();
}

void CommandLine::take_apart(std::size_t program, const Words& command) {
  const CommandRule& rule = adapter_.command;
  std::string open;      // The option whose values are being read.
  bool many = false;     // It takes more than one.
  bool literal = false;  // After "--".
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& text = command[i];
    if (i <= program) {
      words_.push_back({Word::Kind::program, text, ""});
    } else if (!literal && text.size() > 1 && text.front() == '-') {
      literal = text == "--";
      const std::size_t equals = text.find('=');
      const std::string name = text.substr(0, equals);
      words_.push_back({Word::Kind::option, text, name});
      const bool takes = !literal && equals == std::string::npos;
      many = takes && is_one_of(rule.lists, name);
      open = takes && (many || is_one_of(rule.values, name)) ? name : "";
    } else if (!open.empty()) {
      words_.push_back({Word::Kind::value, text, open});
      if (!many) open.clear();
    } else {
      words_.push_back({Word::Kind::positional, text, ""});
    }
  }
}

void CommandLine::find_prompt() {
  const CommandRule& rule = adapter_.command;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i].kind == Word::Kind::positional) places.push_back(i);
  }
  if (!rule.subcommands.empty()) {
    if (places.empty() || !is_one_of(rule.subcommands, words_[places.front()].text)) {
      fits_ = false;
      return;
    }
    words_[places.front()].kind = Word::Kind::program;
    places.erase(places.begin());
    if (!places.empty() && is_one_of(rule.others, words_[places.front()].text)) {
      certain_ = false;
      return;
    }
    if (!rule.nested.empty() && !places.empty() && words_[places.front()].text == rule.nested) {
      // "resume SESSION PROMPT": the session argument belongs to the subcommand.
      for (int left = has_any(rule.newest) ? 1 : 2; left > 0 && !places.empty(); --left) {
        words_[places.front()].kind = Word::Kind::nested;
        places.erase(places.begin());
      }
    }
  }
  if (places.empty()) return;
  for (const std::size_t place : places) {
    if (is_one_of(rule.prompt_after, words_[place - 1].text)) {
      prompt_ = place;
      // The other ones would be read otherwise without the "--".
      certain_ = places.size() == 1 || !has_any({"--"});
      return;
    }
  }
  certain_ = places.size() == 1;
  if (certain_) prompt_ = places.front();
}

bool CommandLine::has_any(const std::vector<std::string>& options) const {
  return std::any_of(options.begin(), options.end(), [this](const std::string& option) {
    const std::size_t space = option.find(' ');
    const std::string name = option.substr(0, space);
    const std::string value = space == std::string::npos ? "" : option.substr(space + 1);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Word& word = words_[i];
      if (word.kind != Word::Kind::option || word.option != name) continue;
      if (value.empty() || word.text == name + "=" + value) return true;
      if (i + 1 < words_.size() && words_[i + 1].text == value) return true;
    }
    return false;
  });
}

bool CommandLine::fits() const { return fits_; }

std::optional<std::string> CommandLine::prompt() const {
  return prompt_ ? std::optional(words_[*prompt_].text) : std::nullopt;
}

std::optional<Words> CommandLine::resumed(const std::string& session,
                                          const std::string& text) const {
  if (!certain_ || !fits_ || !adapter_.resume) return std::nullopt;
  const ResumeRule& rule = *adapter_.resume;
  // Values of options that the adapter does not know. They stay in their places, and so does the
  // prompt, which must be the first word that is none.
  const bool others = std::count_if(words_.begin(), words_.end(), [](const Word& word) {
                        return word.kind == Word::Kind::positional;
                      }) > (prompt_ ? 1 : 0);
  Words words;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const Word& word = words_[i];
    const bool dropped = (i == prompt_ && !others) || word.kind == Word::Kind::nested ||
                         (!word.option.empty() && is_one_of(rule.without, word.option)) ||
                         word.text == "--";
    if (!dropped) words.push_back(i == prompt_ ? text : word.text);
  }
  for (const std::string& argument : rule.arguments) {
    if (others && argument == "{prompt}") continue;
    words.push_back(filled(filled(argument, "session", session), "prompt", text));
  }
  return words;
}

Words CommandLine::without(const std::vector<std::string>& options) const {
  Words words;
  for (const Word& word : words_) {
    if (word.option.empty() || !is_one_of(options, word.option)) words.push_back(word.text);
  }
  return words;
}

std::optional<Words> CommandLine::with_prompt(const std::string& text) const {
  if (!prompt_ || !fits_) return std::nullopt;
  Words words;
  for (const Word& word : words_) words.push_back(word.text);
  words[*prompt_] = text;
  return words;
}

Words CommandLine::with_options(const Words& options, const std::string& name,
                                const std::string& value) const {
  Words words;
  std::size_t place = 0;  // After the program and its subcommand.
  for (const Word& word : words_) {
    if (!word.option.empty() && is_one_of(options, word.option)) continue;
    words.push_back(word.text);
    if (word.kind == Word::Kind::program) place = words.size();
  }
  for (const std::string& option : options) {
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(place++), filled(option, name, value));
  }
  return words;
}

}  // namespace triage::inline v0_1::supervise
