// SPDX-License-Identifier: MIT
#include "open_store.hpp"

#include "triage/detail/try.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/stores/sqlite.hpp"

namespace triage::inline v0_1::cli {
namespace {

Result<void> check_url(const std::string& url) {
  if (url == ":memory:" || url == "sqlite::memory:" || url == "memory:") {
    return Error{Errc::invalid_argument, "store \"" + url +
                                             "\": a memory store ends with its process, so there "
                                             "is nothing to look at; give the path of a file"};
  }
  return outcome::success();
}

}  // namespace

Result<std::shared_ptr<CheckpointStore>> open_store(const std::string& url) {
  TRIAGE_TRYV(check_url(url));
  return v0_1::open_store(url, {.read_only = true});
}

Result<std::shared_ptr<CheckpointStore>> open_store_for_runs(const std::string& url) {
  TRIAGE_TRYV(check_url(url));
  return v0_1::open_store(url);
}

Result<std::string> free_run(const std::string& url, const RunId& run, bool force) {
  // Looked at first: what is not there must not be made.
  TRIAGE_TRY(looked_at, open_store(url));
  if (std::dynamic_pointer_cast<SqliteStore>(looked_at) == nullptr) {
    return Error{Errc::unsupported, "store \"" + without_secrets(url) +
                                        "\": runs can be released in SQLite stores only"};
  }
  looked_at.reset();
  TRIAGE_TRY(store, SqliteStore::open(url));
  return store->free_run(run, force);
}

Result<JournalReading> read_run(CheckpointStore& store, const RunId& run) {
  auto reading = store.read(run, {});
  if (!reading && reading.error().code == Errc::not_found) {
    return Error{Errc::not_found, reading.error().detail +
                                      "; `triage checkpoint list STORE` shows the runs there are"};
  }
  return reading;
}

}  // namespace triage::inline v0_1::cli
