// SPDX-License-Identifier: MIT
// Starting, owning and appending to runs in the JSON-file store.
#include "json_file_store.hpp"
#include "storage/busy_run.hpp"
#include "triage/detail/try.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::uint32_t lock_files = 256;  // Shared by runs, so that none need be removed.

std::string canonical_body(const Record& record) {
  std::string bytes;
  if (const auto body = record.body()) {
    encode_cbor(body.value(), bytes);
  } else {
    record.encode_body(bytes);
  }
  return bytes;
}

bool is_stored(const std::vector<Record>& stored, const Record& record) {
  const auto at =
      std::lower_bound(stored.begin(), stored.end(), record.seq(),
                       [](const Record& known, Sequence wanted) { return known.seq() < wanted; });
  return at != stored.end() && at->seq() == record.seq() && at->kind() == record.kind() &&
         at->time() == record.time() && canonical_body(*at) == canonical_body(record);
}

LeaseKey key_of(std::uint64_t birth, std::uint64_t epoch) {
  return {static_cast<std::int64_t>(birth), epoch};
}

}  // namespace

// Hands the lease out and tracks its holder from then on: a lease whose reply gets lost is free.
Lease JsonFileJournals::lend(Held& held) {
  std::shared_ptr<const void> holder = held.holder.lock();
  if (!holder) holder = std::make_shared<char>();
  held.holder = holder;
  return {.run = held.head.info.id,
          .epoch = held.stand.epoch,
          .handle = static_cast<std::int64_t>(held.head.birth),
          .holder = std::move(holder)};
}

Result<FileLock> JsonFileJournals::lock(const RunId& run, bool shared) const {
  const std::string number = std::to_string(crc32c(run) % lock_files);
  return FileLock::take(folder_ + "/locks/" + number, shared, options_.busy_timeout);
}

Error JsonFileJournals::fenced(const Lease& lease, const std::string& why) {
  return {Errc::fenced, "the lease of run \"" + printable(lease.run) + "\" (epoch " +
                            std::to_string(lease.epoch) + ") is lost: " + why};
}

bool JsonFileJournals::owned(const RunStand& stand, std::uint64_t birth,
                             std::int64_t unseen_ms) const {
  if (stand.owner.empty()) return false;
  if (stand.owner == mark_.text()) {  // Ours: only this object knows whether a run holds it.
    return std::any_of(held_.begin(), held_.end(), [&](const auto& one) {
      return one.second.head.birth == birth && one.second.stand.epoch == stand.epoch &&
             !one.second.holder.expired();
    });
  }
  switch (check_owner(stand.owner, mark_.text(), key_of(birth, stand.epoch))) {
    case OwnerLife::alive:
    case OwnerLife::stopped: return true;
    case OwnerLife::gone: return false;
    case OwnerLife::elsewhere: break;
  }
  // A time far in the future comes from a clock that was set back since; it would never expire.
  return std::abs(unseen_ms) < options_.lease_timeout.count();
}

Result<JsonFileJournals::Held*> JsonFileJournals::check_held(const Lease& lease) {
  const auto found = held_.find(lease.run);
  if (found == held_.end() || found->second.stand.epoch != lease.epoch ||
      static_cast<std::int64_t>(found->second.head.birth) != lease.handle) {
    return fenced(lease, "it was released, or belongs to another store");
  }
  Held& held = found->second;
  const std::string path = segment_path(runs_folder(), lease.run, held.head.segment);
  // A newer owner may have gone on in the next file, and left this one as it was.
  const bool next = held.end > options_.segment_bytes &&
                    exists(segment_path(runs_folder(), lease.run, held.head.segment + 1));
  struct stat status {};
  if (!next && ::stat(path.c_str(), &status) == 0 && mark_of(status) == held.file &&
      static_cast<std::uint64_t>(status.st_size) == held.end) {
    return outcome::success(&held);
  }
  // Another process has written, or our append failed half-way.
  const auto seen = glance_at_run(runs_folder(), lease.run);
  if (!seen && seen.error().code != Errc::not_found) return seen.error();
  const bool ours = seen && seen.value().head.birth == held.head.birth &&
                    seen.value().stand.epoch == held.stand.epoch &&
                    seen.value().stand.owner == mark_.text();
  if (!ours) {
    held_.erase(found);
    return fenced(lease, seen ? "a newer owner took the run" : "the run was erased");
  }
  held.head.segment = seen.value().segment;
  held.head.generation = seen.value().head.generation;
  held.stand = seen.value().stand;
  held.file = seen.value().file;
  held.end = seen.value().end;
  return outcome::success(&held);
}

