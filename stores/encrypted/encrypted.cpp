// SPDX-License-Identifier: MIT
#include "triage/stores/encrypted.hpp"

#include "base/run_catching.hpp"
#include "encrypted_sealing.hpp"
#include "spare_buffers.hpp"
#include "storage/lease_use.hpp"
#include "triage/detail/store_extension.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace triage::inline v0_1 {
namespace detail {
namespace {

// How much of a run is re-encrypted at a time: it is in memory, and a server takes no statement of
// a gigabyte. A part whose records turn out large is followed by a smaller one.
constexpr Sequence first_part = 8;
constexpr Sequence most_records = 1'000;
constexpr std::size_t most_bytes = std::size_t{16} << 20U;

// The encoded body, in `buffer` unless the record has it already.
std::string_view body_of(const Record& record, std::string& buffer) {
  if (const Record::Bytes* const bytes = record.bytes(); bytes != nullptr && *bytes != nullptr) {
    return **bytes;
  }
  buffer.clear();
  record.encode_body(buffer);
  return buffer;
}

// Whether another run may be rotated where this one was not: it is in use, damaged, or has a record
// that the store does not take again.
bool concerns_one_run(Errc code) {
  return code == Errc::busy || code == Errc::fenced || code == Errc::corrupt ||
         code == Errc::invalid_argument;
}

class Encrypted final : public EncryptedStore {
 public:
  Encrypted(std::shared_ptr<CheckpointStore> store, EncryptionOptions options)
      : EncryptedStore(std::move(store)), sealer_(std::move(options)) {}
  ~Encrypted() override { stop_queue(); }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    TRIAGE_TRY(sealed, seal(run.id, records));
    return inner().start(run, sealed);
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    TRIAGE_TRY(sealed, seal(lease.run, records));
    return inner().append(lease, sealed, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    std::vector<std::vector<Record>> sealed(batches.size());
    std::vector<AppendBatch> passed;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      auto records = seal(batches[i].lease.run, batches[i].records);
      if (!records) {
        batches[i].outcome = records.error();
        continue;
      }
      sealed[i] = std::move(records).value();
      passed.push_back(
          {.lease = batches[i].lease, .records = sealed[i], .status = batches[i].status});
      which.push_back(i);
    }
    inner().append_group(passed);
    for (std::size_t i = 0; i < which.size(); ++i) batches[which[i]].outcome = passed[i].outcome;
  }

  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override {
    auto* const compacts = extension_of<CompactsRuns>(inner());
    if (compacts == nullptr) {
      return Error{Errc::unsupported,
                   "the store behind the encryption cannot put other records in the place of a "
                   "run's"};
    }
    TRIAGE_TRY(sealed, seal(lease.run, instead));
    return compacts->replace(lease, ranges, sealed);
  }

  Result<KeyRotation> rotate(std::stop_token stop) override {
    if (extension_of<CompactsRuns>(inner()) == nullptr) return replace({}, {}, {}).error();
    KeyRotation done;
    TRIAGE_TRY(all, inner().runs({.limit = 0}));
    for (const RunInfo& run : all) {
      const auto before = done.records;
      const auto rotated = stop.stop_requested() ? Result<bool>(false) : rotate_run(run.id, done);
      if (!rotated && rotated.error().code == Errc::not_found) continue;  // Erased meanwhile.
      if (!rotated && !concerns_one_run(rotated.error().code)) return rotated.error();
      if (!rotated || !rotated.value()) done.left.push_back(run.id);
      if (rotated && rotated.value() && done.records > before) ++done.runs;
    }
    for (const OwnSpace space : {OwnSpace::suspensions, OwnSpace::signals, OwnSpace::forks,
                                 OwnSpace::breakers, OwnSpace::limiters, OwnSpace::retry_budgets}) {
      if (stop.stop_requested()) break;
      TRIAGE_TRYV(rotate_values(own_space(space), done));
    }
    return outcome::success(std::move(done));
  }

  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    TRIAGE_TRY(reading, inner().read(run, range));
    std::vector<Record> opened;
    opened.reserve(reading.records.size());
    std::string buffer;
    Sealer::UnknownKeys unknown;
    const auto before = static_cast<std::ptrdiff_t>(reading.damaged.size());
    for (const Record& record : reading.records) {
      auto body = sealer_.open(body_of(record, buffer), place_of(run, record), unknown);
      if (body) {
        opened.emplace_back(record.seq(), record.kind(), record.time(),
                            std::make_shared<const std::string>(std::move(body).value()));
        continue;
      }
      Error why{body.error().code, "record " + std::to_string(record.seq()) + " of run \"" + run +
                                       "\": " + body.error().detail};
      // Only Errc::corrupt means damage. Otherwise a repair would drop intact records merely
      // because the user's key lookup failed.
      if (why.code != Errc::corrupt) return why;
      reading.damaged.push_back({record.seq(), std::move(why), record.kind()});
    }
    // Both parts ascend. One merge: an insertion for each takes too long where all are damaged.
    std::inplace_merge(
        reading.damaged.begin(), reading.damaged.begin() + before, reading.damaged.end(),
        [](const DamagedRecord& a, const DamagedRecord& b) { return a.seq < b.seq; });
    reading.records = std::move(opened);
    return outcome::success(std::move(reading));
  }

