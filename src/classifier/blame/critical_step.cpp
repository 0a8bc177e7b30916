// SPDX-License-Identifier: MIT
#include "classifier/blame/critical_step.hpp"

#include "classifier/blame/step_links.hpp"
#include "classifier/blame/talk_blame.hpp"
#include "classifier/text/tokens.hpp"
#include "contract/step_breaches.hpp"
#include "evidence/findings.hpp"
#include "search/find_text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t steps_after_symptom = 4;  // Agents clean up after a failure.
constexpr std::size_t longest_read = 4U << 10U;
constexpr std::size_t longest_text_searched = 64U << 10U;
constexpr std::size_t most_symptom_bytes = 8U << 20U;  // Bytes searched, over all values.
constexpr std::size_t most_lost_keys = 64;
constexpr std::size_t least_large_result = 50'000;  // Bytes; about ten thousand tokens.

// A step, and why it is to blame.
struct Blame {
  std::size_t position = 0;  // In StepLinks::steps().
  const char* why = "";
  bool settled = true;  // False: in a conversation, the wording may overrule it.
};

bool explains_itself(FailureType type) {
  switch (type) {
    case FailureType::external_fault:
    case FailureType::timeout:
    case FailureType::access_denied:
    case FailureType::quota_exhausted:
    case FailureType::refused:
    case FailureType::crashed: return true;
    default: return false;
  }
}

// Text that reports something missing.
bool tells_absence(std::string_view text) {
  constexpr std::array<std::string_view, 8> names{"no such",  "No such", "ENOENT", "KeyError",
                                                  "NotFound", "NoSuch",  "404",    "not_found"};
  for (const std::string_view name : names) {
    if (text.find(name) != std::string_view::npos) return true;
  }
  const Lexicon& lexicon = built_in_lexicon();
  const auto named = [&](Concept meaning, std::string_view name) {
    return meaning != 0 && lexicon.concepts()[meaning] == name;
  };
  std::vector<Token> tokens;
  tokenize_line(text.substr(0, longest_read), lexicon, tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (named(tokens[i].meaning, "no_such") || named(tokens[i].meaning, "missing")) return true;
    if (!named(tokens[i].meaning, "not")) continue;
    for (std::size_t next = i + 1; next < std::min(i + 4, tokens.size()); ++next) {
      if (named(tokens[next].meaning, "exist") || named(tokens[next].meaning, "tool")) return true;
    }
  }
  return false;
}

class Search {
 public:
  Search(const ClassifierInput& input, const Classification& result)
      : input_(input),
        result_(result),
        links_(input.trajectory, input.restored_steps),
        steps_(links_.steps()) {}

  // The step failed, but a later step made up for it or nothing depended on it.
  [[nodiscard]] bool is_harmless(std::size_t index) const {
    if (steps_.empty() || index < steps_.front().index) return false;
    const StepFacts& step = steps_[index - steps_.front().index];
    return step.failed && (step.flaw == Flaw::none || links_.is_aside(step));
  }

  // Returns the step's index in the trajectory instead of its position.
  std::optional<Blame> run() {
    if (steps_.empty()) return std::nullopt;
    find_symptom();
    std::optional<Blame> blame = find();
    if (blame) blame->position = steps_[blame->position].index;
    return blame;
  }

 private:
  [[nodiscard]] static std::string_view error_of(const StepFacts& step) {
    return step.step->error ? std::string_view(*step.step->error) : std::string_view();
  }

  // Finds the step at which the failure showed; none if it showed after the last one.
  void find_symptom() {
    end_ = steps_.size();
    const std::string& text = input_.failure.text;
    for (std::size_t i = steps_.size(); i-- > 0;) {
      if (!steps_[i].failed) continue;
      const std::string_view error = error_of(steps_[i]);
      const bool told = !error.empty() && (text.empty() || tell_the_same(text, error));
      const bool recent = i + steps_after_symptom >= steps_.size();
      if (told || (recent && steps_[i].flaw == Flaw::failed && !links_.is_aside(steps_[i])))
        symptom_ = i;
      told_by_failure_ = told_by_failure_ || (told && !text.empty());
      if (!told && recent) continue;  // An earlier step may report the failure's own text.
      break;
    }
    symptom_text_ = text.substr(0, longest_text_searched);
    if (!symptom_) return;
    symptom_text_ += '\n';
    symptom_text_ += error_of(steps_[*symptom_]).substr(0, longest_text_searched);
    // The first of a series of identical failing calls.
    std::size_t first = *symptom_;
    for (std::size_t i = first; i-- > 0;) {
      const StepFacts& earlier = steps_[i];
      const StepFacts& here = steps_[*symptom_];
      if (!earlier.is_call || earlier.tool != here.tool) continue;
      if (!earlier.failed || earlier.input_hash != here.input_hash) break;
      first = i;
    }
    end_ = first;
    symptom_ = first;
  }

