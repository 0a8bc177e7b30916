// SPDX-License-Identifier: MIT
// Makes data/model.bin from a corpus. The same corpus gives the same bytes.

#include "calibration.hpp"
#include "trainer.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

using namespace triage;
using namespace triage::training;

namespace {

constexpr const char* usage =
    "usage: train_classifier CORPUS_FOLDER MODEL_FILE\n"
    "Fits the text model to the rows of CORPUS_FOLDER/*.jsonl and writes MODEL_FILE.\n";

constexpr std::size_t calibration_folds = 10;

Result<std::string> train(const std::string& folder) {
  const auto corpus = read_corpus(folder);
  if (!corpus) return corpus.error();
  const std::vector<Row>& rows = corpus.value().rows;
  const std::size_t origins = corpus.value().written_origins;
  if (origins < 2) return Error{Errc::invalid_argument, "the corpus has fewer than two origins"};
  const std::vector<Example> examples = make_examples(corpus.value(), {});
  const std::vector<detail::Posterior> posteriors =
      leave_origins_out(examples, rows.size(), origins, calibration_folds,
                        std::max(1U, std::thread::hardware_concurrency()));
  std::vector<Judged> judged;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind != RowKind::paraphrase)
      judged.push_back({posteriors[i], rows[i].label, examples[i].kind, examples[i].rules});
  }
  const Calibration calibration = calibrate(judged);
  std::vector<const Example*> teaching;
  for (const Example& example : examples) teaching.push_back(&example);
  detail::ModelParameters parameters = fit(teaching);
  parameters.known_names = corpus.value().known_names;
  apply(calibration, parameters);
  std::printf(
      "%zu rows of %zu origins; temperatures %.2f %.2f; thresholds for messages, programs, and "
      "where "
      "the rules agree:\n",
      rows.size(), origins, calibration.temperatures[0], calibration.temperatures[1]);
  for (const FailureType type : all_failure_types) {
    const auto i = static_cast<std::size_t>(type);
    std::printf("  %s %.3f %.3f %.3f\n", std::string(to_string(type)).c_str(),
                calibration.thresholds[0][i], calibration.thresholds[1][i],
                static_cast<double>(calibration.backing.thresholds[i]));
  }
  return outcome::success(detail::TextModel::serialize(parameters));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs(usage, argc == 2 && std::strcmp(argv[1], "--help") == 0 ? stdout : stderr);
    return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  const auto bytes = train(argv[1]);
  if (!bytes) {
    std::fprintf(stderr, "train_classifier: %s\n", bytes.error().detail.c_str());
    return 4;
  }
  std::ofstream file(argv[2], std::ios::binary | std::ios::trunc);
  file.write(bytes.value().data(), static_cast<std::streamsize>(bytes.value().size()));
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "train_classifier: %s could not be written\n", argv[2]);
  return 4;
}
