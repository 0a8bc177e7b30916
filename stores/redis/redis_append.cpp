// SPDX-License-Identifier: MIT
// Starting, owning and appending to runs in the Redis store.
#include "redis_numbers.hpp"
#include "redis_scripts.hpp"
#include "redis_store.hpp"
#include "storage/busy_run.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/same_record.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

std::string milliseconds(WallTime time) { return std::to_string(time.time_since_epoch().count()); }

// How many records go into one entry of a stream. More are no faster, and what reads a part of a
// run reads whole entries; the server takes none of a gigabyte.
constexpr std::size_t most_an_entry = 64;
constexpr std::size_t most_bytes_an_entry = std::size_t{1} << 20U;

std::string records_an_entry(std::span<const Record> records, const RedisWords& words) {
  std::size_t largest = 1;
  for (std::size_t i = words.size() - 2 * records.size(); i < words.size(); ++i) {
    largest = std::max(largest, words[i].size());
  }
  return std::to_string(std::clamp(most_bytes_an_entry / largest, std::size_t{1}, most_an_entry));
}

// Epoch, checksum, kind, time and body; what follows the second colon distinguishes records with
// the same sequence. Errors: Errc::invalid_argument.
Result<std::string> value_of(const Lease& lease, const Record& record) {
  constexpr std::size_t digits = 8;
  const Record::Bytes* const ready = record.bytes();
  std::string value = std::to_string(lease.epoch);
  if (ready != nullptr && *ready != nullptr) value.reserve(value.size() + 19 + (*ready)->size());
  value.push_back(':');
  const std::size_t check = value.size();
  value.append(digits, '0');
  value.push_back(':');
  value.push_back(static_cast<char>(record.kind()));
  const auto ms = static_cast<std::uint64_t>(record.time().time_since_epoch().count());
  for (int i = 0; i < 8; ++i) value.push_back(static_cast<char>(ms >> (8 * i)));
  const std::size_t begin = value.size();
  record.encode_body(value);
  const std::string_view body = std::string_view(value).substr(begin);
  if (!fits_in_memory(body)) {
    return Error{Errc::invalid_argument, "record " + std::to_string(record.seq()) + " of run \"" +
                                             lease.run +
                                             "\" is deeper or larger than what can be read back"};
  }
  const std::uint32_t crc =
      record_checksum(lease.run, lease.epoch, record.seq(), record.kind(), record.time(), body);
  value.replace(check, digits, hex_number(crc, digits));
  return outcome::success(std::move(value));
}

Lease lease_of(const RunId& run, const std::string& birth, std::uint64_t epoch) {
  return {.run = run, .epoch = epoch, .handle = number<std::int64_t>(birth)};
}

Error fenced(const Lease& lease, const std::string& why) {
  return {Errc::fenced, "the lease of run \"" + printable(lease.run) + "\" (epoch " +
                            std::to_string(lease.epoch) + ") is lost: " + printable(why)};
}

}  // namespace

// Appends how many records go into an entry, then sequence and value of each.
Result<void> RedisJournals::add_records(const Lease& lease, std::span<const Record> records,
                                        RedisWords& words) const {
  const std::size_t many = words.size();
  words.reserve(many + 1 + 2 * records.size());
  words.emplace_back();
  for (const Record& record : records) {
    if (record.seq() == 0 || record.seq() > largest_sequence) {
      return Error{Errc::invalid_argument,
                   "sequence " + std::to_string(record.seq()) + ": allowed are 1 to 2^53"};
    }
    TRIAGE_TRY(value, value_of(lease, record));
    words.push_back(std::to_string(record.seq()));
    words.push_back(std::move(value));
  }
  words[many] = records_an_entry(records, words);
  return outcome::success();
}

Result<Lease> RedisJournals::start(const RunInfo& run, std::span<const Record> records) {
  TRIAGE_TRYV(check_run_id(run.id));
  TRIAGE_TRYV(writable());
  const std::string birth = std::to_string(real_random()->next() >> 1U);
  const Lease lease = lease_of(run.id, birth, 1);
  const WallTime updated = records.empty() ? run.updated : records.back().time();
  const Sequence last = records.empty() ? 0 : records.back().seq();
  RedisWords words{birth,
                   mark_.text(),
                   std::to_string(options_.lease_timeout.count()),
                   std::to_string(options_.ttl.count()),
                   run.agent,
                   run.label,
                   run.parent,
                   std::string(to_string(run.status)),
                   milliseconds(run.started),
                   milliseconds(updated),
                   std::to_string(last)};
  TRIAGE_TRYV(add_records(lease, records, words));
  // Listed before it exists, so that no run is unlisted.
  TRIAGE_TRYV(list_before_start(run.id, birth));
  {
    const std::scoped_lock here(mutex_);
    held_[birth] = {"1", last};
  }
  // If the outcome is unknown: free for all others, and known here, so that a retry finds it.
  const auto unknown = [&](const Error& error) {
    const std::scoped_lock here(mutex_);
    mark_.give_up({lease.handle, lease.epoch});
    return error;
  };
  const auto answer =
      run_script(redis_scripts::start, {facts_key(run.id), log_key(run.id)}, std::move(words));
  if (!answer) return unknown(answer.error());
  if (answer.value().word != "ok") {
    forget(lease);
    return started_before(run.id, records);
  }
  // Once more, because this process may have been stopped for so long that the name was taken off.
  const auto listed = ask({"SADD", list_key(), run.id});
  if (!listed) return unknown(listed.error());
  return outcome::success(lease);
}