// The file may have been cut off, or replaced by an older one.
Result<void> JsonFileJournals::check_whole(const Held& held) {
  if (held.stand.last >= held.acknowledged) return outcome::success();
  return Error{Errc::corrupt,
               "run \"" + held.head.info.id + "\" has lost acknowledged records: those behind " +
                   std::to_string(held.stand.last) + " up to " + std::to_string(held.acknowledged) +
                   "; its file was cut off, or an older one took its place"};
}

Result<std::string> JsonFileJournals::lines_of(const RunId& run,
                                               std::span<const Record* const> fresh,
                                               const RunStand& stand) const {
  if (fresh.empty()) return stand_line(run, stand);
  std::string text;
  std::string encoded;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    encoded.clear();
    fresh[i]->encode_body(encoded);
    if (!fits_in_memory(encoded)) {
      return Error{Errc::invalid_argument, "record " + std::to_string(fresh[i]->seq()) +
                                               " of run \"" + run +
                                               "\" is deeper or larger than what can be read back"};
    }
    append_record_line(run, *fresh[i], encoded, fresh.size() - 1 - i, stand, text);
  }
  return outcome::success(std::move(text));
}

Result<void> JsonFileJournals::sync_names(Held& held) const {
  if (!synced() || held.folder_synced) return outcome::success();
  TRIAGE_TRYV(sync_folder(runs_folder()));
  held.folder_synced = true;
  return outcome::success();
}

Result<void> JsonFileJournals::write(Held& held, const std::string& text) {
  // Else a synced line may be in a file that has no name on the disk.
  TRIAGE_TRYV(sync_names(held));
  const RunId& run = held.head.info.id;
  const bool rolls = held.end > options_.segment_bytes;
  const std::string path = segment_path(runs_folder(), run, held.head.segment + (rolls ? 1 : 0));
  if (rolls) {
    RunHead head = held.head;
    ++head.segment;
    // What a compaction or an erasure left that was cut off.
    if (exists(path) && newest_segment(runs_folder(), run) < head.segment) {
      TRIAGE_TRYV(remove_file(path));
    }
    const std::string whole = head_line(head) + text;
    TRIAGE_TRYV(create_whole(folder_ + "/tmp", path, whole, synced()));
    held.head = std::move(head);
    held.end = whole.size();
  } else {
    TRIAGE_TRY(file, open_file(path, O_WRONLY));
    TRIAGE_TRYV(write_at(file, path, held.end, text, synced()));
    held.end += text.size();
    TRIAGE_TRY(status, status_of(file, path));
    held.file = mark_of(status);
    return outcome::success();
  }
  return mark(held);
}

Result<void> JsonFileJournals::mark(Held& held) const {
  const std::string path = segment_path(runs_folder(), held.head.info.id, held.head.segment);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return file_error("looking at", path);
  held.file = mark_of(status);
  return outcome::success();
}

Result<void> JsonFileJournals::write_stand(Held& held, RunStand stand) {
  TRIAGE_TRYV(write(held, stand_line(held.head.info.id, stand)));
  held.stand = std::move(stand);
  return outcome::success();
}

