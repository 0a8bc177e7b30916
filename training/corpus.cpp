// SPDX-License-Identifier: MIT
#include "corpus.hpp"

#include "triage/json.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
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
      if (!json.is_object()) return bad(place, "is no JSON object");
      try {
        const std::string problem = add(json, place);
        if (!problem.empty()) return bad(place, problem);
      } catch (const Json::exception& error) {
        return bad(place, error.what());
      }
    }
    return outcome::success();
  }

  Corpus corpus{};

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
    const auto known = origins_.try_emplace(origin, origins_.size());
    if (known.second) corpus.origins.push_back(origin);
    corpus.rows.push_back({.failure = read_failure(json),
                           .label = *label,
                           .reason = json.value("reason", ""),
                           .origin = known.first->second,
                           .kind = *kind,
                           .lang = json.value("lang", "en"),
                           .place = place});
    return {};
  }

  std::map<std::string, std::size_t> origins_{};
};

}  // namespace

Result<Corpus> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  Reader reader;
  for (const auto& path : paths) {
    if (const auto read = reader.read(path); !read) return read.error();
  }
  if (reader.corpus.rows.empty()) return Error{Errc::not_found, folder + ": no rows"};
  return outcome::success(std::move(reader.corpus));
}

}  // namespace triage::training
