// SPDX-License-Identifier: MIT
#include "values.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

bool gone(const JsonPtr& value) { return !value || value->is_null(); }

}  // namespace

std::string private_scope(const std::string& path) { return "p|" + path; }
std::string shared_scope(const std::string& workflow, std::string_view name) {
  return "s|" + workflow + "|" + std::string(name);
}

const Reducer* Values::reducer(const std::string& scope, const std::string& key) const {
  if (scope.front() != 's') return nullptr;
  const std::string_view path = std::string_view(scope).substr(2, scope.find('|', 2) - 2);
  for (const PlanScope& one : plan_.scopes) {
    if (one.path != path) continue;
    const auto found = one.spec->reducers.find(key);
    return found == one.spec->reducers.end() ? nullptr : &found->second;
  }
  return nullptr;
}

JsonPtr Values::combined(const std::string& scope, const std::string& key, const JsonPtr& before,
                         const JsonPtr& written) const {
  const Reducer* reduce = reducer(scope, key);
  if (reduce == nullptr || gone(written)) return gone(written) ? nullptr : written;
  return std::make_shared<const Json>((*reduce)(gone(before) ? Json() : *before, *written));
}

JsonPtr Values::fold(const Key& key, std::vector<Entry> entries) const {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.superstep, a.writer) < std::tie(b.superstep, b.writer);
  });
  JsonPtr value;
  if (const auto found = committed_.find(key); found != committed_.end()) value = found->second;
  for (const Entry& entry : entries) value = combined(key.first, key.second, value, entry.value);
  return value;
}

// Whether `cause` finished before `effect` began in every possible execution order.
bool Values::led_to(const Origin& cause, const Delivery& effect) const {
  if (cause.node == effect.node) return cause.occurrence < effect.occurrence;
  std::vector<Origin> next = effect.from;
  if (effect.occurrence > 1) next.push_back({effect.node, effect.occurrence - 1});
  std::set<Origin> seen;
  while (!next.empty()) {
    const Origin origin = next.back();
    next.pop_back();
    if (origin.node == cause.node && origin.occurrence >= cause.occurrence) return true;
    const auto found = causes_.find(origin);
    if (found == causes_.end() || !seen.insert(origin).second) continue;
    next.insert(next.end(), found->second.begin(), found->second.end());
    if (origin.occurrence > 1) next.push_back({origin.node, origin.occurrence - 1});
  }
  return false;
}

JsonPtr Values::read(const Delivery& reader, const std::string& scope, std::string_view key) const {
  const std::shared_lock lock(mutex_);
  const Key wanted{scope, std::string(key)};
  std::vector<Entry> visible;
  if (const auto found = entries_.find(wanted); found != entries_.end()) {
    for (const Entry& entry : found->second) {
      const bool own = entry.writer.node == reader.node;
      if (own || (schedule_ == Schedule::eager && led_to(entry.writer, reader))) {
        visible.push_back(entry);
      }
    }
  }
  JsonPtr value = fold(wanted, std::move(visible));
  return gone(value) ? nullptr : value;
}

std::map<std::string, JsonPtr> Values::all(const Delivery& reader, const std::string& scope) const {
  std::map<std::string, JsonPtr> found;
  {
    const std::shared_lock lock(mutex_);
    const auto gather = [&](const auto& from) {
      for (auto one = from.lower_bound({scope, ""}); one != from.end() && one->first.first == scope;
           ++one) {
        found.emplace(one->first.second, nullptr);
      }
    };
    gather(committed_);
    gather(entries_);
  }
  for (auto& [key, value] : found) value = read(reader, scope, key);
  std::erase_if(found, [](const auto& one) { return one.second == nullptr; });
  return found;
}

Result<void> Values::check_writers(const Key& key, const Delivery& writer) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || reducer(key.first, key.second) != nullptr) {
    return outcome::success();
  }
  for (const Entry& entry : found->second) {
    if (entry.writer.node == writer.node) continue;
    if (schedule_ == Schedule::eager && led_to(entry.writer, writer)) continue;
    const std::string& one = plan_.nodes[std::min(entry.writer.node, writer.node)].path;
    const std::string& other = plan_.nodes[std::max(entry.writer.node, writer.node)].path;
    return Error{Errc::conflict,
                 "state key \"" + printable(key.second) + "\" is written by executors \"" + one +
                     "\" and \"" + other +
                     "\" at once, and no reducer says how they agree (WorkflowBuilder::reducer)"};
  }
  return outcome::success();
}

Result<void> Values::add(const Delivery& writer, std::span<const Write> writes) {
  const std::unique_lock lock(mutex_);
  const Origin origin{writer.node, writer.occurrence};
  if (schedule_ == Schedule::eager) causes_.emplace(origin, writer.from);
  for (const Write& write : writes) {
    const Key key{write.scope, write.key};
    TRIAGE_TRYV(check_writers(key, writer));
    entries_[key].push_back({origin, writer.superstep, write.value});
  }
  return outcome::success();
}

Result<void> Values::commit() {
  const std::unique_lock lock(mutex_);
  if (schedule_ == Schedule::eager) return outcome::success();
  for (auto& [key, entries] : entries_) {
    JsonPtr value = fold(key, std::move(entries));
    if (gone(value)) {
      committed_.erase(key);
    } else {
      committed_[key] = std::move(value);
    }
  }
  entries_.clear();
  return outcome::success();
}

Json Values::json() const {
  const std::shared_lock lock(mutex_);
  Json all = Json::object();
  for (const auto& [key, value] : committed_) all[key.first][key.second] = *value;
  for (const auto& [key, entries] : entries_) {
    const JsonPtr value = fold(key, entries);
    if (!gone(value)) all[key.first][key.second] = *value;
  }
  return all;
}

}  // namespace triage::inline v0_1::workflow::detail