Result<Lease> JsonFileJournals::start(const RunInfo& run, std::span<const Record> records) {
  TRIAGE_TRYV(writable());
  TRIAGE_TRYV(check_run_id(run.id));
  const std::scoped_lock here(mutex_);
  auto locked = lock(run.id);
  if (!locked) return locked.error();
  const std::string path = segment_path(runs_folder(), run.id, 1);
  if (exists(path)) return started_before(run.id, records);
  Held held{.head = {.info = run, .birth = real_random()->next()}};
  held.stand = {.status = run.status, .epoch = 1, .owner = mark_.text(), .updated = run.updated};
  std::vector<const Record*> fresh;
  for (const Record& record : records) {
    if (record.seq() <= held.stand.last) {
      return Error{Errc::invalid_argument,
                   "sequence " + std::to_string(record.seq()) + " is not above the one before it"};
    }
    held.stand.last = record.seq();
    held.stand.updated = record.time();
    fresh.push_back(&record);
  }
  TRIAGE_TRY(lines, lines_of(run.id, fresh, held.stand));
  const std::string text = head_line(held.head) + lines;
  if (exists(segment_path(runs_folder(), run.id, 2))) {  // Remains of an interrupted erasure.
    TRIAGE_TRYV(remove_remains(run.id));
  }
  TRIAGE_TRYV(create_whole(folder_ + "/tmp", path, text, synced()));
  TRIAGE_TRYV(mark(held));
  held.folder_synced = true;
  held.end = text.size();
  held.acknowledged = held.stand.last;
  Lease lease = lend(held);
  held_[run.id] = std::move(held);
  return outcome::success(std::move(lease));
}

// The lease of a run that was already started with the same records: the reply was lost.
Result<Lease> JsonFileJournals::started_before(const RunId& run, std::span<const Record> records) {
  const Error conflict{Errc::conflict, "run \"" + run + "\" exists already"};
  const auto held = held_.find(run);
  if (held == held_.end() || held->second.stand.epoch != 1 || records.empty()) return conflict;
  Lease lease = lend(held->second);
  if (!check_held(lease)) return conflict;
  TRIAGE_TRY(scan, scan_run(runs_folder(), run));
  const bool same = scan.records.size() == records.size() && scan.damaged.empty() &&
                    std::all_of(records.begin(), records.end(), [&](const Record& record) {
                      return is_stored(scan.records, record);
                    });
  if (!same) return conflict;
  return outcome::success(std::move(lease));
}

Result<Lease> JsonFileJournals::acquire(const RunId& run) {
  TRIAGE_TRYV(writable());
  TRIAGE_TRYV(check_run_id(run));
  const std::scoped_lock here(mutex_);
  auto locked = lock(run);
  if (!locked) return locked.error();
  TRIAGE_TRY(seen, glance_at_run(runs_folder(), run));
  if (seen.damaged) {
    return Error{Errc::corrupt, "the first line of run \"" + run + "\" is damaged"};
  }
  if (owned(seen.stand, seen.head.birth, seen.unseen_ms)) {
    return detail::busy_run(run, seen.stand.owner, mark_.text());
  }
  Held held{.head = seen.head, .stand = seen.stand, .file = seen.file, .end = seen.end};
  held.head.segment = seen.segment;
  RunStand stand = seen.stand;
  ++stand.epoch;
  stand.owner = mark_.text();
  TRIAGE_TRYV(write_stand(held, std::move(stand)));
  if (seen.torn > 0) {
    warning_ = "run \"" + run + "\" ended with " + std::to_string(seen.torn) +
               " bytes of an append that was cut off before it was acknowledged; they are removed";
  }
  mark_.forget(key_of(seen.head.birth, seen.stand.epoch));
  held.acknowledged = held.stand.last;
  Lease lease = lend(held);
  held_[run] = std::move(held);
  return outcome::success(std::move(lease));
}

Result<void> JsonFileJournals::renew(const Lease& lease) {
  TRIAGE_TRYV(writable());
  const std::scoped_lock here(mutex_);
  auto locked = lock(lease.run);
  if (!locked) return locked.error();
  TRIAGE_TRY(held, check_held(lease));
  const std::string path = segment_path(runs_folder(), lease.run, held->head.segment);
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0) return file_error("renewing", path);
  return mark(*held);
}

