// SPDX-License-Identifier: MIT
#include "triage/stores/memory.hpp"

#include "storage/run_query.hpp"
#include "triage/detail/same_record.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

struct StoredRun {
  RunInfo info{};
  std::uint64_t epoch = 0;
  std::uint64_t first_epoch = 0;  // Issued by start().
  std::weak_ptr<const void> holder{};
  std::deque<Record> records{};

  [[nodiscard]] bool is_held() const { return info.owned && !holder.expired(); }
  [[nodiscard]] RunInfo seen() const {
    RunInfo all = info;
    all.owned = is_held();
    return all;
  }
  Lease lend(const RunId& run) {
    std::shared_ptr<const void> held = holder.lock();
    if (!held) held = std::make_shared<char>();
    holder = held;
    return {.run = run, .epoch = epoch, .holder = std::move(held)};
  }
};

Error no_such_run(const RunId& run) {
  return {Errc::not_found, "no run \"" + printable(run) + "\" in this memory store"};
}

// The first record from this sequence on.
std::deque<Record>::const_iterator find_from(const std::deque<Record>& records, Sequence seq) {
  return std::lower_bound(
      records.begin(), records.end(), seq,
      [](const Record& stored, Sequence wanted) { return stored.seq() < wanted; });
}

// True if the same record is stored: an append is retried because its reply was lost.
bool is_stored(const std::deque<Record>& records, const Record& record) {
  const auto at = find_from(records, record.seq());
  return at != records.end() && detail::same_record(*at, record);
}

// True if the same run was started and the reply was lost.
bool started_before(const StoredRun& stored, std::span<const Record> records) {
  return stored.info.owned && stored.epoch == stored.first_epoch && !records.empty() &&
         stored.records.size() == records.size() &&
         std::all_of(records.begin(), records.end(),
                     [&](const Record& record) { return is_stored(stored.records, record); });
}

}  // namespace

struct MemoryStore::Data {
  std::mutex mutex;
  std::map<RunId, StoredRun, std::less<>> runs;
  std::uint64_t last_epoch = 0;  // Of all runs, so that an erased run's lease fits no later run.
  std::map<std::pair<std::string, std::string>, VersionedValue> values;

  Result<StoredRun*> find(const RunId& run) {
    const auto found = runs.find(run);
    if (found == runs.end()) return no_such_run(run);
    return &found->second;
  }
  Result<StoredRun*> owned(const Lease& lease) {
    const auto found = runs.find(lease.run);
    if (found == runs.end()) return no_such_run(lease.run);
    if (found->second.epoch != lease.epoch || !found->second.info.owned) {
      return Error{Errc::fenced,
                   "the lease of run \"" + lease.run + "\" (epoch " + std::to_string(lease.epoch) +
                       ") is lost; the newest epoch is " + std::to_string(found->second.epoch)};
    }
    return &found->second;
  }

  void erase_keys(const StoredRun& run) {
    using detail::own_space;
    using detail::OwnSpace;
    const auto place = [](OwnSpace space, const std::string& key) {
      return std::pair(std::string(own_space(space)), key);
    };
    const detail::RunKeys keys = detail::keys_of(run.info);
    for (const Record& record : run.records) {
      const std::string ticket = detail::ticket_of(record);
      if (!ticket.empty()) values.erase(place(OwnSpace::suspensions, ticket));
    }
    const auto first = place(OwnSpace::signals, keys.signals);
    auto at = values.lower_bound(first);
    while (at != values.end() && at->first.first == first.first &&
           at->first.second.starts_with(keys.signals)) {
      at = values.erase(at);
    }
    const auto label = values.find(place(OwnSpace::forks, keys.label));
    if (label != values.end() && label->second.bytes == run.info.id) values.erase(label);
  }
};

std::shared_ptr<MemoryStore> MemoryStore::create() { return std::make_shared<MemoryStore>(); }
MemoryStore::MemoryStore() : data_(std::make_unique<Data>()) {}
MemoryStore::~MemoryStore() { stop_queue(); }

