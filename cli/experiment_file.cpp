// SPDX-License-Identifier: MIT
#include "experiment_file.hpp"

#include "read_policy.hpp"
#include "triage/detail/try.hpp"

#ifdef TRIAGE_HAS_YAML
#include "triage/policies/yaml.hpp"
#endif

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

using Check = std::function<Result<void>(const Json&)>;

Error in_file(const std::string& path, const Error& error) {
  const std::string name = path == "-" ? "standard input" : "\"" + printable(path) + "\"";
  std::string all = name + ": ";
  for (const char c : error.detail) {
    all += c;
    if (c == '\n') all += name + ": ";
  }
  return {error.code, std::move(all)};
}

Result<Json> checked_json(std::string_view text, std::string_view what, const Check& check) {
#ifdef TRIAGE_HAS_YAML
  return json_from_yaml(text, what, check);
#else
  static_cast<void>(what);
  TRIAGE_TRY(json, json_from_text(text));
  TRIAGE_TRYV(check(json));
  return outcome::success(std::move(json));
#endif
}

Result<Json> policy_in(const std::filesystem::path& folder, const std::string& file) {
  const std::string path = (folder / file).string();
  TRIAGE_TRY(text, read_text_file(path));
  auto json = checked_json(text, "the policy document", [](const Json& document) -> Result<void> {
    TRIAGE_TRYV(document_from_json(document, built_in_strategies()));
    return outcome::success();
  });
  if (!json) return in_file(path, json.error());
  return json;
}

}  // namespace

Result<lab::ScriptedExperiment> read_experiment_file(const std::string& path) {
  TRIAGE_TRY(text, read_text_file(path));
  const auto folder = std::filesystem::path(path).parent_path();
  std::optional<lab::ScriptedExperiment> experiment;
  const auto read = checked_json(text, "the experiment", [&](const Json& json) -> Result<void> {
    TRIAGE_TRY(made, lab::experiment_from_json(
                         json, [&](const std::string& file) { return policy_in(folder, file); }));
    experiment.emplace(std::move(made));
    return outcome::success();
  });
  if (!read) return in_file(path, read.error());
  return outcome::success(*std::move(experiment));
}

}  // namespace triage::inline v0_1::cli
