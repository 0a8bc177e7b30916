// SPDX-License-Identifier: MIT
// triage train: fits the text model to the corpus and to corrections.

#include "arguments/installed.hpp"
#include "command.hpp"
#include "documents/output_file.hpp"
#include "refit.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

using training::Refit;
using training::RefitReport;
using training::Score;
using training::ScoreChange;

struct TrainArguments {
  std::string corrections{};
  std::string corpus{};
  std::string out{};
  std::size_t folds = 10;
  bool json = false;
};

std::string percent(std::size_t part, std::size_t whole) {
  if (whole == 0) return "-";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f %% (%zu of %zu)",
                100 * static_cast<double>(part) / static_cast<double>(whole), part, whole);
  return text.data();
}

void add_recall(Table& table, const std::string& what, const ScoreChange& change) {
  table.add({what + ": recall", percent(change.before.right, change.before.failures),
             percent(change.after.right, change.after.failures)});
}

void add_precision(Table& table, const std::string& what, const ScoreChange& change) {
  table.add({what + ": precision", percent(change.before.right, change.before.said),
             percent(change.after.right, change.after.said)});
}

void add_overridden(Table& table, const std::string& what, const ScoreChange& change) {
  const auto shown = [](const Score& score) {
    return percent(score.overridden, score.rows - score.failures);
  };
  table.add({what + ": unknown overridden", shown(change.before), shown(change.after)});
}

void show_table(const RefitReport& report) {
  print(
      "Learned from " + counted(report.corpus_rows, "row") + " and " +
      counted(report.corrections, "correction") + " (" + counted(report.wordings, "wording") +
      ") of " + counted(report.origins, "origin") +
      ".\nEvery row below is judged by a model that has seen " +
      "nothing of its origin (left out: " +
      (report.folds == report.origins
           ? std::string("one origin after the other")
           : "the origins of " + std::to_string(report.folds) + " groups in turn") +
      "),\nbut those marked so: by one that has seen other corrections of its origin, none of its "
      "wording.\n\n");
  Table table({"", "without the corrections", "with them"});
  for (std::size_t i = 0; i < report.groups.size(); ++i) {
    add_recall(table, training::group_names()[i], report.groups[i]);
    add_precision(table, training::group_names()[i], report.groups[i]);
  }
  add_recall(table, "the corpus", report.corpus);
  add_precision(table, "the corpus", report.corpus);
  add_overridden(table, "the corpus", report.corpus);
  add_recall(table, "the corrections", report.corrections_by_origin);
  add_overridden(table, "the corrections", report.corrections_by_origin);
  add_recall(table, "the corrections, by wording", report.corrections_by_wording);
  add_overridden(table, "the corrections, by wording", report.corrections_by_wording);
  print(table.text());
}

Json score_json(const Score& score) {
  return {{"rows", score.rows},
          {"failures", score.failures},
          {"said", score.said},
          {"right", score.right},
          {"overridden", score.overridden}};
}

Json change_json(const ScoreChange& change) {
  return {{"before", score_json(change.before)}, {"after", score_json(change.after)}};
}

void show_json(const RefitReport& report, const std::string& model, std::size_t problems) {
  Json groups = Json::object();
  for (std::size_t i = 0; i < report.groups.size(); ++i) {
    groups[training::group_names()[i]] = change_json(report.groups[i]);
  }
  print_json({{"corpus_rows", report.corpus_rows},
              {"origins", report.origins},
              {"corrections", report.corrections},
              {"wordings", report.wordings},
              {"unreadable_lines", problems},
              {"folds", report.folds},
              {"groups", std::move(groups)},
              {"corpus", change_json(report.corpus)},
              {"corrections_by_origin", change_json(report.corrections_by_origin)},
              {"corrections_by_wording", change_json(report.corrections_by_wording)},
              {"model", model}});
}

// Atomic: a process that loads the model gets the old one or the new one. Contains words from real
// runs' failures, so only its owner may read it.
Result<void> write_model(const std::string& path, const std::string& bytes) {
  return write_output(path, [&](std::ostream& out) -> Result<void> {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return outcome::success();
  });
}

