// SPDX-License-Identifier: MIT
// The default classifier: the rules' findings, weighed by the text model.
#include "classifier/blame/critical_step.hpp"
#include "classifier/classify.hpp"
#include "classifier/text/text_model.hpp"
#include "classifier/undress/ending.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

namespace triage::inline v0_1 {
namespace {

// Buffers reused between classifications, one for each that runs at the same time.
class InputPool {
 public:
  std::unique_ptr<detail::ModelInput> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<detail::ModelInput>();
    auto input = std::move(free_.back());
    free_.pop_back();
    return input;
  }
  void give_back(std::unique_ptr<detail::ModelInput> input) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(input));
  }

 private:
  std::mutex mutex_{};
  std::vector<std::unique_ptr<detail::ModelInput>> free_{};
};

bool says_nothing(const detail::ModelInput& input) {
  return input.features.features.empty() &&
         std::all_of(input.hints.begin(), input.hints.end(), [](float hint) { return hint == 0; });
}

detail::ModelOpinion opinion_of(const detail::TextModel& model, const detail::ModelInput& input,
                                FailureType rules) {
  if (says_nothing(input)) return {};
  return model.opinion(model.posterior(input), input.features.kind, rules);
}

// Only codes: the model would learn nothing that they do not say more surely.
bool is_wordless(const ClassifierInput& input) {
  const Failure& failure = input.failure;
  return failure.text.empty() && failure.exception_type.empty() && failure.causes.empty() &&
         input.trajectory.empty();
}

// The number of words, counted up to a limit.
std::size_t words_of(const Failure& failure, const detail::Findings& findings) {
  constexpr std::size_t enough = 100;
  std::size_t words = 0;
  const auto add = [&](std::string_view text) {
    bool inside = false;
    for (const char c : text) {
      const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
      if (!blank && !inside && ++words == enough) return;
      inside = !blank;
    }
  };
  add(findings.plain_of(failure.text));
  for (const Cause& cause : failure.causes) {
    if (words < enough) add(findings.plain_of(cause.text));
  }
  return words;
}

Result<detail::TextModel> read_model(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{Errc::not_found, "model file: it cannot be opened"};
  // A longer file cannot be a model; it need not be read entirely.
  std::string bytes(detail::TextModel::most_bytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return detail::TextModel::parse(std::move(bytes));
}

}  // namespace

struct EvidenceClassifier::Body {
  RulesOptions options{};
  std::optional<detail::TextModel> model{};  // Empty: the built-in one.
  std::string refused{};
  InputPool inputs{};

  detail::ModelOpinion opinion_on(const ClassifierInput& input, const detail::Findings& findings) {
    auto model_input = inputs.take();
    const detail::TextModel& asked = model ? *model : detail::built_in_model();
    detail::collect_model_input(input, findings, {}, asked.known_names(), *model_input);
    detail::ModelOpinion opinion = opinion_of(asked, *model_input, detail::rules_say(findings));
    opinion.words = words_of(input.failure, findings);
    inputs.give_back(std::move(model_input));
    return opinion;
  }

  // The output of a program hides its last words. If rules and model agree on the ending alone,
  // that is the failure.
  void listen_to_the_end(const ClassifierInput& input, detail::Findings& findings,
                         detail::ModelOpinion& opinion) {
    const Trajectory none;
    const auto endings = detail::endings_of(findings.plain_of(input.failure.text));
    for (const auto& [text, of] : endings) {
      if (text.empty()) continue;
      const Failure last{.text = std::string(text),
                         .exception_type = input.failure.exception_type,
                         .http_status = input.failure.http_status,
                         .json_rpc_code = input.failure.json_rpc_code,
                         .grpc_status = input.failure.grpc_status,
                         .code = input.failure.code};
      const ClassifierInput question{.failure = last, .trajectory = none, .clock = input.clock};
      detail::Findings found;
      detail::find_hints(question, found);
      const detail::ModelOpinion heard = opinion_on(question, found);
      if (!detail::may_say_by_ending(heard.type, detail::rules_say(found), of)) continue;
      findings.notes.push_back({.source = "text", .detail = "Read by its last lines"});
      for (detail::Finding& finding : found.list) {
        const auto is_same = [&](const detail::Finding& known) {
          return known.evidence.detail == finding.evidence.detail;
        };
        if (finding.named_in_text &&
            std::none_of(findings.list.begin(), findings.list.end(), is_same)) {
          findings.list.push_back(std::move(finding));
        }
      }
      opinion = heard;
      return;
    }
  }

  Classification classify(const ClassifierInput& input) {
    detail::Findings findings;
    if (auto told = detail::settled_by_caller(input, options, findings)) return std::move(*told);
    detail::find_hints(input, findings);
    const std::optional<Duration> wait_in_text = findings.wait_in_text;
    detail::ModelOpinion opinion{.words = 0};
    if (!is_wordless(input) || !detail::has_precise_code(findings)) {
      opinion = opinion_on(input, findings);
      if (opinion.type == FailureType::unknown) listen_to_the_end(input, findings, opinion);
    }
    Classification result = detail::decide(std::move(findings), opinion);
    detail::add_wait(input, wait_in_text, result);
    detail::blame_step(input, result);
    if (!refused.empty()) {
      result.evidence.push_back(
          {.source = "model_file", .detail = refused + "; the built-in model was used instead"});
    }
    return result;
  }
};

EvidenceClassifier::EvidenceClassifier() : body_(std::make_unique<Body>()) {}
EvidenceClassifier::~EvidenceClassifier() = default;

Result<std::shared_ptr<EvidenceClassifier>> EvidenceClassifier::create(
    const RulesOptions& options) {
  TRIAGE_TRYV(detail::check_options(options));
  auto classifier = std::make_shared<EvidenceClassifier>();
  classifier->body_->options = options;
  return outcome::success(std::move(classifier));
}

Result<std::shared_ptr<EvidenceClassifier>> EvidenceClassifier::load(const std::string& model_file,
                                                                     const RulesOptions& options) {
  TRIAGE_TRY(classifier, create(options));
  auto model = read_model(model_file);
  if (model) {
    classifier->body_->model = std::move(model).value();
  } else {
    classifier->body_->refused = model_file + ": " + model.error().detail;
  }
  return outcome::success(std::move(classifier));
}

Classification EvidenceClassifier::classify(const ClassifierInput& input) {
  try {
    return body_->classify(input);
  } catch (const std::exception&) {
    return {};  // Most likely out of memory: an unknown type is better than hiding the failure.
  }
}

const std::string& EvidenceClassifier::refused_model() const noexcept { return body_->refused; }

const std::shared_ptr<Classifier>& default_classifier() {
  static const std::shared_ptr<Classifier> all = std::make_shared<EvidenceClassifier>();
  return all;
}

}  // namespace triage::inline v0_1
