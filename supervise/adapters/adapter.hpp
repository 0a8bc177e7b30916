// SPDX-License-Identifier: MIT
#pragma once
// Describes a program that prints events: how to read them, and how to resume it.

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
  // The value; null if there is none.
  [[nodiscard]] Json in(const Json& event) const;
};

// A tool call, its result, or both. What a tool printed is kept, but never classified.
struct StepRule {
  Source id{};  // Links a result to its call.
  Source tool{};
  Source input{};
  Source output{};
  Source said{};  // The model's output.
  std::vector<Condition> failed{};
};

// An event in which the provider or the program itself reports a failure.
struct FailureRule {
  Source text{};
  Source code{};         // Such as "rate_limit"; read like an exception's name.
  Source http_status{};  // 100 to 599.
  Source resets_at{};    // Seconds or milliseconds since 1970.
  Source retry_after{};  // Seconds.
  std::optional<FailureType> type{};
  std::string reason{};
};

// Paths of numbers to be added up; "*" means every element.
struct UsageRule {
  // What an event tells as the total so far, not as its own share.
  struct RunningTotals {
    bool input_tokens = false;
    bool output_tokens = false;
    bool cost_usd = false;
  };
  std::vector<Path> input_tokens{};
  std::vector<Path> output_tokens{};
  std::vector<Path> cost_usd{};
  std::vector<Path> calls{};
  RunningTotals totals{};
};

enum class StreamEnd : std::uint8_t { none, finished, failed };

// The meaning of one kind of event. All rules that match an event apply, in order.
struct EventRule {
  std::vector<Condition> when{};
  Path each{};                     // Looks at each element of this array …
  std::vector<Condition> where{};  // … that matches.
  Source session{};
  std::optional<StepRule> call{};    // Kept until its result comes.
  std::optional<StepRule> result{};  // Completes the call with the same id.
  std::optional<StepRule> step{};    // Both at once.
  std::optional<FailureRule> failure{};
  std::optional<UsageRule> usage{};
  Path busy{};  // A list of what still runs in the background; empty: nothing.
  StreamEnd end = StreamEnd::none;
};

// How the program parses its command line, as far as needed to change it.
struct CommandRule {
  std::vector<std::string> needs{};         // At least one, or the program is not read at all.
  std::vector<std::string> subcommands{};   // One of them comes first; empty: none.
  std::vector<std::string> others{};        // Words in its place that make it something else.
  std::string nested{};                     // After the subcommand when a session is resumed.
  std::vector<std::string> newest{};        // Options with which no session follows `nested`.
  std::vector<std::string> values{};        // Options with one value …
  std::vector<std::string> lists{};         // … and options with values up to the next option.
  std::vector<std::string> prompt_after{};  // The prompt follows one of these, if any.
};

struct ResumeRule {
  std::vector<FailureType> after{};      // Failures after which the session resumes.
  std::vector<std::string> unless{};     // Options with which no session is kept.
  std::vector<std::string> without{};    // Options to leave out, with their values.
  std::vector<std::string> arguments{};  // Appended to the rest; {session} and {prompt}.
  std::string prompt{};                  // May contain {hint}.
  std::vector<std::string> lost{};       // Texts that mean that the session no longer exists.
};

struct Adapter {
  std::string name{};
  std::vector<std::string> programs{};        // File names of the program.
  std::vector<std::string> events_with{};     // Options without which it prints no events.
  std::vector<std::string> stays_with{};      // Options that keep it alive after its final event.
  std::vector<EventRule> events{};            // Empty: its stream is not read.
  Duration linger{std::chrono::seconds(10)};  // Its silence after its final event that ends it …
  Duration linger_busy{std::chrono::minutes(15)};  // … and while something runs in the background.
  CommandRule command{};
  std::optional<ResumeRule> resume{};
  std::string again{};                       // The prompt of a restart; {prompt} and {hint}.
  std::vector<std::string> again_without{};  // Options that a restart leaves out.
  std::vector<std::string> model_option{};   // {model}: how to select another model.
};

}  // namespace triage::inline v0_1::supervise
