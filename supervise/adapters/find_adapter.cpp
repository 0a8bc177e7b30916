// SPDX-License-Identifier: MIT
#include "supervise/adapters/find_adapter.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace triage::inline v0_1::supervise {
namespace {

constexpr const char* ending = ".yaml";

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{Errc::not_found, "\"" + path.string() + "\" cannot be opened"};
  return outcome::success(std::string(std::istreambuf_iterator<char>(file), {}));
}

Result<std::shared_ptr<const Adapter>> from_file(const std::filesystem::path& path,
                                                 ReadDocument read) {
  TRIAGE_TRY(text, read_file(path));
  auto adapter = adapter_from_text(text, read);
  if (!adapter) {
    return Error{adapter.error().code, path.filename().string() + ": " + adapter.error().detail};
  }
  return outcome::success(std::make_shared<const Adapter>(std::move(adapter).value()));
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.front() != '.';
}

}  // namespace

Result<Adapter> adapter_from_text(std::string_view text, ReadDocument read) {
  TRIAGE_TRY(document, read(text));
  return adapter_from_json(document);
}

std::vector<std::string> adapter_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ending) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::shared_ptr<const Adapter>> find_adapter(const std::string& asked,
                                                    const std::string& program,
                                                    const std::string& folder, ReadDocument read) {
  if (asked == generic_adapter) return outcome::success(nullptr);
  if (asked.find('\n') != std::string::npos) {
    TRIAGE_TRY(adapter, adapter_from_text(asked, read));
    return outcome::success(std::make_shared<const Adapter>(std::move(adapter)));
  }
  const std::filesystem::path all(folder);
  if (asked.empty()) {
    const std::string name = std::filesystem::path(program).filename().string();
    std::error_code ignored;
    const auto path = all / (name + ending);
    if (!is_plain_name(name) || !std::filesystem::exists(path, ignored)) {
      return outcome::success(nullptr);
    }
    TRIAGE_TRY(adapter, from_file(path, read));
    if (adapter->events.empty()) return outcome::success(nullptr);
    return outcome::success(std::move(adapter));
  }
  const std::vector<std::string> names = adapter_names(folder);
  if (std::find(names.begin(), names.end(), asked) != names.end()) {
    return from_file(all / (asked + ending), read);
  }
  std::string known = generic_adapter;
  for (const std::string& name : names) {
    if (name != generic_adapter) known += ", " + name;
  }
  return Error{Errc::not_found, "there is no adapter \"" + printable(asked) + "\" in " + folder +
                                    "; there are " + known + ", and files of your own, by path"};
}

}  // namespace triage::inline v0_1::supervise