StoreCapabilities MemoryStore::capabilities() const noexcept {
  return {.renew_every = std::chrono::milliseconds::zero()};
}

Result<Lease> MemoryStore::start(const RunInfo& run, std::span<const Record> records) {
  if (auto checked = check_run_id(run.id); !checked) return std::move(checked).error();
  const std::scoped_lock lock(data_->mutex);
  const auto [at, fresh] = data_->runs.try_emplace(run.id);
  StoredRun& stored = at->second;
  if (!fresh) {
    if (started_before(stored, records)) return outcome::success(stored.lend(run.id));
    return Error{Errc::conflict, "run \"" + run.id + "\" exists already"};
  }
  stored.info = run;
  stored.info.owned = true;
  stored.epoch = stored.first_epoch = ++data_->last_epoch;
  stored.records.assign(records.begin(), records.end());
  if (!records.empty()) {
    stored.info.last = records.back().seq();
    stored.info.updated = records.back().time();
  }
  return outcome::success(stored.lend(run.id));
}

Result<Lease> MemoryStore::acquire(const RunId& run) {
  const std::scoped_lock lock(data_->mutex);
  auto found = data_->find(run);
  if (!found) return std::move(found).error();
  StoredRun& stored = *found.value();
  if (stored.is_held()) return Error{Errc::busy, "run \"" + run + "\" is under way"};
  stored.info.owned = true;
  stored.epoch = ++data_->last_epoch;
  stored.holder.reset();
  return outcome::success(stored.lend(run));
}

Result<void> MemoryStore::renew(const Lease& lease) {
  const std::scoped_lock lock(data_->mutex);
  auto owned = data_->owned(lease);
  if (!owned) return std::move(owned).error();
  return outcome::success();
}

Result<void> MemoryStore::release(const Lease& lease) {
  const std::scoped_lock lock(data_->mutex);
  if (auto owned = data_->owned(lease)) owned.value()->info.owned = false;
  return outcome::success();
}

Result<void> MemoryStore::append(const Lease& lease, std::span<const Record> records,
                                 RunStatus status) {
  const std::scoped_lock lock(data_->mutex);
  auto owned = data_->owned(lease);
  if (!owned) return std::move(owned).error();
  StoredRun& stored = *owned.value();
  std::vector<const Record*> fresh;
  Sequence last = stored.info.last;
  for (const Record& record : records) {
    if (record.seq() == 0) {
      return Error{Errc::invalid_argument, "sequence 0; allowed are 1 and above"};
    }
    if (record.seq() > last) {
      last = record.seq();
      fresh.push_back(&record);
    } else if (!is_stored(stored.records, record)) {
      return Error{Errc::conflict, "record " + std::to_string(record.seq()) + " of run \"" +
                                       lease.run + "\" is stored already, with other content"};
    }
  }
  const std::size_t before = stored.records.size();
  try {
    for (const Record* record : fresh) stored.records.push_back(*record);
  } catch (...) {  // All or none.
    stored.records.erase(stored.records.begin() + static_cast<std::ptrdiff_t>(before),
                         stored.records.end());
    throw;
  }
  stored.info.last = last;
  stored.info.status = status;
  if (!records.empty()) stored.info.updated = records.back().time();
  return outcome::success();
}

Result<void> MemoryStore::replace(const Lease& lease, std::span<const SequenceRange> ranges,
                                  std::span<const Record> instead) {
  if (auto checked = check_replacement(ranges, instead); !checked) return checked;
  const std::scoped_lock lock(data_->mutex);
  auto owned = data_->owned(lease);
  if (!owned) return std::move(owned).error();
  std::deque<Record>& records = owned.value()->records;
  std::erase_if(records, [&](const Record& record) { return in_one_of(ranges, record.seq()); });
  records.insert(records.end(), instead.begin(), instead.end());
  std::sort(records.begin(), records.end(),
            [](const Record& one, const Record& other) { return one.seq() < other.seq(); });
  return outcome::success();
}

