// SPDX-License-Identifier: MIT
#include "open_store.hpp"

#include "triage/detail/try.hpp"
#include "triage/stores/sqlite.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

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

Result<std::string> in_full(CheckpointStore& store, const std::string& text) {
  constexpr std::string_view left_out = "…";
  const std::size_t cut = text.find(left_out);
  if (cut == std::string::npos) return outcome::success(text);
  const std::size_t at = std::min(text.find('@', cut), text.size());
  const std::string begin = text.substr(0, cut);
  const std::string end = text.substr(cut + left_out.size(), at - cut - left_out.size());
  TRIAGE_TRY(runs, store.runs({.limit = 0}));
  std::string found;
  for (const RunInfo& run : runs) {
    if (run.id.size() < begin.size() + end.size() || !run.id.starts_with(begin) ||
        !run.id.ends_with(end)) {
      continue;
    }
    if (!found.empty()) {
      return Error{Errc::invalid_argument, "\"" + text + "\" fits " + found + " and " + run.id +
                                               "; write one of them in full"};
    }
    found = run.id;
  }
  if (found.empty()) return Error{Errc::not_found, "no run fits \"" + text + "\""};
  return outcome::success(found + text.substr(at));
}

Result<std::string> free_run(const std::string& url, const RunId& run, bool force) {
  // Looked at first: what is not there must not be made.
  TRIAGE_TRY(looked_at, open_store(url));
  TRIAGE_TRY(full, in_full(*looked_at, run));
  looked_at.reset();
  TRIAGE_TRY(store, SqliteStore::open(url));
  return store->free_run(full, force);
}

Result<JournalReading> read_run(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(full, in_full(store, run));
  auto reading = store.read(full, {});
  if (!reading && reading.error().code == Errc::not_found) {
    return Error{Errc::not_found, reading.error().detail +
                                      "; `triage checkpoint list STORE` shows the runs there are"};
  }
  return reading;
}

}  // namespace triage::inline v0_1::cli