  // Reads from decrypted bodies, because the inner store cannot interpret sealed ones.
  Result<JournalReading> read_newest(const RunId& run) override {
    return CheckpointStore::read_newest(run);
  }
  Result<Checkpoint> load(const CheckpointId& id) override { return CheckpointStore::load(id); }
  Result<State> load_state(const CheckpointId& id) override {
    return CheckpointStore::load_state(id);
  }
  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run) override {
    return CheckpointStore::checkpoints(run);
  }
  Result<Checkpoint> latest(const RunId& run) override { return CheckpointStore::latest(run); }
  // The keys first, under a lease: a run that stays can be erased again, while keys that stayed
  // would be found by the next run of this name.
  Result<void> erase(const RunId& run) override {
    const std::scoped_lock erasing(erasing_);  // Of several erasures, one meets the run.
    const auto lease = inner().acquire(run);
    if (lease) {
      const LeaseUse use(inner(), lease.value());
      TRIAGE_TRYV(erase_sealed_keys(run));
    } else if (lease.error().code == Errc::corrupt) {
      TRIAGE_TRYV(erase_sealed_keys(run));  // A lease on it cannot be had.
    } else if (lease.error().code != Errc::not_found) {
      return lease.error();
    }
    return inner().erase(run);
  }
  Result<std::size_t> prune(const Retention& retention) override {
    return CheckpointStore::prune(retention);
  }
  Result<std::size_t> erase_all(std::span<const RunId> runs) override {
    return CheckpointStore::erase_all(runs);
  }

  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override {
    TRIAGE_TRY(stored, inner().get(space, key));
    if (!stored) return outcome::success(std::optional<VersionedValue>());
    Sealer::UnknownKeys unknown;
    auto bytes = sealer_.open(stored->bytes, place_of(space, key), unknown);
    if (!bytes) {
      return Error{bytes.error().code,
                   "the value of key \"" + printable(key) + "\": " + bytes.error().detail};
    }
    return outcome::success(
        std::optional<VersionedValue>(VersionedValue{std::move(bytes).value(), stored->version}));
  }
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    std::string sealed;
    sealer_.seal(bytes, place_of(space, key), sealed);
    return inner().put_if(space, key, expected, sealed);
  }

 private:
  // The inner store removes the signals. It cannot see the tickets, nor whose the label is.
  Result<void> erase_sealed_keys(const RunId& run) {
    TRIAGE_TRY(reading, read(run, {}));
    for (const Record& record : reading.records) {
      const std::string ticket = ticket_of(record);
      if (ticket.empty()) continue;
      TRIAGE_TRYV(forget(OwnSpace::suspensions, ticket));
    }
    const std::string label = keys_of(reading.info).label;
    if (label.empty()) return outcome::success();
    const auto holder = get(own_space(OwnSpace::forks), label);
    if (!holder && holder.error().code != Errc::corrupt) return holder.error();
    if (!holder || !holder.value() || holder.value()->bytes != run) return outcome::success();
    return forget(OwnSpace::forks, label);
  }

  // Removes a key, also one whose value cannot be decrypted.
  Result<void> forget(OwnSpace space, const std::string& key) {
    TRIAGE_TRY(stored, inner().get(own_space(space), key));
    if (!stored) return outcome::success();
    auto gone = inner().erase_if(own_space(space), key, stored->version);
    if (!gone && gone.error().code == Errc::unsupported) return outcome::success();
    return gone;
  }

  [[nodiscard]] bool writes_whole_runs() {
    const auto* const compacts = extension_of<CompactsRuns>(inner());
    return compacts != nullptr && compacts->writes_whole_runs();
  }

  // Calls `take` with one part of a run after the other until it has seen all or returns nothing;
  // otherwise it returns how many bytes the part had. A part is what is in memory at a time.
  template <class Take>
  Result<void> in_parts(Sequence last, const Take& take) {
    Sequence together = writes_whole_runs() ? last : first_part;
    for (Sequence first = 1; first <= last;) {
      TRIAGE_TRY(bytes, take(SequenceRange{first, first + together - 1}));
      if (!bytes) break;
      first += together;
      together = *bytes > most_bytes ? std::max<Sequence>(1, together / 2)
                                     : std::min(most_records, 2 * together);
    }
    return outcome::success();
  }

  [[nodiscard]] static std::size_t size_of(const Record& record) {
    std::string buffer;
    return body_of(record, buffer).size();
  }
  [[nodiscard]] bool is_newest(const Record& record) const {
    std::string buffer;
    return sealer_.is_newest(body_of(record, buffer));
  }

  // Re-seals the records of a run in `range`, under its lease; returns their bytes. Nothing: some
  // are damaged.
  Result<std::optional<std::size_t>> rotate_part(const Lease& lease, SequenceRange range,
                                                 KeyRotation& done) {
    TRIAGE_TRY(sealed, inner().read(lease.run, range));
    TRIAGE_TRY(opened, read(lease.run, range));
    std::vector<SequenceRange> ranges;
    std::vector<Record> again;
    std::size_t bytes = 0;
    std::size_t together = 0;
    const auto replace_these = [&]() -> Result<void> {
      if (again.empty()) return outcome::success();
      TRIAGE_TRYV(replace(lease, ranges, again));
      done.records += again.size();
      ranges.clear();
      again.clear();
      together = 0;
      return outcome::success();
    };
    for (std::size_t i = 0, at = 0; i < sealed.records.size() && at < opened.records.size(); ++i) {
      const Record& record = sealed.records[i];
      bytes += size_of(record);
      if (opened.records[at].seq() != record.seq()) continue;  // It cannot be decrypted.
      if (!is_newest(record)) {
        ranges.push_back({record.seq(), record.seq()});
        again.push_back(opened.records[at]);
        together += size_of(record);
      }
      ++at;
      // Large ones may come after many small ones.
      if (together >= most_bytes && !writes_whole_runs()) {
        TRIAGE_TRYV(replace_these());
      }
    }
    TRIAGE_TRYV(replace_these());
    return outcome::success(opened.damaged.empty() ? std::optional(bytes) : std::nullopt);
  }

  // False if some records could not be re-sealed.
  Result<bool> rotate_run(const RunId& run, KeyRotation& done) {
    TRIAGE_TRY(info, inner().run(run));
    bool newest = true;
    TRIAGE_TRYV(in_parts(info.last, [&](SequenceRange range) -> Result<std::optional<std::size_t>> {
      TRIAGE_TRY(part, inner().read(run, range));
      std::size_t bytes = 0;
      for (const Record& record : part.records) {
        bytes += size_of(record);
        newest = newest && is_newest(record);
      }
      return outcome::success(newest ? std::optional(bytes) : std::nullopt);
    }));
    if (newest) return true;
    TRIAGE_TRY(lease, inner().acquire(run));
    const LeaseUse use(inner(), lease);
    bool whole = true;
    TRIAGE_TRYV(in_parts(info.last, [&](SequenceRange range) -> Result<std::optional<std::size_t>> {
      TRIAGE_TRY(bytes, rotate_part(lease, range, done));
      whole = bytes.has_value();
      if (whole) static_cast<void>(inner().renew(lease));
      return outcome::success(bytes);
    }));
    return whole;
  }

  Result<void> rotate_values(std::string_view space, KeyRotation& done) {
    TRIAGE_TRY(keys, inner().list(space, ""));
    for (const std::string& key : keys) {
      TRIAGE_TRY(stored, inner().get(space, key));
      if (!stored || sealer_.is_newest(stored->bytes)) continue;
      const auto opened = get(space, key);
      if (!opened && opened.error().code == Errc::io) return opened.error();
      if (!opened || !opened.value()) continue;  // Damaged, or gone.
      const auto put = put_if(space, key, stored->version, opened.value()->bytes);
      if (!put && put.error().code != Errc::conflict) return put.error();
      if (put) ++done.values;
    }
    return outcome::success();
  }

  Result<std::vector<Record>> seal(const RunId& run, std::span<const Record> records) {
    std::vector<Record> sealed;
    sealed.reserve(records.size());
    std::string buffer;
    for (const Record& record : records) {
      const std::string_view body = body_of(record, buffer);
      // To the inner store the body is only text.
      if (!fits_in_memory(body)) {
        return Error{Errc::invalid_argument, "record " + std::to_string(record.seq()) +
                                                 " of run \"" + run +
                                                 "\" is deeper or larger than what can be read "
                                                 "back"};
      }
      const auto box = spare_.take(body.size());
      sealer_.seal(body, place_of(run, record), *box);
      sealed.emplace_back(record.seq(), record.kind(), record.time(), Record::Bytes(box));
    }
    return outcome::success(std::move(sealed));
  }

  Sealer sealer_;
  SpareBuffers spare_;
  std::mutex erasing_;
};

}  // namespace
}  // namespace detail

Result<std::shared_ptr<EncryptedStore>> EncryptedStore::around(
    std::shared_ptr<CheckpointStore> inner, EncryptionOptions options) {
  if (inner == nullptr) return Error{Errc::invalid_argument, "there is no store to encrypt"};
  // It sees sealed bodies only, and compacts nothing.
  if (detail::nearest_extension<detail::CompactsInPassing>(*inner) != nullptr) {
    return Error{Errc::invalid_argument,
                 "the store to encrypt is a CompactingStore, which could not read what it is to "
                 "compact; allowed is a CompactingStore around an EncryptedStore"};
  }
  TRIAGE_TRYV(detail::check_store_key(options.key));
  std::set<std::string> ids{options.key.id};
  for (const StoreKey& key : options.older) {
    TRIAGE_TRYV(detail::check_store_key(key));
    if (!ids.insert(key.id).second) {
      return Error{Errc::invalid_argument, "two keys are called \"" + key.id + "\""};
    }
  }
  return outcome::success(std::shared_ptr<EncryptedStore>(
      std::make_shared<detail::Encrypted>(std::move(inner), std::move(options))));
}

}  // namespace triage::inline v0_1