// Checked before anything is learned, which takes minutes.
Result<void> check_out(const TrainArguments& given, const std::string& corpus) {
  std::vector<std::string> reads{given.corrections};
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(corpus, failed)) {
    const auto kind = entry.path().extension();
    if (kind == ".jsonl" || kind == ".grammar") reads.push_back(entry.path().string());
  }
  const OutputFile out{"--out", given.out};
  return check_outputs({&out, 1}, reads);
}

Result<CorrectionsReading> read_corrections(const std::string& path) {
  TRIAGE_TRY(reading, Corrections(path).read());
  for (const CorrectionsReading::Problem& problem : reading.problems) {
    warn(printable(path) + ", " + problem.detail);
  }
  if (reading.rows.empty()) {
    return Error{Errc::invalid_argument,
                 "\"" + printable(path) + "\" has no correction; `triage correct` adds one"};
  }
  return outcome::success(std::move(reading));
}

// That of the sources, or that of the installed command.
std::string usual_corpus() {
  const std::string here = "data/failures";
  std::error_code failed;
  if (std::filesystem::is_directory(here, failed)) return here;
  return installed("failures");
}

Result<training::Corpus> read_corpus(const std::string& folder) {
  auto corpus = training::read_corpus(folder);
  if (corpus || corpus.error().code != Errc::not_found) return corpus;
  return Error{Errc::not_found, corpus.error().detail +
                                    "; --corpus names the folder of the failures that the built-in "
                                    "model knows: data/failures in the sources of triage, "
                                    "share/triage/failures where it is installed"};
}

ExitStatus train_model(const TrainArguments& given) {
  const auto corrections = read_corrections(given.corrections);
  if (!corrections) return report(corrections.error());
  const std::string folder = given.corpus.empty() ? usual_corpus() : given.corpus;
  const auto corpus = read_corpus(folder);
  if (!corpus) return report(corpus.error());
  if (const auto fine = check_out(given, folder); !fine) return report(fine.error());
  std::vector<Correction> rows;
  for (const CorrectionsReading::Row& row : corrections.value().rows) {
    rows.push_back(row.correction);
  }
  const auto fitted = training::refit(
      corpus.value(), rows, {.folds = given.folds, .threads = std::thread::hardware_concurrency()});
  if (!fitted) return report(fitted.error());
  const std::size_t problems = corrections.value().problems.size();
  Result<void> written = outcome::success();
  if (!given.out.empty()) written = write_model(given.out, fitted.value().model);
  if (given.json) {
    show_json(fitted.value().report, written ? given.out : "", problems);
  } else {
    show_table(fitted.value().report);
    if (given.out.empty()) print("\nNo model was written: --out names a file for it.\n");
    if (!given.out.empty() && written) {
      print("\nThe model is in " + printable(given.out) +
            ": `triage classify --model` and EvidenceClassifier::load take it.\n");
    }
  }
  if (!written) return report(written.error());  // Not in vain: the scores are told.
  if (problems > 0) warn(counted(problems, "line") + " could not be read; the rest was used");
  return problems > 0 ? ExitStatus::unreadable : ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> train(CLI::App& arguments) {
  auto given = std::make_shared<TrainArguments>();
  arguments
      .add_option("--corrections", given->corrections,
                  "Labelled failures, as `triage correct` writes them.")
      ->required()
      ->check(not_empty());
  arguments
      .add_option("--corpus", given->corpus,
                  "The folder with the failures that everybody's model learns from. Default: "
                  "data/failures, or the installed one.")
      ->check(not_empty());
  arguments.add_option("--out", given->out, "Where the model goes. Without it, only a report.")
      ->check(not_empty());
  arguments
      .add_option("--folds", given->folds,
                  "Into how many groups the origins are put, to be left out in turn; 0 leaves "
                  "out one origin after the other. Default: 10.")
      ->check(whole_number(0, 1'000'000));
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage train --corrections corrections.jsonl --out mine.bin\n\n"
      "The same corpus and corrections give the same bytes. A line that is no "
      "correction is reported\nwith its number, the rest is used, and the exit status "
      "is 4.");
  return [given] { return train_model(*given); };
}

}  // namespace triage::inline v0_1::cli
