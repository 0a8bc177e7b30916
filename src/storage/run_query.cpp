// SPDX-License-Identifier: MIT
#include "storage/run_query.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {

bool fits(const RunInfo& run, const RunQuery& query) noexcept {
  return (query.agent.empty() || run.agent == query.agent) &&
         (query.label.empty() || run.label == query.label) &&
         (query.parent.empty() || run.parent == query.parent) &&
         (!query.status || run.status == *query.status) &&
         (!query.started_since || run.started >= *query.started_since) &&
         (!query.started_until || run.started < *query.started_until);
}

std::vector<RunInfo> newest_first(std::vector<RunInfo> runs, std::size_t limit) {
  std::sort(runs.begin(), runs.end(), [](const RunInfo& a, const RunInfo& b) {
    return a.started != b.started ? a.started > b.started : a.id > b.id;
  });
  if (limit != 0 && runs.size() > limit) runs.resize(limit);
  return runs;
}

}  // namespace triage::inline v0_1::detail
