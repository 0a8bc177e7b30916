// SPDX-License-Identifier: MIT
// triage classify: reads failures as JSON Lines and writes their classifications as JSON Lines.

#include "command.hpp"
#include "documents/failure_json.hpp"
#include "documents/line_reader.hpp"
#include "render/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string answer(const ReportedFailure& reported, Classifier& classifier) {
  Classification found =
      classifier.classify({.failure = reported.failure,
                           .trajectory = reported.trajectory,
                           .task = reported.task,
                           .contract = reported.contract.empty() ? nullptr : &reported.contract,
                           .result = reported.result.is_null() ? nullptr : &reported.result});
  for (const std::string& remark : reported.remarks) {
    found.evidence.push_back({.source = "input", .detail = remark});
  }
  return classification_line(found);
}

ExitStatus classify_lines(Classifier& classifier) {
  std::string out;
  // Whoever asks one failure at a time waits for its answer.
  LineReader lines(STDIN_FILENO, [&out] {
    print(out);
    std::fflush(stdout);
    out.clear();
  });
  std::size_t number = 0;
  KnownContract known;
  std::size_t unreadable = 0;
  while (const auto line = lines.next()) {
    ++number;
    if (!line->too_long && blank(line->text)) continue;
    const auto reported =
        line->too_long
            ? Result<ReportedFailure>(Error{Errc::invalid_argument, "the line is too long"})
            : read_reported_failure(line->text, &known);
    if (!reported) ++unreadable;
    out += reported ? answer(reported.value(), classifier)
                    : unreadable_line(number, reported.error().detail);
    out += '\n';
  }
  const int why = errno;  // If reading failed, that was the last thing it did.
  print(out);
  if (unreadable > 0)
    warn(counted(unreadable, "line") + " of " + std::to_string(number) + " could not be read");
  if (lines.failed()) {
    return report({Errc::io, std::string("standard input cannot be read: ") + std::strerror(why)});
  }
  return unreadable > 0 ? ExitStatus::unreadable : ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> classify(CLI::App& arguments) {
  arguments.footer(
      "Example: echo '{\"error\": \"HTTP 503 Service Unavailable\"}' | triage classify\n\n"
      "Reads one JSON object a line from standard input: error, and optionally "
      "exception_type,\n"
      "http_status, json_rpc_code, grpc_status, headers, steps, task, contract, result; other "
      "fields\n"
      "are ignored. Codes may be texts (\"429 Too Many Requests\", \"UNAVAILABLE\").\n"
      "Prints one a line: type, reason, confidence, retry_after_s, critical_step and, with\n"
      "one, critical_step_confidence, evidence. A line that cannot be read, or has none of\n"
      "these fields, gives an object with error and line; the rest is classified, and the exit "
      "status is 4. Blank lines are "
      "skipped.");
  auto model_file = std::make_shared<std::string>();
  arguments
      .add_option("--model", *model_file,
                  "A model that `triage train` made, in place of the built-in one.")
      ->check(not_empty());
  return [model_file] {
    if (model_file->empty()) return classify_lines(*default_classifier());
    const auto classifier = EvidenceClassifier::load(*model_file);
    if (!classifier) return report(classifier.error());
    const std::string& refused = classifier.value()->refused_model();
    if (!refused.empty()) {
      const bool there = std::ifstream(*model_file).good();
      return report({there ? Errc::corrupt : Errc::not_found,
                     refused + "; without --model the built-in model is used"});
    }
    return classify_lines(*classifier.value());
  };
}

}  // namespace triage::inline v0_1::cli
