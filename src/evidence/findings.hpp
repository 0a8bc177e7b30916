// SPDX-License-Identifier: MIT
#pragma once
// What the parts of the rules classifier hand to its decision. Private.

#include "evidence/authority.hpp"
#include "triage/classifier.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// From the surest to the weakest.
enum class FindingKind : std::uint8_t { fact, contract, code, exception_type, text };
inline constexpr std::size_t finding_kind_count = 5;

// Who reports a code or an exception's type; of two that differ the earlier one is believed.
enum class Teller : std::uint8_t {
  failure,
  cause,
  step,
  envelope,  // A status that only says that the code inside is an error. It decides nothing.
};

struct Finding {
  FindingKind kind = FindingKind::text;
  std::string_view reason{};  // Of static lifetime.
  Evidence evidence{};
  bool named_in_text = false;  // Nobody reported it: a text says so.
  Teller teller = Teller::failure;
};

// A text as it is read, and where it was found: without the escapes, envelopes, logs and traces
// that it came in.
struct PlainText {
  const char* original = nullptr;
  std::string text{};
};

// Everything that one classification finds out, before it decides.
struct Findings {
  std::vector<Finding> list{};
  std::vector<Evidence> notes{};  // Worth telling, suggesting nothing.
  std::optional<std::size_t> critical_step{};
  std::vector<std::size_t> loop_steps{};
  // What takes the place of the loop's first step if a code is believed rather than the loop.
  std::optional<std::size_t> failed_step{};
  bool loop_is_guess = false;  // No results say that the turns were the same, or they only failed.
  std::optional<Duration> wait_in_text{};
  Authority authority{};
  // The status that the text states, where nobody reported a code. It decides only what the words
  // may not: a text without any number says its type as well as one that has it.
  std::optional<Finding> stated{};
  std::vector<PlainText> plain{};  // Of the texts that came in something.

  // What is read of a text of the failure or of the failed step.
  [[nodiscard]] std::string_view plain_of(std::string_view text) const noexcept {
    for (const PlainText& known : plain) {
      if (known.original == text.data()) return known.text;
    }
    return text;
  }
};

// Deadline, loops, repetition after a rollback: what the library knows itself.
void find_facts(const ClassifierInput& input, const RulesOptions& options, Findings& findings);
// Everything that breaks the contract.
void find_breaches(const ClassifierInput& input, Findings& findings);
// Codes, exception types and phrases of the failure, its causes and the newest steps.
void find_hints(const ClassifierInput& input, Findings& findings);
// What the text model says of a failure.
struct ModelOpinion {
  FailureType type = FailureType::unknown;  // What it dares to say.
  FailureType likeliest = FailureType::unknown;
  double confidence = 0.0;    // Of the likeliest type; calibrated.
  std::size_t words = 1'000;  // Of the failure and its causes; 0: it knew codes and names only.
};

// The type that codes, exception types and phrases suggest together; unknown if they are too weak,
// or contradict each other.
[[nodiscard]] FailureType rules_say(const Findings& findings);

// True if a reported code means one thing only, and no other of its rank another one.
[[nodiscard]] bool has_precise_code(const Findings& findings);
// Whether what the model says of the end of a long text is the failure: the rules say it, too, and
// what needs another recovery than a retry has to stand in the last line alone.
[[nodiscard]] bool may_say_by_ending(FailureType model, FailureType rules, bool last_line) noexcept;

// Weighs the findings. Moves them into the result as evidence, the deciding ones first.
[[nodiscard]] Classification decide(Findings findings);
// The same with the model, which has read the hints among the findings already: sure facts and
// breaches of the contract decide, then the model where the reported codes let words say so, then
// codes that mean one thing only. One that a text only names says nothing if the model takes the
// text, which is more than a few words, for unknown. The reported type of an exception is as good
// as a code where there is no text and no such code.
[[nodiscard]] Classification decide(Findings findings, const ModelOpinion& opinion);

// True if anything in the step says that it failed.
[[nodiscard]] bool step_failed(const Step& step) noexcept;
// The newest failed step among the newest 1,024 that no rollback restored.
[[nodiscard]] std::optional<std::size_t> last_failed_step(const ClassifierInput& input);
// The newest step, among the newest_steps_read, that called a tool, and in which a model said
// something: beside calls of tools it often says nothing.
[[nodiscard]] std::optional<std::size_t> newest_call(const ClassifierInput& input);
[[nodiscard]] std::optional<std::size_t> newest_output(const ClassifierInput& input);

}  // namespace triage::inline v0_1::detail
