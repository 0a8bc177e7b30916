// SPDX-License-Identifier: MIT
#include "open_store.hpp"

#include "triage/detail/try.hpp"
#include "triage/stores/sqlite.hpp"

#include <cctype>

namespace triage::inline v0_1::cli {
namespace {

// "redis" in "redis://host"; empty for a plain path, also for one such as "a/b:c" or "c:d.db"
// where what stands before the colon is no scheme of at least two letters.
std::string scheme_of(const std::string& url) {
  const std::size_t colon = url.find(':');
  if (colon == std::string::npos || colon < 2) return {};
  for (std::size_t i = 0; i < colon; ++i) {
    if (std::isalpha(static_cast<unsigned char>(url[i])) == 0) return {};
  }
  return url.substr(0, colon);
}

Result<void> check_url(const std::string& url) {
  const std::string scheme = scheme_of(url);
  if (!scheme.empty() && scheme != "sqlite") {
    return Error{Errc::invalid_argument, "store \"" + url + "\": this build knows no \"" + scheme +
                                             ":\" stores; allowed are sqlite:PATH and PATH"};
  }
  if (url == ":memory:" || url == "sqlite::memory:") {
    return Error{Errc::invalid_argument, "store \"" + url +
                                             "\": a memory store ends with its process, so there "
                                             "is nothing to look at; give the path of a file"};
  }
  return outcome::success();
}

}  // namespace

Result<std::shared_ptr<CheckpointStore>> open_store(const std::string& url) {
  TRIAGE_TRYV(check_url(url));
  TRIAGE_TRY(store, SqliteStore::open(url, {.read_only = true}));
  return outcome::success(std::shared_ptr<CheckpointStore>(std::move(store)));
}

Result<std::shared_ptr<CheckpointStore>> open_store_for_runs(const std::string& url) {
  TRIAGE_TRYV(check_url(url));
  TRIAGE_TRY(store, SqliteStore::open(url));
  return outcome::success(std::shared_ptr<CheckpointStore>(std::move(store)));
}

Result<std::string> free_run(const std::string& url, const RunId& run, bool force) {
  // Looked at first: what is not there must not be made.
  TRIAGE_TRY(looked_at, open_store(url));
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
