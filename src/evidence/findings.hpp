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

// From most to least certain.
enum class FindingKind : std::uint8_t { fact, contract, code, exception_type, text };
inline constexpr std::size_t finding_kind_count = 5;

// Where a code or an exception type was reported; if two differ, the earlier source wins.
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
  bool named_in_text = false;  // Not reported by a program: a text states it.
  Teller teller = Teller::failure;
};

// A text as it is read: without the escapes, envelopes, logs and traces that it came in; `original`
// is where it was found.
struct PlainText {
  const char* original = nullptr;
  std::string text{};
};

// Everything found during one classification, before the decision.
struct Findings {
  std::vector<Finding> list{};
  std::vector<Evidence> notes{};  // Worth reporting, but suggests no type.
  std::optional<std::size_t> critical_step{};
  std::vector<std::size_t> loop_steps{};
  // Replaces the loop's first step if a code is believed rather than the loop.
  std::optional<std::size_t> failed_step{};
  bool loop_is_guess = false;  // No results say that the turns were the same, or they only failed.
  std::optional<Duration> wait_in_text{};
  Authority authority{};
  // The status stated in the text, if no code was reported. It only decides what words may not
  // claim: the text determines its type just as well without the number.
  std::optional<Finding> stated{};
  std::vector<PlainText> plain{};  // Of the texts that were wrapped in something.

  // The readable part of a text of the failure or of the failed step.
  [[nodiscard]] std::string_view plain_of(std::string_view text) const noexcept {
    for (const PlainText& known : plain) {
      if (known.original == text.data()) return known.text;
    }
    return text;
  }
};

// What the library knows itself: deadline, loops, repetition after a rollback.
void find_facts(const ClassifierInput& input, const RulesOptions& options, Findings& findings);
// Everything that breaks the contract.
void find_breaches(const ClassifierInput& input, Findings& findings);
// Codes, exception types and phrases of the failure, its causes and the newest steps.
void find_hints(const ClassifierInput& input, Findings& findings);
// What the text model concludes about a failure.
struct ModelOpinion {
  FailureType type = FailureType::unknown;  // The type it commits to.
  FailureType likeliest = FailureType::unknown;
  double confidence = 0.0;    // Of the most likely type; calibrated.
  std::size_t words = 1'000;  // In the failure and its causes; 0: only codes and names were known.
};

// The type that codes, exception types and phrases suggest together; unknown if they are too weak,
// or contradict each other.
[[nodiscard]] FailureType rules_say(const Findings& findings);

// True if a reported code is unambiguous and no other code of its rank contradicts it.
[[nodiscard]] bool has_precise_code(const Findings& findings);
// Which part of a text is judged by itself because the whole says nothing.
enum class TextEnding { last_line, last_lines, last_line_of_few };
// Whether the model's verdict on the end of a text may stand: the rules must agree. A type that
// needs more than a retry must be evident from the last line of a long text; a message of a few
// lines is usually read as a whole, so its last line may only ask for a retry.
[[nodiscard]] bool may_say_by_ending(FailureType model, FailureType rules, TextEnding of) noexcept;

// Weighs the findings, which become the result's evidence, the decisive ones first.
[[nodiscard]] Classification decide(Findings findings);
// The same with the model, which has already read the hints among the findings. Certain facts and
// breaches of the contract decide first, then the model where the reported codes permit words to,
// then unambiguous codes. A code that only a text states is ignored if the model takes a text of
// more than a few words for unknown. The reported type of an exception counts as a code if there is
// neither a text nor such a code.
[[nodiscard]] Classification decide(Findings findings, const ModelOpinion& opinion);

// True if anything in the step indicates a failure.
[[nodiscard]] bool step_failed(const Step& step) noexcept;
// The newest failed step among the newest 1,024 that no rollback restored.
[[nodiscard]] std::optional<std::size_t> last_failed_step(const ClassifierInput& input);
// The newest steps, among the newest_steps_read, that called a tool and in which a model said
// something: models often say nothing beside tool calls.
[[nodiscard]] std::optional<std::size_t> newest_call(const ClassifierInput& input);
[[nodiscard]] std::optional<std::size_t> newest_output(const ClassifierInput& input);

}  // namespace triage::inline v0_1::detail
