// SPDX-License-Identifier: MIT
#include "values.hpp"
#include "base/json_words.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

bool gone(const JsonPtr& value) { return !value || value->is_null(); }

}  // namespace

std::string private_scope(const std::string& path) { return "p|" + path; }
std::string shared_scope(const std::string& workflow, std::string_view name) {
  return "s|" + workflow + "|" + std::string(name);
}

std::vector<Write> migrated_writes(const Values& values, const Delivery& after,
                                   const std::string& scope, const Json& migrated) {
  std::map<std::string, JsonPtr> writes;
  for (const auto& [key, value] : values.all(after, scope)) writes[key] = nullptr;
  for (const auto& [key, value] : migrated.items()) {
    writes[key] = std::make_shared<const Json>(value);
  }
  std::vector<Write> all;
  for (auto& [key, value] : writes) all.push_back({scope, key, std::move(value)});
  return all;
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
  const auto refused = [&](const std::string& why) {
    return std::invalid_argument("the reducer of state key \"" + printable(key) +
                                 "\" does not take " + show(*written).substr(0, 100) + ": " + why);
  };
  Json reduced;
  try {
    reduced = (*reduce)(gone(before) ? Json() : *before, *written);
  } catch (const std::exception& e) {
    throw refused(triage::detail::json_words(e.what()));
  } catch (...) {
    throw refused("an exception that is not a std::exception");
  }
  if (auto checked = check_json(reduced, "what it gives"); !checked) {
    throw refused(checked.error().detail);
  }
  return std::make_shared<const Json>(std::move(reduced));
}

JsonPtr Values::committed(const Key& key) const {
  const auto found = committed_.find(key);
  return found == committed_.end() ? nullptr : found->second;
}

JsonPtr Values::fold(const Key& key, std::vector<Entry> entries) const {
  std::stable_sort(entries.begin(), entries.end(), is_before);
  JsonPtr value = committed(key);
  for (const Entry& entry : entries) value = after(key, value, entry);
  return value;
}

JsonPtr Values::after(const Key& key, const JsonPtr& before, const Entry& entry) const {
  return entry.sets ? entry.value : combined(key.first, key.second, before, entry.value);
}

// What finished before the delivery began in every possible execution order. That of the same node
// before it is part of it, so a loop only looks at what is new since its last turn.
std::shared_ptr<const Values::Past> Values::past_of(const Delivery& delivery) const {
  std::shared_ptr<const Past> before;
  {
    const std::scoped_lock lock(pasts_mutex_);
    if (const auto known = pasts_.find(delivery.node); known != pasts_.end())
      before = known->second;
  }
  std::vector<Origin> next = delivery.from;
  next.push_back({delivery.node, delivery.occurrence - 1});
  const bool has_all = before && std::all_of(next.begin(), next.end(), [&](const Origin& one) {
                         return one.node == from_outside || belongs_to(*before, one);
                       });
  if (has_all) return before;
  auto past = before ? std::make_shared<Past>(*before) : std::make_shared<Past>();
  while (!next.empty()) {
    const Origin origin = next.back();
    next.pop_back();
    for (int& known = (*past)[origin.node]; known < origin.occurrence;) {
      const auto found = causes_.find({origin.node, ++known});
      if (found == causes_.end()) continue;
      next.insert(next.end(), found->second.begin(), found->second.end());
    }
  }
  const std::scoped_lock lock(pasts_mutex_);
  pasts_[delivery.node] = past;
  return past;
}

// Whether the newest entry comes from a delivery that led to the reader. Searches backwards only as
// far as others that see the entry, so reading a nearby value does not scan the whole past.
bool Values::sees_newest(const Delivery& reader, const Written& written) const {
  const Origin newest = written.entries.back().writer;
  const std::scoped_lock lock(pasts_mutex_);
  const auto sees = [&](const Origin& one) {
    return (one.node == newest.node && one.occurrence >= newest.occurrence) ||
           written.seen_by.contains(one);
  };
  const Origin before{reader.node, reader.occurrence - 1};
  if (sees(before) || std::any_of(reader.from.begin(), reader.from.end(), sees)) return true;
  std::set<Origin> known{before};
  known.insert(reader.from.begin(), reader.from.end());
  std::vector<Origin> next(known.begin(), known.end());
  for (std::size_t i = 0; i < next.size(); ++i) {  // The near ones first.
    const auto causes = causes_.find(next[i]);
    if (causes == causes_.end()) continue;
    std::vector<Origin> further = causes->second;
    further.push_back({next[i].node, next[i].occurrence - 1});
    for (const Origin& cause : further) {
      if (sees(cause)) {
        written.seen_by.insert({reader.node, reader.occurrence});
        return true;
      }
      if (known.insert(cause).second) next.push_back(cause);
    }
  }
  return false;
}

