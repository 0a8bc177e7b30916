// SPDX-License-Identifier: MIT
#include "corpus.hpp"

#include "grammar.hpp"
#include "journal/causes_json.hpp"
#include "name_learner.hpp"
#include "near_duplicates.hpp"
#include "other_names.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace triage::training {
namespace {

std::optional<int> read_code(const Json& codes, const char* name) {
  const auto found = codes.find(name);
  if (found == codes.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

std::optional<RowKind> parse_kind(const std::string& name) {
  if (name == "written") return RowKind::written;
  if (name == "provoked") return RowKind::provoked;
  if (name == "paraphrase") return RowKind::paraphrase;
  if (name == "correction") return RowKind::correction;
  return std::nullopt;
}

Failure read_failure(const Json& json) {
  Failure failure{.text = json.value("text", "")};
  const Json codes = json.value("codes", Json::object());
  failure.exception_type = codes.value("exception_type", "");
  failure.http_status = read_code(codes, "http_status");
  failure.json_rpc_code = read_code(codes, "json_rpc_code");
  failure.grpc_status = read_code(codes, "grpc_status");
  const Json headers = codes.value("headers", Json::object());
  for (const auto& [name, value] : headers.items()) {
    failure.headers.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (json.contains("causes")) failure.causes = detail::parse_causes(json.at("causes"));
  return failure;
}

class Reader {
 public:
  Result<void> read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
      const std::string place = path.filename().string() + ":" + std::to_string(number);
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) return bad(place, "is not a JSON object");
      try {
        const std::string problem = add(json, place);
        if (!problem.empty()) return bad(place, problem);
      } catch (const Json::exception& error) {
        return bad(place, error.what());
      }
    }
    return outcome::success();
  }

  Result<void> read_grammar(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string grammar(std::istreambuf_iterator<char>(file), {});
    const std::string name = path.filename().string();
    const auto said = texts_between_macros(grammar, name);
    if (!said) return said.error();
    // Not the macros: they stand for names, among them misleading ones.
    for (const std::string& text : said.value()) names_.read(text, origins_.size());
    const auto wordings = expand_grammar(grammar, name, wordings_a_pattern);
    if (!wordings) return wordings.error();
    bool renamed = false;
    for (const Wording& wording : wordings.value()) {
      if (rows_.largest_share(wording.text) > most_shared) continue;
      const std::string place = name + ":" + std::to_string(wording.line);
      renamed = !renamed;  // Every second one.
      corpus_.rows.push_back(
          {.failure = {.text = renamed ? other_names_.give(wording.text) : wording.text},
           .label = wording.label,
           .reason = wording.reason,
           .origin = origin_of(place),
           .kind = RowKind::paraphrase,
           .lang = "en",
           .place = place});
    }
    return outcome::success();
  }

  // What has been read.
  Corpus take() {
    corpus_.known_names.assign(detail::KnownNames::bytes, '\0');
    names_.teach(corpus_.known_names);
    return std::move(corpus_);
  }
  [[nodiscard]] bool empty() const { return corpus_.rows.empty(); }
  void end_of_rows() { corpus_.written_origins = corpus_.origins.size(); }

 private:
  static Error bad(const std::string& place, const std::string& problem) {
    return {Errc::invalid_argument, place + ": " + problem};
  }

  std::string add(const Json& json, const std::string& place) {
    const auto label = parse_failure_type(json.value("label", ""));
    const auto kind = parse_kind(json.value("kind", ""));
    const std::string origin = json.value("origin", "");
    if (!label) return "has no label, or an unknown one";
    if (!kind) return "has no kind, or an unknown one";
    if (origin.empty()) return "has no origin";
    corpus_.rows.push_back({.failure = read_failure(json),
                            .label = *label,
                            .reason = json.value("reason", ""),
                            .origin = origin_of(origin),
                            .kind = *kind,
                            .lang = json.value("lang", "en"),
                            .place = place});
    rows_.add(corpus_.rows.back().failure.text);
    names_.read(corpus_.rows.back().failure, corpus_.rows.back().origin);
    return {};
  }

  std::size_t origin_of(const std::string& name) {
    const auto known = origins_.try_emplace(name, origins_.size());
    if (known.second) corpus_.origins.push_back(name);
    return known.first->second;
  }

  Corpus corpus_{};
  std::map<std::string, std::size_t> origins_{};
  NameLearner names_{};
  NearDuplicates rows_{};
  OtherNames other_names_{};
};

std::vector<std::filesystem::path> files_of(const std::string& folder, const char* extension) {
  std::vector<std::filesystem::path> paths;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Result<Corpus> read_corpus(const std::string& folder) {
  Reader reader;
  for (const auto& path : files_of(folder, ".jsonl")) {
    if (const auto read = reader.read(path); !read) return read.error();
  }
  reader.end_of_rows();
  for (const auto& path : files_of(folder, ".grammar")) {
    if (const auto read = reader.read_grammar(path); !read) return read.error();
  }
  if (reader.empty()) return Error{Errc::not_found, folder + ": no rows"};
  return outcome::success(reader.take());
}

}  // namespace triage::training