  std::optional<Blame> find() {
    if (auto breach = find_breach()) return breach;
    if (suggests(FailureType::context_overflow)) {
      if (auto largest = find_largest(0)) return largest;
    }
    if (symptom_ && !steps_[*symptom_].hollow && explains_itself(result_.type)) {
      return Blame{*symptom_, ""};
    }
    follow_links();
    if (auto flawed = first_linked()) return flawed;
    if (auto origin = find_origin()) return origin;
    if (needs_cause()) {
      if (auto flawed = first_unlinked()) return unsettled(*flawed);
    }
    if (symptom_) return Blame{*symptom_, "", told_by_failure_};
    if (const auto largest = find_largest(least_large_result)) return unsettled(*largest);
    return std::nullopt;
  }

  static Blame unsettled(Blame blame) {
    blame.settled = false;
    return blame;
  }

  // The type of the classification or, if that is unknown, of strong evidence.
  [[nodiscard]] bool suggests(FailureType type) const {
    if (result_.type != FailureType::unknown) return result_.type == type;
    return std::any_of(result_.evidence.begin(), result_.evidence.end(), [&](const Evidence& one) {
      return one.suggests == type && one.confidence >= 0.5;
    });
  }

  // The first step that broke the contract and was not corrected.
  std::optional<Blame> find_breach() {
    const auto mended = [&](std::size_t position) {
      return steps_[position].failed && steps_[position].flaw == Flaw::none;
    };
    // Steps that were judged as they were recorded were judged by the contract of that time.
    const bool judged = input_.breaches != nullptr;
    std::optional<std::size_t> first;
    for (const Evidence& one : result_.evidence) {
      if (one.source != "contract" || !one.step || *one.step < steps_.front().index) continue;
      const std::size_t position = *one.step - steps_.front().index;
      if (one.suggests == FailureType::unknown) continue;  // It could not be checked.
      const bool wrong_tool = one.suggests == FailureType::wrong_tool_called;
      if (wrong_tool && (!judged || mended(position))) continue;
      if (!first || position < *first) first = position;
    }
    for (std::size_t i = 0; !judged && i < first.value_or(steps_.size()); ++i) {
      if (!steps_[i].is_call || mended(i)) continue;
      if (!in_manifest(*steps_[i].step->tool_called)) first = i;
    }
    if (!first) return std::nullopt;
    return Blame{*first, "it broke the contract", !answered_all_the_same(steps_[*first])};
  }

  // A tool that the manifest does not name was called and answered, and the failure does not
  // mention it.
  [[nodiscard]] bool answered_all_the_same(const StepFacts& step) const {
    if (!step.is_call || step.failed || step.flaw == Flaw::error_like) return false;
    const std::string& name = *step.step->tool_called;
    return !in_manifest(name) && !TextFinder(name).is_in(symptom_text_);
  }

  [[nodiscard]] bool in_manifest(const std::string& name) const {
    return input_.contract == nullptr || input_.contract->tools.empty() ||
           find_tool(*input_.contract, name) != nullptr;
  }

