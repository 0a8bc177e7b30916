// SPDX-License-Identifier: MIT
#include "run_argument.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

// Where a run is missing, says which there are.
template <class T>
Result<T> with_hint(Result<T> got) {
  if (got || got.error().code != Errc::not_found) return got;
  return Error{Errc::not_found, got.error().detail + "; `triage runs` shows the runs there are"};
}

}  // namespace

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

Result<RunInfo> run_info(CheckpointStore& store, const std::string& text) {
  TRIAGE_TRY(run, in_full(store, text));
  return with_hint(store.run(run));
}

Result<JournalReading> read_run(CheckpointStore& store, const std::string& text) {
  TRIAGE_TRY(run, in_full(store, text));
  return with_hint(store.read(run, {}));
}

}  // namespace triage::inline v0_1::cli
