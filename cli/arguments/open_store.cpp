// SPDX-License-Identifier: MIT
#include "open_store.hpp"

#include "triage/detail/sealed_record.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/encrypted.hpp"
#include "triage/stores/open_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

// Files named by an environment variable, separated by colons.
std::vector<std::string> files_in(const char* variable) {
  const char* const value = std::getenv(variable);
  std::vector<std::string> files;
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) files.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return files;
}

// Without its key an encrypted store looks like one of empty runs, and what is added to it would
// not be encrypted. One record tells. If it cannot be read, the command itself will say so.
Result<void> check_needs_no_key(CheckpointStore& store) {
  const auto runs = store.runs({.limit = 1});
  if (!runs || runs.value().empty()) return outcome::success();
  const auto first = store.read(runs.value().front().id, {1, 1});
  if (!first || first.value().records.empty() ||
      !detail::is_sealed(first.value().records.front())) {
    return outcome::success();
  }
  return Error{Errc::invalid_argument,
               "the store is encrypted; give its key with --key-file or TRIAGE_KEY_FILE"};
}

// Opens with the key named by --key-file or the environment, or plainly without one. The key is
// read first, so a wrong one creates nothing.
template <class Open>
Result<std::shared_ptr<CheckpointStore>> with_key(Open open) {
  const char* const file = std::getenv(key_file_variable);
  if (file == nullptr || *file == '\0') {
    TRIAGE_TRY(plain, open());
    TRIAGE_TRYV(check_needs_no_key(*plain));
    return outcome::success(std::move(plain));
  }
  EncryptionOptions options;
  TRIAGE_TRY(key, store_key_in_file(file));
  options.key = std::move(key);
  for (const std::string& older : files_in(old_key_files_variable)) {
    TRIAGE_TRY(one, store_key_in_file(older));
    options.older.push_back(std::move(one));
  }
  TRIAGE_TRY(store, open());
  TRIAGE_TRY(encrypted, EncryptedStore::around(std::move(store), std::move(options)));
  TRIAGE_TRYV(encrypted->check_key());
  return outcome::success(std::shared_ptr<CheckpointStore>(std::move(encrypted)));
}

Result<void> check_url(const std::string& url) {
  if (url == ":memory:" || url == "sqlite::memory:" || url == "memory:") {
    return Error{Errc::invalid_argument, "store \"" + url +
                                             "\": a memory store ends with its process, so there "
                                             "is nothing to look at; give the path of a file"};
  }
  return outcome::success();
}

}  // namespace

Result<std::shared_ptr<CheckpointStore>> open_store_to_read(const std::string& url) {
  TRIAGE_TRYV(check_url(url));
  return with_key([&] { return v0_1::open_store(url, {.read_only = true}); });
}

Result<std::shared_ptr<CheckpointStore>> open_store_for_runs(const std::string& url) {
  TRIAGE_TRYV(check_url(url));
  return with_key([&] { return v0_1::open_store(url); });
}

Result<std::shared_ptr<CheckpointStore>> open_store_to_change(const std::string& url) {
  TRIAGE_TRY(looked_at, open_store_to_read(url));  // Must not create a missing store.
  looked_at.reset();
  return open_store_for_runs(url);
}

}  // namespace triage::inline v0_1::cli
