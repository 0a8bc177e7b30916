// SPDX-License-Identifier: MIT
#include "store_place.hpp"

#include "triage/stores/open_store.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace triage::inline v0_1::cli {
namespace {

// What libpq takes instead of what the URL leaves out.
constexpr const char* postgres_variables[] = {"PGHOST", "PGHOSTADDR",    "PGPORT",    "PGDATABASE",
                                              "PGUSER", "PGSERVICEFILE", "PGSERVICE", "PGOPTIONS"};

}  // namespace

std::vector<std::string> store_paths(const std::string& url) {
  const std::optional<std::string> path = store_path(url);
  if (!path) return {};
  std::error_code problem;
  const std::filesystem::path whole = std::filesystem::absolute(*path, problem);
  const std::filesystem::path real = std::filesystem::weakly_canonical(whole, problem);
  return {whole, problem ? whole : real};
}

std::string store_place(const std::string& url) {
  const auto paths = store_paths(url);
  if (!paths.empty()) return paths.back();
  std::string place = without_secrets(url);
  if (!url.starts_with("postgres")) return place;
  for (const char* name : postgres_variables) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') place += std::string(" ") + name + "=" + value;
  }
  return place;
}

}  // namespace triage::inline v0_1::cli