Result<JournalReading> MemoryStore::read(const RunId& run, SequenceRange range) {
  const std::scoped_lock lock(data_->mutex);
  auto found = data_->find(run);
  if (!found) return std::move(found).error();
  const StoredRun& stored = *found.value();
  JournalReading reading{.info = stored.seen()};
  // Waiting runs are looked at by their newest record alone.
  for (auto at = find_from(stored.records, range.first);
       at != stored.records.end() && at->seq() <= range.last; ++at) {
    reading.records.push_back(*at);
  }
  return outcome::success(std::move(reading));
}

Result<std::vector<RunInfo>> MemoryStore::runs(const RunQuery& query) {
  const std::scoped_lock lock(data_->mutex);
  std::vector<RunInfo> matching;
  for (const auto& [id, stored] : data_->runs) {
    if (detail::fits(stored.info, query)) matching.push_back(stored.seen());
  }
  return outcome::success(detail::newest_first(std::move(matching), query.limit));
}

Result<RunInfo> MemoryStore::run(const RunId& id) {
  const std::scoped_lock lock(data_->mutex);
  auto found = data_->find(id);
  if (!found) return std::move(found).error();
  return outcome::success(found.value()->seen());
}

Result<void> MemoryStore::erase(const RunId& run) {
  const std::scoped_lock lock(data_->mutex);
  auto found = data_->find(run);
  if (!found) return std::move(found).error();
  if (found.value()->is_held()) return Error{Errc::busy, "run \"" + run + "\" is under way"};
  data_->erase_keys(*found.value());
  data_->runs.erase(run);
  return outcome::success();
}

Result<std::optional<VersionedValue>> MemoryStore::get(std::string_view space,
                                                       std::string_view key) {
  const std::scoped_lock lock(data_->mutex);
  const auto found = data_->values.find({std::string(space), std::string(key)});
  if (found == data_->values.end()) return outcome::success(std::optional<VersionedValue>());
  return outcome::success(std::optional<VersionedValue>(found->second));
}

Result<std::uint64_t> MemoryStore::put_if(std::string_view space, std::string_view key,
                                          std::uint64_t expected, std::string_view bytes) {
  if (auto allowed = check_space(space); !allowed) return std::move(allowed).error();
  const std::scoped_lock lock(data_->mutex);
  const std::pair<std::string, std::string> place{space, key};
  const auto found = data_->values.find(place);
  const std::uint64_t stored = found == data_->values.end() ? 0 : found->second.version;
  if (stored != expected) {
    return Error{Errc::conflict, "key \"" + std::string(key) + "\" has version " +
                                     std::to_string(stored) + ", expected " +
                                     std::to_string(expected)};
  }
  data_->values[place] = {std::string(bytes), stored + 1};
  return outcome::success(stored + 1);
}

Result<void> MemoryStore::erase_if(std::string_view space, std::string_view key,
                                   std::uint64_t expected) {
  if (auto allowed = check_space(space); !allowed) return std::move(allowed).error();
  const std::scoped_lock lock(data_->mutex);
  const auto found = data_->values.find({std::string(space), std::string(key)});
  if (found == data_->values.end()) return outcome::success();
  if (found->second.version != expected) {
    return Error{Errc::conflict, "key \"" + std::string(key) + "\" has version " +
                                     std::to_string(found->second.version) + ", expected " +
                                     std::to_string(expected)};
  }
  data_->values.erase(found);
  return outcome::success();
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view space,
                                                   std::string_view prefix) {
  const std::scoped_lock lock(data_->mutex);
  std::vector<std::string> keys;
  for (const auto& [place, value] : data_->values) {
    if (place.first == space && place.second.starts_with(prefix)) keys.push_back(place.second);
  }
  return outcome::success(std::move(keys));
}

}  // namespace triage::inline v0_1