// The lease of a run that was already started with the same records: the reply was lost.
Result<Lease> RedisJournals::started_before(const RunId& run, std::span<const Record> records) {
  const Error conflict{Errc::conflict, "run \"" + run + "\" exists already"};
  const auto facts = facts_of(run);
  if (!facts || facts.value().owner != mark_.text() || facts.value().epoch != "1" ||
      !facts.value().has_lease || records.empty() ||
      facts.value().info.last != records.back().seq()) {
    return conflict;
  }
  Lease lease = lease_of(run, facts.value().birth, 1);
  if (!holds(lease)) return conflict;
  TRIAGE_TRY(reading, read(run, {}));
  if (!same_records(reading.records, records)) return conflict;
  const std::scoped_lock here(mutex_);
  mark_.forget({lease.handle, lease.epoch});
  return outcome::success(std::move(lease));
}

// One at a time: between the server's answer and the note of it, the run looks given up.
Result<Lease> RedisJournals::acquire(const RunId& run) {
  const std::scoped_lock acquiring(acquiring_);
  return take(run);
}

Result<Lease> RedisJournals::take(const RunId& run) {
  TRIAGE_TRY(facts, facts_of(run));
  const Error busy = detail::busy_run(run, facts.owner, mark_.text());
  if (facts.info.owned) return busy;
  if (!facts.has_lease) {
    return Error{Errc::corrupt, "what the Redis server has about run \"" + run + "\" is damaged"};
  }
  const auto answer = run_script(
      redis_scripts::acquire, {facts_key(run), log_key(run)},
      {facts.birth, facts.epoch, facts.owner, mark_.text(), std::to_string(real_random()->next()),
       std::to_string(options_.lease_timeout.count()), std::to_string(options_.ttl.count())});
  const LeaseKey next{number<std::int64_t>(facts.birth), number<std::uint64_t>(facts.epoch) + 1};
  const std::scoped_lock here(mutex_);
  if (!answer) {  // Nobody knows whether it was granted.
    mark_.give_up(next);
    return answer.error();
  }
  const auto& [word, epoch] = answer.value();
  if (word == "gone") {
    return Error{Errc::not_found, "no run \"" + run + "\" in this Redis store"};
  }
  if (word != "ok") return busy;  // Another process was faster.
  mark_.forget(next);
  held_[facts.birth] = {epoch, facts.info.last};
  return outcome::success(lease_of(run, facts.birth, number<std::uint64_t>(epoch)));
}

Result<RedisJournals::Answer> RedisJournals::owner_script(const char* script, const Lease& lease,
                                                          RedisWords more,
                                                          const RedisWords& more_keys) {
  TRIAGE_TRYV(check_run_id(lease.run));
  if (!holds(lease)) return fenced(lease, "it was released, or belongs to another store");
  more.insert(more.begin(),
              {std::to_string(lease.handle), std::to_string(lease.epoch), mark_.text()});
  RedisWords keys{facts_key(lease.run), log_key(lease.run)};
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  TRIAGE_TRY(answer, run_script(script, keys, std::move(more)));
  if (answer.word == "fenced") {
    forget(lease);
    return fenced(lease, answer.more);
  }
  return outcome::success(std::move(answer));
}

bool RedisJournals::holds(const Lease& lease) {
  const std::scoped_lock here(mutex_);
  const auto held = held_.find(std::to_string(lease.handle));
  return held != held_.end() && held->second.epoch == std::to_string(lease.epoch);
}

void RedisJournals::forget(const Lease& lease) {
  const std::scoped_lock here(mutex_);
  const auto held = held_.find(std::to_string(lease.handle));
  if (held != held_.end() && held->second.epoch == std::to_string(lease.epoch)) held_.erase(held);
}

