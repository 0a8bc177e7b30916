// SPDX-License-Identifier: MIT
#include "store_argument.hpp"

#include "open_store.hpp"
#include "run_argument.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/open_store.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>

namespace triage::inline v0_1::cli {
namespace {

// An absolute path from an environment variable, or empty.
std::filesystem::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  std::filesystem::path path = value == nullptr ? "" : value;
  return path.is_absolute() ? path : std::filesystem::path();
}

std::string text_of(const CLI::Option* option) { return option->results().front(); }

// The store that one of these names, or the default one.
Result<std::string> named(const CLI::Option* argument, const CLI::Option* option) {
  const bool by_argument = argument != nullptr && argument->count() > 0;
  if (by_argument && option->count() > 0) {
    return Error{Errc::invalid_argument, "the store is named twice: as STORE and by --store"};
  }
  if (by_argument) return text_of(argument);
  if (option->count() > 0) return text_of(option);
  return default_store();
}

}  // namespace

Result<std::string> default_store() {
  std::filesystem::path state = folder_in("XDG_STATE_HOME");
  if (state.empty()) {
    const std::filesystem::path home = folder_in("HOME");
    if (home.empty()) {
      return Error{Errc::not_found,
                   "no store is named, and neither XDG_STATE_HOME nor HOME says where the default "
                   "one is; name one with --store"};
    }
    state = home / ".local" / "state";
  }
  return (state / "triage" / "runs.db").string();
}

bool is_missing(const std::string& default_store) {
  std::error_code hidden;
  const bool there = std::filesystem::exists(default_store, hidden);
  if (!there || hidden) return !hidden;
  // Whoever began to make it may have been killed.
  const auto looked_at = v0_1::open_store(default_store, {.read_only = true});
  return !looked_at && looked_at.error().code == Errc::not_found;
}

Result<std::string> make_default_store() {
  TRIAGE_TRY(store, default_store());
  const std::filesystem::path folder = std::filesystem::path(store).parent_path();
  std::error_code failed;
  std::filesystem::create_directories(folder.parent_path(), failed);
  if (!failed && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    failed = std::error_code(errno, std::generic_category());
  }
  if (failed) {
    return Error{Errc::io, "the folder of the default store, " + folder.string() +
                               ", cannot be made: " + failed.message()};
  }
  return outcome::success(std::move(store));
}

void declare_store(CLI::App& arguments, StoreArgument& given, const char* run_help) {
  const std::string where = store_help + std::string(
                                             " Default: triage/runs.db in the state folder "
                                             "($XDG_STATE_HOME or ~/.local/state).");
  // Options are asked directly, because an empty text differs from none.
  const auto keep = [](const std::string&) {};
  given.option = arguments.add_option_function<std::string>("--store", keep, where);
  given.first = arguments.add_option_function<std::string>("STORE", keep, "The same as --store.");
  if (run_help != nullptr) {
    given.second = arguments.add_option_function<std::string>("RUN", keep, run_help);
  }
}

Result<std::string> store_or_default(const std::string& option) {
  if (option.empty()) return default_store();
  return outcome::success(option);
}

Result<StoreAndRun> meant_store(const StoreArgument& given) {
  TRIAGE_TRY(store, named(given.first, given.option));
  return StoreAndRun{std::move(store), {}};
}

Result<StoreAndRun> meant_run(const StoreArgument& given) {
  const bool both = given.second->count() > 0;
  if (!both && given.first->count() == 0) {
    return Error{Errc::invalid_argument, "RUN is missing; --help tells more"};
  }
  TRIAGE_TRY(store, named(both ? given.first : nullptr, given.option));
  return StoreAndRun{std::move(store), text_of(both ? given.second : given.first)};
}

Result<std::shared_ptr<CheckpointStore>> open_meant(const StoreArgument& given,
                                                    const StoreAndRun& meant) {
  const bool is_named = given.first->count() > 0 || given.option->count() > 0;
  if (!is_named && is_missing(meant.store)) {
    return outcome::success(std::shared_ptr<CheckpointStore>(MemoryStore::create()));
  }
  return open_store_to_read(meant.store);
}

Result<JournalReading> meant_reading(const StoreArgument& given) {
  TRIAGE_TRY(meant, meant_run(given));
  TRIAGE_TRY(store, open_store_to_read(meant.store));
  return read_run(*store, meant.run);
}

}  // namespace triage::inline v0_1::cli