Result<void> JsonFileJournals::release(const Lease& lease) {
  TRIAGE_TRYV(writable());
  const std::scoped_lock here(mutex_);
  const auto found = held_.find(lease.run);
  if (found == held_.end() || found->second.stand.epoch != lease.epoch ||
      static_cast<std::int64_t>(found->second.head.birth) != lease.handle) {
    return outcome::success();
  }
  // Given up from now on, even where that cannot be written.
  const LeaseKey key = key_of(found->second.head.birth, lease.epoch);
  const auto written = [&]() -> Result<void> {
    auto locked = lock(lease.run);
    if (!locked) return locked.error();
    TRIAGE_TRY(held, check_held(lease));
    RunStand stand = held->stand;
    stand.owner.clear();
    return write_stand(*held, std::move(stand));
  }();
  held_.erase(lease.run);
  if (written || written.error().code == Errc::fenced) return outcome::success();
  mark_.give_up(key);
  return written;
}

Result<std::vector<const Record*>> JsonFileJournals::not_stored(const Held& held,
                                                                std::span<const Record> records) {
  std::vector<const Record*> fresh;
  Sequence last = held.stand.last;
  std::optional<RunScan> stored;
  for (const Record& record : records) {
    if (record.seq() == 0) {
      return Error{Errc::invalid_argument, "sequence 0; allowed are 1 and above"};
    }
    if (record.seq() > last) {
      last = record.seq();
      fresh.push_back(&record);
      continue;
    }
    if (!stored) {
      TRIAGE_TRY(scan, scan_run(runs_folder(), held.head.info.id));
      stored = std::move(scan);
    }
    if (!is_stored(stored->records, record)) {
      return Error{Errc::conflict, "record " + std::to_string(record.seq()) + " of run \"" +
                                       held.head.info.id +
                                       "\" is stored already, with other content"};
    }
  }
  return outcome::success(std::move(fresh));
}

Result<void> JsonFileJournals::append(const Lease& lease, std::span<const Record> records,
                                      RunStatus status) {
  TRIAGE_TRYV(writable());
  const std::scoped_lock here(mutex_);
  auto locked = lock(lease.run);
  if (!locked) return locked.error();
  TRIAGE_TRY(held, check_held(lease));
  TRIAGE_TRYV(check_whole(*held));
  TRIAGE_TRY(fresh, not_stored(*held, records));
  if (fresh.empty() && held->stand.status == status) return outcome::success();
  RunStand stand = held->stand;
  stand.status = status;
  if (!fresh.empty()) {
    stand.last = fresh.back()->seq();
    stand.updated = fresh.back()->time();
  }
  TRIAGE_TRY(text, lines_of(lease.run, fresh, stand));
  TRIAGE_TRYV(write(*held, text));
  held->stand = std::move(stand);
  held->acknowledged = held->stand.last;
  return outcome::success();
}

// The keys first: a run that stays can be erased again, while keys that stayed would be found by
// the next run of this name.
Result<void> JsonFileJournals::erase(const RunId& run) {
  TRIAGE_TRYV(writable());
  TRIAGE_TRYV(check_run_id(run));
  const std::scoped_lock here(mutex_);
  auto locked = lock(run);
  if (!locked) return locked.error();
  const auto seen = glance_at_run(runs_folder(), run);
  if (!seen && seen.error().code == Errc::not_found) {  // What an interrupted erasure left.
    TRIAGE_TRYV(remove_remains(run));
    TRIAGE_TRYV(erase_keys({.info = {.id = run}}));
  }
  if (!seen) return seen.error();
  if (owned(seen.value().stand, seen.value().head.birth, seen.value().unseen_ms)) {
    return Error{Errc::busy, "run \"" + run + "\" is under way"};
  }
  TRIAGE_TRY(scan, scan_run(runs_folder(), run));
  JournalReading going{.info = scan.head.info, .records = std::move(scan.records)};
  going.info.id = run;
  TRIAGE_TRYV(erase_keys(going));
  // The first segment first: then the run is gone.
  TRIAGE_TRYV(remove_file(segment_path(runs_folder(), run, 1)));
  if (synced()) {
    TRIAGE_TRYV(sync_folder(runs_folder()));
  }
  TRIAGE_TRYV(remove_further_files(run));
  held_.erase(run);
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
