// SPDX-License-Identifier: MIT
// What is stored of deliveries that a run no longer makes.
#include "driver.hpp"
#include "schedule/arrivals.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

// Of "PATH/OCCURRENCE", which a request goes on from with "/PORT/N".
int occurrence_in(const std::string& id, std::size_t path_size) {
  int occurrence = 0;
  const char* const end = id.data() + id.size();
  std::from_chars(std::min(id.data() + path_size + 1, end), end, occurrence);
  return occurrence;
}

}  // namespace

// A branch, and a run whose failures are retried, may take another way. What is stored of the old
// one would count as finished, and its questions as open. Called when nothing more can run without
// answers: what they may still lead to is kept.
void Driver::drop_unreached() {
  if (before_.empty() || scheduler_.at_limit()) return;
  std::vector<int> reached(plan_.nodes.size());
  std::vector<std::size_t> sources;
  for (const Viewed& one : views_) {
    reached[one.node] = std::max(reached[one.node], one.occurrence);
    // While others of its superstep wait, what it has sent is not delivered.
    if (scheduler_.left() > 0 && one.superstep == scheduler_.superstep()) {
      sources.push_back(one.node);
    }
  }
  for (const Ended& one : parked_) sources.push_back(one.delivery.node);
  std::vector<bool> awaited = led_to(plan_, std::move(sources));
  for (const Ended& one : parked_) awaited[one.delivery.node] = true;  // More may wait behind it.
  Json dropped = Json::object();
  const auto is_unreached = [&](const std::string& path, const std::string& id) {
    const auto node = plan_.node_of.find(path);
    if (node == plan_.node_of.end() || awaited[node->second]) return false;
    return occurrence_in(id, path.size()) > reached[node->second];
  };
  each_of(before_, finished_prefix, [&](const std::string& id, const Json& stored) {
    if (stored.is_null() || !is_unreached(id.substr(0, id.rfind('/')), id)) return;
    dropped[std::string(finished_prefix) + id] = nullptr;
  });
  for (const Asked& one : open_requests(before_)) {
    if (is_unreached(one.executor, one.id)) {
      attempt_.remove_state(std::string(request_prefix) + one.id);
    }
  }
  const std::size_t gone = dropped.size();
  if (gone > 0) attempt_.update_state(std::move(dropped));
  looked_at(gone);
}

}  // namespace triage::inline v0_1::workflow::detail