JsonPtr Values::read_eager(const Delivery& reader, const Key& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = written_.find(key);
  if (found == written_.end()) return fold(key, {});
  const bool all = reducer(key.first, key.second) != nullptr;  // Else the newest takes their place.
  if (!all && sees_newest(reader, found->second)) return fold(key, {found->second.entries.back()});
  const auto past = past_of(reader);
  std::vector<Entry> visible;
  for (const Entry& entry : found->second.entries) {
    if (!belongs_to(*past, entry.writer)) continue;
    if (!all && !visible.empty()) {
      if (!is_before(entry, visible.front())) visible.front() = entry;
    } else {
      visible.push_back(entry);
    }
  }
  return fold(key, std::move(visible));
}

// A node that has many deliveries in a superstep, as have those that share a key with it, pays for
// what it has written since it read last, and for nothing else.
JsonPtr Values::read(const Delivery& reader, const std::string& scope, std::string_view key) const {
  const Key wanted{scope, std::string(key)};
  const auto value_or_none = [](JsonPtr value) { return gone(value) ? nullptr : std::move(value); };
  if (schedule_ == Schedule::eager) return value_or_none(read_eager(reader, wanted));
  {
    const std::shared_lock lock(mutex_);
    const auto found = written_.find(wanted);
    const Own* own = nullptr;
    if (found != written_.end()) {
      const auto one = found->second.of_node.find(reader.node);
      if (one != found->second.of_node.end()) own = &one->second;
    }
    if (own == nullptr) return value_or_none(committed(wanted));
    if (own->seen == own->written.size()) return value_or_none(own->value);
  }
  const std::unique_lock lock(mutex_);
  Own& own = written_[wanted].of_node[reader.node];
  JsonPtr value = own.seen == 0 ? committed(wanted) : own.value;
  for (std::size_t i = own.seen; i < own.written.size(); ++i) {
    value = after(wanted, value, own.written[i]);
  }
  own.value = value;
  own.seen = own.written.size();
  return value_or_none(std::move(value));
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
    gather(written_);
  }
  for (auto& [key, value] : found) value = read(reader, scope, key);
  std::erase_if(found, [](const auto& one) { return one.second == nullptr; });
  return found;
}

Result<void> Values::check_writers(const Key& key, const Delivery& writer) const {
  const auto found = written_.find(key);
  if (found == written_.end() || reducer(key.first, key.second) != nullptr) {
    return outcome::success();
  }
  const auto conflict = [&](std::size_t other) -> Error {
    return {Errc::conflict,
            "state key \"" + printable(key.second) + "\" is written by executors \"" +
                plan_.nodes[std::min(other, writer.node)].path + "\" and \"" +
                plan_.nodes[std::max(other, writer.node)].path +
                "\" at once, and no reducer says how they agree (WorkflowBuilder::reducer)"};
  };
  if (schedule_ == Schedule::supersteps) {
    for (const auto& [node, own] : found->second.of_node) {
      if (node != writer.node) return conflict(node);
    }
    return outcome::success();
  }
  // Who wrote it last has seen all before it.
  const std::size_t last = found->second.entries.back().writer.node;
  if (last == writer.node || sees_newest(writer, found->second)) return outcome::success();
  return conflict(last);
}

Result<void> Values::add(const Delivery& writer, std::span<const Write> writes) {
  const std::unique_lock lock(mutex_);
  const Origin origin{writer.node, writer.occurrence};
  if (schedule_ == Schedule::eager) causes_.emplace(origin, writer.from);
  for (const Write& write : writes) {
    const Key key{write.scope, write.key};
    if (auto checked = check_writers(key, writer); !checked) {
      refused_ = schedule_ == Schedule::supersteps;
      return checked;
    }
    Written& written = written_[key];
    Entry entry{origin, writer.superstep, write.value, write.sets};
    if (schedule_ == Schedule::supersteps) written.of_node[writer.node].written.push_back(entry);
    written.entries.push_back(std::move(entry));
    written.seen_by.clear();
  }
  if (schedule_ == Schedule::eager && writer.occurrence == 1) {
    const std::scoped_lock own(pasts_mutex_);
    pasts_.erase(writer.node);
  }
  return outcome::success();
}

Result<void> Values::commit() {
  const std::unique_lock lock(mutex_);
  if (schedule_ == Schedule::eager) return outcome::success();
  for (auto& [key, written] : written_) {
    JsonPtr value = fold(key, std::move(written.entries));
    if (gone(value)) {
      committed_.erase(key);
    } else {
      committed_[key] = std::move(value);
    }
  }
  written_.clear();
  return outcome::success();
}

Json Values::json() const {
  const std::shared_lock lock(mutex_);
  Json all = Json::object();
  for (const auto& [key, value] : committed_) all[key.first][key.second] = *value;
  if (refused_) return all;
  for (const auto& [key, written] : written_) {
    const JsonPtr value = fold(key, written.entries);
    if (!gone(value)) all[key.first][key.second] = *value;
  }
  return all;
}

}  // namespace triage::inline v0_1::workflow::detail