Result<void> RedisJournals::append(const Lease& lease, std::span<const Record> records,
                                   RunStatus status) {
  RedisWords words{std::to_string(options_.lease_timeout.count()),
                   std::to_string(options_.ttl.count()), std::string(to_string(status)),
                   records.empty() ? std::string("0") : milliseconds(records.back().time())};
  const std::string birth = std::to_string(lease.handle);
  Sequence known = 0;
  {
    const std::scoped_lock here(mutex_);
    if (const auto held = held_.find(birth); held != held_.end()) known = held->second.last;
  }
  words.push_back(std::to_string(known));
  TRIAGE_TRYV(add_records(lease, records, words));
  TRIAGE_TRY(answer, owner_script(redis_scripts::append, lease, std::move(words)));
  if (answer.word == "ok") {
    const std::scoped_lock here(mutex_);
    const auto held = held_.find(birth);
    if (held != held_.end() && !records.empty()) {
      held->second.last = std::max(held->second.last, records.back().seq());
    }
    return outcome::success();
  }
  if (answer.word == "lost") {
    return Error{Errc::corrupt, "the Redis server has lost what it acknowledged of run \"" +
                                    lease.run + "\": the records behind " + answer.more +
                                    " up to " + std::to_string(known) +
                                    "; it was restarted without them, as appendfsync everysec and "
                                    "no allow"};
  }
  return Error{Errc::conflict, "record " + answer.more + " of run \"" + lease.run +
                                   "\" is stored already, with other content"};
}

Result<void> RedisJournals::renew(const Lease& lease) {
  TRIAGE_TRY(answer, owner_script(redis_scripts::renew, lease,
                                  {std::to_string(options_.lease_timeout.count()),
                                   std::to_string(options_.ttl.count())}));
  static_cast<void>(answer);
  return outcome::success();
}

Result<void> RedisJournals::release(const Lease& lease) {
  const auto answer = owner_script(redis_scripts::release, lease, {});
  const bool stale = !answer && answer.error().code == Errc::fenced;
  if (stale) return outcome::success();
  // Given up from now on, even where that cannot be written.
  forget(lease);
  if (answer) return outcome::success();
  const std::scoped_lock here(mutex_);
  mark_.give_up({lease.handle, lease.epoch});
  return answer.error();
}

// The keys first, under a lease: a run that stays can be erased again, while keys that stayed would
// be found by the next run of this name.
Result<void> RedisJournals::erase(const RunId& run) {
  const std::scoped_lock acquiring(acquiring_);  // Of several erasures, one meets the run.
  const auto lease = take(run);
  if (!lease && lease.error().code == Errc::not_found) {
    TRIAGE_TRYV(erase_keys({.info = {.id = run}}));  // What an interrupted erasure left.
  }
  if (lease) {
    auto erased = erase_seen(run, {.birth = std::to_string(lease.value().handle),
                                   .epoch = std::to_string(lease.value().epoch),
                                   .owner = mark_.text()});
    if (erased) forget(lease.value());
    if (!erased) static_cast<void>(release(lease.value()));
    return erased;
  }
  if (lease.error().code != Errc::corrupt) return lease.error();
  TRIAGE_TRY(damaged, facts_of(run));  // A lease on it cannot be had.
  return erase_seen(run, damaged);
}

Result<void> RedisJournals::erase_seen(const RunId& run, const RunFacts& seen) {
  TRIAGE_TRY(reading, read(run, {}));
  TRIAGE_TRYV(erase_keys(reading));
  TRIAGE_TRY(answer, run_script(redis_scripts::erase, {facts_key(run), log_key(run)},
                                {seen.birth, seen.epoch, seen.owner}));
  if (answer.word == "gone") {
    return Error{Errc::not_found, "no run \"" + run + "\" in this Redis store"};
  }
  if (answer.word != "ok") return Error{Errc::busy, "run \"" + run + "\" is under way"};
  return unlist(run, seen.birth);
}

// While the mark of a start lives, nobody takes the run's name off the list.
Result<void> RedisJournals::list_before_start(const RunId& run, const std::string& birth) {
  constexpr std::chrono::milliseconds more = std::chrono::minutes(1);
  const std::string lives = std::to_string((2 * options_.timeout + more).count());
  TRIAGE_TRY(answers,
             ask_all({{"SET", starting_key(run), birth, "PX", lives}, {"SADD", list_key(), run}}));
  for (const auto& answer : answers) {
    if (!answer) return answer.error();
  }
  return outcome::success();
}

// birth: of the run that was erased; empty if it has expired.
Result<void> RedisJournals::unlist(const RunId& run, const std::string& birth) {
  TRIAGE_TRYV(run_script(redis_scripts::unlist, {list_key(), starting_key(run)}, {run, birth}));
  // A run of this name may have been started so long ago that its mark is gone.
  TRIAGE_TRY(there, ask({"EXISTS", facts_key(run)}));
  if (there->integer != 0) {
    TRIAGE_TRYV(ask({"SADD", list_key(), run}));
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
