// SPDX-License-Identifier: MIT
#pragma once
// What is known of a program that speaks in events: how to read them, and how to go on with it.

#include "supervise/adapters/condition.hpp"
#include "triage/clock.hpp"
#include "triage/taxonomy.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

// Where a value comes from: a path into the event, or a literal text. Empty: nowhere.
struct Source {
  Path path{};
  std::string literal{};

  [[nodiscard]] bool empty() const noexcept { return path.empty() && literal.empty(); }
  // The value; null where there is none.
  [[nodiscard]] Json in(const Json& event) const;
};

// A call of a tool, its result, or both. What a tool printed is kept, and never classified.
struct StepRule {
  Source id{};  // By which a result finds its call.
  Source tool{};
  Source input{};
  Source output{};
  Source said{};  // What the model said.
  std::vector<Condition> failed{};
};

// An event with which the provider, or the program itself, says what went wrong.
struct FailureRule {
  Source text{};
  Source code{};         // "rate_limit": read like the name of an exception.
  Source http_status{};  // 100 to 599.
  Source resets_at{};    // Seconds or milliseconds since 1970.
  Source retry_after{};  // Seconds.
  std::optional<FailureType> type{};
  std::string reason{};
};

// Paths of numbers, which are added up.
struct UsageRule {
  std::vector<Path> input_tokens{};
  std::vector<Path> output_tokens{};
  std::vector<Path> cost_usd{};
  std::vector<Path> calls{};
};

enum class StreamEnd : std::uint8_t { none, finished, failed };

// What one kind of event means. All rules that fit an event apply, in their order.
struct EventRule {
  std::vector<Condition> when{};
  Path each{};                     // The elements of this array are looked at one by one…
  std::vector<Condition> where{};  // …those that fit.
  Source session{};
  std::optional<StepRule> call{};    // Kept until its result comes.
  std::optional<StepRule> result{};  // Completes the call with the same id.
  std::optional<StepRule> step{};    // Both at once.
  std::optional<FailureRule> failure{};
  std::optional<UsageRule> usage{};
  StreamEnd end = StreamEnd::none;
};

// How the program reads its command line, as far as it must be known to change it.
struct CommandRule {
  std::vector<std::string> needs{};         // One of them, else the program is not read at all.
  std::vector<std::string> subcommands{};   // One of them comes first; empty: there is none.
  std::string nested{};                     // Comes after the subcommand where a session goes on.
  std::vector<std::string> values{};        // Options that are followed by one value…
  std::vector<std::string> lists{};         // …and by values up to the next option.
  std::vector<std::string> prompt_after{};  // The prompt follows one of these, if anything does.
};

struct ResumeRule {
  std::vector<FailureType> after{};      // The session goes on after these, else it begins anew.
  std::vector<std::string> without{};    // Options that are left out, with their values.
  std::vector<std::string> arguments{};  // Come behind what is left; {session} and {prompt}.
  std::string prompt{};                  // May have {hint}.
  std::vector<std::string> lost{};       // Texts that say that there is no such session any more.
};

struct Adapter {
  std::string name{};
  std::vector<std::string> programs{};     // File names of the program.
  std::vector<std::string> events_with{};  // Options without which it prints no events.
  std::vector<std::string> stays_with{};   // Options with which it lives on after its final event.
  std::vector<EventRule> events{};         // Empty: its stream is not read.
  Duration linger{std::chrono::seconds(10)};  // How long it may live after its final event.
  CommandRule command{};
  std::optional<ResumeRule> resume{};
  std::string again{};                      // The prompt of a new beginning; {prompt} and {hint}.
  std::vector<std::string> model_option{};  // {model}: how another model is asked for.
};

}  // namespace triage::inline v0_1::supervise
