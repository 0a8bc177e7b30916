// SPDX-License-Identifier: MIT
#include "classifier/text/model_input.hpp"

#include "classifier/undress/undress.hpp"
#include "triage/step.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_causes_read = 4;  // The innermost ones.

template <class Source>
void read_codes(const Source& source, FeatureBuffer& features) {
  if (source.http_status) extract_code_features("http", *source.http_status, features);
  if (source.json_rpc_code) extract_code_features("rpc", *source.json_rpc_code, features);
  if (source.grpc_status) extract_code_features("grpc", *source.grpc_status, features);
}

// A name that fits any failure, such as runtime_error, says how a program throws, not why.
void read_type(std::string_view name, const Lexicon& lexicon, FeatureBuffer& features) {
  if (!is_common_exception(name)) extract_type_features(name, lexicon, features);
}

void read_texts(const Failure& failure, const Findings& findings, const Lexicon& lexicon,
                const KnownNames& known, FeatureBuffer& features) {
  extract_features(findings.plain_of(failure.text), lexicon, known, features);
  read_type(failure.exception_type, lexicon, features);
  const std::size_t depth = failure.causes.size();
  for (std::size_t i = depth - std::min(depth, most_causes_read); i < depth; ++i) {
    extract_features(findings.plain_of(failure.causes[i].text), lexicon, known, features);
    read_type(failure.causes[i].exception_type, lexicon, features);
  }
}

void read_hints(const Findings& findings, ModelInput& model_input) {
  for (const Finding& finding : findings.list) {
    if (finding.kind < FindingKind::code) continue;
    const std::size_t kind =
        static_cast<std::size_t>(finding.kind) - static_cast<std::size_t>(FindingKind::code);
    const auto type = static_cast<std::size_t>(finding.evidence.suggests);
    float& hint = model_input.hints[kind * failure_type_count + type];
    hint = std::max(hint, static_cast<float>(finding.evidence.confidence));
  }
}

}  // namespace

void ModelInput::clear() noexcept {
  features.clear();
  hints.fill(0);
}

void collect_model_input(const ClassifierInput& input, const Findings& findings,
                         const ModelInputParts& parts, const KnownNames& known,
                         ModelInput& model_input) {
  const Lexicon& lexicon = built_in_lexicon();
  model_input.clear();
  const auto failed = last_failed_step(input);
  const bool recent = failed && input.trajectory.size() - 1 - *failed < 2;
  const bool silent = input.failure.text.empty() && input.failure.causes.empty();
  const Step* step = failed && (recent || silent) ? &input.trajectory[*failed] : nullptr;
  if (parts.text) {
    read_texts(input.failure, findings, lexicon, known, model_input.features);
    if (step != nullptr && step->error && *step->error != input.failure.text) {
      extract_features(findings.plain_of(*step->error), lexicon, known, model_input.features);
    }
    if (step != nullptr && step->exception_type) {
      read_type(*step->exception_type, lexicon, model_input.features);
    }
    add_program_features(model_input.features);
  }
  if (parts.codes) {
    read_codes(input.failure, model_input.features);
    if (step != nullptr) read_codes(*step, model_input.features);
  }
  if (parts.hints) read_hints(findings, model_input);
}

}  // namespace triage::inline v0_1::detail