  // The result that takes more room than all others together, and more than `least`.
  std::optional<Blame> find_largest(std::size_t least) {
    std::size_t largest = 0;
    std::size_t total = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const std::size_t size = steps_[i].room;
      total += size;
      if (size <= most) continue;
      most = size;
      largest = i;
    }
    if (2 * most <= total || most <= least) return std::nullopt;
    return Blame{largest, "its result fills the context"};
  }

  // Goes back from the symptom: marks the steps whose results it was made from or should have been
  // made from.
  void follow_links() {
    linked_.assign(steps_.size(), false);
    if (symptom_) {
      want(*symptom_);
    } else {
      for (std::size_t i = steps_.size(); i-- > 0;) {
        if (!steps_[i].hollow) continue;
        end_ = i + 1;  // The first hollow step may itself have returned nothing.
        break;
      }
    }
    for (std::size_t i = end_; i-- > 0;) {
      const StepFacts& step = steps_[i];
      if (!step.is_call) continue;
      const bool last_hollow = !symptom_ && i + 1 == end_ && step.hollow;
      if (linked_[i] || last_hollow || names_taken(step) || owes(step)) {
        linked_[i] = true;
        want(i);
      }
    }
  }

  // Marks where the step's inputs came from, and notes which inputs nothing provided.
  void want(std::size_t position) {
    const StepFacts& step = steps_[position];
    bool lacks = step.hollow;
    for (const StepValue& value : step.taken) {
      for (const std::uint16_t giver : value.givers) linked_[giver] = true;
      if (!value.givers.empty()) continue;
      lacks = true;
      note_lost(value.key);
    }
    for (const std::string_view key : step.hollow_keys) note_lost(key);
    if (!lacks || !step.is_call) return;
    if (std::find(lacking_tools_.begin(), lacking_tools_.end(), step.tool) == lacking_tools_.end())
      lacking_tools_.push_back(step.tool);
  }

  void note_lost(std::string_view key) {
    if (key.empty() || lost_keys_.size() >= most_lost_keys) return;
    if (std::find(lost_keys_.begin(), lost_keys_.end(), key) == lost_keys_.end())
      lost_keys_.push_back(key);
  }

  // Its flawed result should have provided what is missing.
  [[nodiscard]] bool owes(const StepFacts& step) const {
    if (step.flaw == Flaw::none) return false;
    return std::any_of(lost_keys_.begin(), lost_keys_.end(),
                       [&](std::string_view key) { return links_.should_give(step, key); }) ||
           std::any_of(lacking_tools_.begin(), lacking_tools_.end(),
                       [&](std::size_t tool) { return links_.feeds(step.tool, tool); });
  }

  // The failure mentions something that the step worked on.
  bool names_taken(const StepFacts& step) {
    return std::any_of(step.taken.begin(), step.taken.end(),
                       [&](const StepValue& value) { return symptom_names(value); });
  }

  // Each value is searched for in the whole text, so the total work is bounded.
  bool symptom_names(const StepValue& value) {
    const std::size_t cost = value.text.size() + symptom_text_.size();
    if (value.text.empty() || cost > bytes_left_) return false;
    bytes_left_ -= cost;
    return TextFinder(value.text).is_in(symptom_text_);
  }

  static Blame flawed(const StepFacts& step, std::size_t position) {
    switch (step.flaw) {
      case Flaw::failed: return {position, "it failed, and nothing made up for it"};
      case Flaw::error_like: return {position, "its result tells of an error"};
      case Flaw::empty: return {position, "its result is empty"};
      default: return {position, "its result lacks what the others have"};
    }
  }

  // The first flawed step that the symptom was made from; if its own input was hollow, the flawed
  // step just before it.
  std::optional<Blame> first_linked() {
    for (std::size_t i = 0; i < end_; ++i) {
      if (steps_[i].flaw == Flaw::none || !linked_[i]) continue;
      std::size_t found = i;
      for (std::size_t before = i; steps_[i].hollow && before-- > 0;) {
        const StepFacts& step = steps_[before];
        if (step.flaw == Flaw::none || links_.is_aside(step)) continue;
        found = before;
        if (!step.hollow) break;
      }
      return flawed(steps_[found], found);
    }
    return std::nullopt;
  }

  // The first flawed step, preferring those that use earlier results. An empty result only counts
  // if a later step's input is hollow, or at the very end.
  std::optional<Blame> first_unlinked() {
    std::size_t last_hollow = 0;
    std::size_t last_call = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].hollow) last_hollow = i;
      if (steps_[i].is_call && !links_.is_aside(steps_[i])) last_call = i;
    }
    for (const bool fed : {true, false}) {
      for (std::size_t i = 0; i < end_; ++i) {
        const StepFacts& step = steps_[i];
        if (step.flaw == Flaw::none || links_.is_aside(step)) continue;
        if (step.flaw == Flaw::empty && i > last_hollow && i != last_call) continue;
        if (fed && !links_.is_fed(step)) continue;
        return flawed(step, i);
      }
    }
    return std::nullopt;
  }

  // The step that first named what the failure says does not exist.
  std::optional<Blame> find_origin() {
    if (!tells_absence(symptom_text_)) return std::nullopt;
    bytes_left_ = most_symptom_bytes;
    for (std::size_t i = 0; i < end_; ++i) {
      for (const StepValue& value : steps_[i].given) {
        if (value.text.size() > 128) continue;
        if (symptom_names(value)) return Blame{i, "it named what does not exist"};
      }
    }
    return std::nullopt;
  }

  // No step shows the failure, or something was already missing at the one that does.
  [[nodiscard]] bool needs_cause() const {
    if (!symptom_) return true;
    const StepFacts& symptom = steps_[*symptom_];
    return symptom.hollow ||
           std::any_of(symptom.taken.begin(), symptom.taken.end(),
                       [](const StepValue& value) { return value.givers.empty(); });
  }

  const ClassifierInput& input_;
  const Classification& result_;
  StepLinks links_;
  const std::vector<StepFacts>& steps_;
  std::optional<std::size_t> symptom_{};
  bool told_by_failure_ = false;  // The failure repeats a step's error.
  std::size_t end_ = 0;           // Causes are before it.
  std::string symptom_text_{};
  std::size_t bytes_left_ = most_symptom_bytes;
  std::vector<bool> linked_{};
  std::vector<std::string_view> lost_keys_{};
  std::vector<std::size_t> lacking_tools_{};
};

}  // namespace

void blame_step(const ClassifierInput& input, Classification& result) {
  if (!result.loop_steps.empty() || input.trajectory.size() <= input.restored_steps) return;
  Search search(input, result);
  const auto found = search.run();
  const bool settled = found ? found->settled : explains_itself(result.type);
  if (!settled && guess_step(input, result)) return;
  if (!found) {
    if (result.critical_step && search.is_harmless(*result.critical_step)) {
      result.critical_step.reset();
    }
    return;
  }
  result.critical_step = found->position;
  if (*found->why == '\0') return;
  result.evidence.push_back(
      {.source = "critical_step",
       .detail = "Step " + std::to_string(found->position) + " is to blame: " + found->why,
       .step = found->position});
}

}  // namespace triage::inline v0_1::detail
