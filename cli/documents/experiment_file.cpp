// SPDX-License-Identifier: MIT
#include "experiment_file.hpp"

#include "arguments/open_store.hpp"
#include "arguments/read_policy.hpp"
#include "supervise/process/private_folder.hpp"
#include "triage/detail/try.hpp"

#ifdef TRIAGE_HAS_YAML
#include "triage/policies/yaml.hpp"
#endif

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

using Check = std::function<Result<void>(const Json&)>;

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

// Stores in this process's own folder; each is removed with its contents.
class ScratchStores {
 public:
  Result<std::shared_ptr<CheckpointStore>> make(std::string_view kind) {
    const std::scoped_lock lock(mutex_);
    if (folder_.path().empty()) {
      TRIAGE_TRY(made, supervise::PrivateFolder::make());
      folder_ = std::move(made);
    }
    const std::filesystem::path mine = folder_.path() + "/" + std::to_string(++made_);
    std::error_code problem;
    std::filesystem::create_directory(mine, problem);
    if (problem) return Error{Errc::io, mine.string() + ": " + problem.message()};
    TRIAGE_TRY(store, open_store_for_runs(std::string(kind) + ":" + (mine / "runs").string()));
    CheckpointStore* const bare = store.get();
    return std::shared_ptr<CheckpointStore>(bare, [store = std::move(store), mine](auto*) mutable {
      store.reset();
      std::error_code ignored;
      std::filesystem::remove_all(mine, ignored);
    });
  }

 private:
  std::mutex mutex_{};
  supervise::PrivateFolder folder_{};
  std::uint64_t made_ = 0;
};

}  // namespace

Result<lab::ScriptedExperiment> read_experiment_file(const std::string& path,
                                                     std::vector<std::string>* files) {
  TRIAGE_TRY(text, read_text_file(path));
  if (files != nullptr) files->push_back(path);
  const auto folder = std::filesystem::path(path).parent_path();
  std::optional<lab::ScriptedExperiment> experiment;
  const auto scratch = std::make_shared<ScratchStores>();
  const auto read = checked_json(text, "the experiment", [&](const Json& json) -> Result<void> {
    TRIAGE_TRY(made, lab::experiment_from_json(
                         json,
                         [&](const std::string& file) {
                           if (files != nullptr) files->push_back((folder / file).string());
                           return policy_in(folder, file);
                         },
                         [scratch](std::string_view kind) { return scratch->make(kind); }));
    experiment.emplace(std::move(made));
    return outcome::success();
  });
  if (!read) return in_file(path, read.error());
  return outcome::success(*std::move(experiment));
}

}  // namespace triage::inline v0_1::cli
