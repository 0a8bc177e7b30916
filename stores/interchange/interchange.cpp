// SPDX-License-Identifier: MIT
#include "triage/stores/interchange.hpp"

#include "interchange_lines.hpp"
#include "triage/detail/same_record.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <istream>
#include <optional>
#include <set>
#include <utility>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr std::size_t most_together = 500;  // Records per append.

std::string encoded(const Record& record) {
  std::string body;
  record.encode_body(body);
  return body;
}

Result<void> export_keys(CheckpointStore& from, const JournalReading& reading, ExportWriter& out) {
  const RunKeys names = keys_of(reading.info);
  const auto put = [&](OwnSpace space, const std::string& key) -> Result<void> {
    TRIAGE_TRY(value, from.get(own_space(space), key));
    if (value) out.key({space, key, value->bytes});
    return outcome::success();
  };
  for (const Record& record : reading.records) {
    const std::string ticket = ticket_of(record);
    if (ticket.empty()) continue;
    TRIAGE_TRYV(put(OwnSpace::suspensions, ticket));
  }
  TRIAGE_TRY(signals, from.list(own_space(OwnSpace::signals), names.signals));
  for (const std::string& key : signals) {
    TRIAGE_TRYV(put(OwnSpace::signals, key));
  }
  if (names.label.empty()) return outcome::success();
  TRIAGE_TRY(holder, from.get(own_space(OwnSpace::forks), names.label));
  if (!holder || holder->bytes != reading.info.id) return outcome::success();
  return put(OwnSpace::forks, names.label);
}

// Whether the run exists with exactly these records. Errors: Errc::conflict if it has others.
class Comparison {
 public:
  explicit Comparison(JournalReading stored) : stored_(std::move(stored)) {}
  void meet(const Record& record) {
    const bool fits =
        next_ < stored_.records.size() && detail::same_record(stored_.records[next_], record);
    same_ = same_ && fits;
    ++next_;
  }
  [[nodiscard]] bool is_same() const {
    return same_ && next_ == stored_.records.size() && stored_.damaged.empty();
  }

 private:
  JournalReading stored_;
  std::size_t next_ = 0;
  bool same_ = true;
};

// Checks the whole file, and which of its runs already exist, without writing anything. Null: there
// is no store yet.
Result<std::set<RunId>> look_through(CheckpointStore* to, std::istream& in,
                                     const ImportOptions& options) {
  ExportReader reader(in);
  std::set<RunId> seen;
  std::set<RunId> there;
  std::optional<Comparison> comparison;
  RunId run;
  Sequence last = 0;
  Sequence promised = 0;
  const auto finish = [&]() -> Result<void> {
    if (!run.empty() && last > promised) {
      return Error{Errc::corrupt,
                   "the export has more records of run \"" + run + "\" than it says"};
    }
    if (!comparison) return outcome::success();
    if (!options.leave_same || !comparison->is_same()) {
      return Error{Errc::conflict, "run \"" + run + "\" is in the store already" +
                                       (comparison->is_same() ? "" : ", with other records") +
                                       "; nothing was imported"};
    }
    there.insert(run);
    return outcome::success();
  };
  while (true) {
    TRIAGE_TRY(line, reader.next());
    if (line.run || line.end) {
      TRIAGE_TRYV(finish());
      comparison.reset();
    }
    if (line.end) return outcome::success(std::move(there));
    if (line.run) {
      run = line.run->id;
      promised = line.run->last;
      last = 0;
      if (!seen.insert(run).second) {
        return Error{Errc::corrupt, "the export has run \"" + run + "\" twice"};
      }
      if (to == nullptr) continue;
      auto stored = to->read(run, {});
      if (stored) comparison.emplace(std::move(stored).value());
      if (!stored && stored.error().code != Errc::not_found) return stored.error();
    } else if (line.record) {
      if (run.empty() || line.record->seq() <= last || !fits_in_memory(encoded(*line.record))) {
        return Error{Errc::corrupt, "record " + std::to_string(line.record->seq()) +
                                        " of the export has no place in a journal"};
      }
      last = line.record->seq();
      if (comparison) comparison->meet(*line.record);
    } else if (line.key && run.empty()) {
      return Error{Errc::corrupt, "a key of the export belongs to no run"};
    }
  }
}

// The second pass: writes what the first pass has checked.
class Importer {
 public:
  Importer(CheckpointStore& to, const std::set<RunId>& there) : to_(to), there_(there) {}

  Result<Interchanged> write(std::istream& in) {
    const Result<void> written = write_all(in);
    if (written) return outcome::success(std::move(done_));
    if (lease_) static_cast<void>(to_.release(*lease_));
    for (const RunId& run : done_.runs) static_cast<void>(to_.erase(run));
    return written.error();
  }

 private:
  Result<void> write_all(std::istream& in) {
    ExportReader reader(in);
    while (true) {
      TRIAGE_TRY(line, reader.next());
      if (line.run || line.end) {
        TRIAGE_TRYV(finish());
      }
      if (line.end) return outcome::success();
      if (line.run && there_.contains(line.run->id)) {
        ++done_.left_out;
      } else if (line.run) {
        run_ = *std::move(line.run);
      } else if (line.record && run_) {
        records_.push_back(*std::move(line.record));
        if (records_.size() >= most_together) {
          TRIAGE_TRYV(append(RunStatus::running));
        }
      } else if (line.key && run_) {
        TRIAGE_TRYV(put(*line.key));
      }
    }
  }

  // Starts the run with the first records and appends the rest.
  Result<void> append(RunStatus status) {
    done_.records += records_.size();
    if (lease_) {
      TRIAGE_TRYV(to_.append(*lease_, records_, status));
    } else {
      RunInfo info = *run_;
      info.status = status;
      auto lease = to_.start(info, records_);
      // Perhaps only the reply was lost: starting a run again in the same way returns its lease.
      if (!lease && lease.error().code != Errc::conflict) lease = to_.start(info, records_);
      if (!lease) return lease.error();
      lease_ = std::move(lease).value();
      done_.runs.push_back(info.id);
    }
    records_.clear();
    return outcome::success();
  }

  Result<void> put(const ExportedKey& key) {
    if (!lease_ || !records_.empty()) {
      TRIAGE_TRYV(append(RunStatus::running));
    }
    const std::string_view space = own_space(key.space);
    TRIAGE_TRY(stored, to_.get(space, key.key));
    if (stored && stored->bytes == key.bytes) return outcome::success();
    TRIAGE_TRYV(to_.put_if(space, key.key, stored ? stored->version : 0, key.bytes));
    return outcome::success();
  }

  Result<void> finish() {
    if (!run_) return outcome::success();
    TRIAGE_TRYV(append(run_->status));
    if (run_->status != RunStatus::running || !records_.empty()) {
      TRIAGE_TRYV(to_.append(*lease_, {}, run_->status));
    }
    TRIAGE_TRYV(to_.release(*lease_));
    lease_.reset();
    run_.reset();
    return outcome::success();
  }

  CheckpointStore& to_;
  const std::set<RunId>& there_;
  Interchanged done_{};
  std::optional<RunInfo> run_{};
  std::optional<Lease> lease_{};
  std::vector<Record> records_{};
};

}  // namespace
}  // namespace detail

Result<Interchanged> export_runs(CheckpointStore& from, std::span<const RunId> runs,
                                 std::ostream& out, const ExportOptions& options) {
  Interchanged done{.runs = {runs.begin(), runs.end()}};
  if (runs.empty()) {
    TRIAGE_TRY(all, from.runs({.limit = 0}));
    for (const RunInfo& info : all) done.runs.push_back(info.id);
    std::reverse(done.runs.begin(), done.runs.end());  // Origins before their branches.
  }
  detail::ExportWriter writer(out);
  writer.head();
  for (const RunId& run : done.runs) {
    TRIAGE_TRY(reading, from.read(run, {}));
    const std::size_t damaged = reading.damaged.size() + (reading.info.damaged ? 1 : 0);
    if (damaged != 0 && !options.leave_out_damaged) {
      return Error{Errc::corrupt,
                   "run \"" + run + "\" has " + std::to_string(damaged) +
                       " damaged records; `triage checkpoint verify` tells more, and only what is "
                       "intact can be exported"};
    }
    done.left_out += reading.damaged.size();
    writer.run(reading.info);
    for (const Record& record : reading.records) writer.record(record);
    TRIAGE_TRYV(detail::export_keys(from, reading, writer));
  }
  TRIAGE_TRYV(writer.end());
  done.records = writer.sums().records;
  return outcome::success(std::move(done));
}

Result<void> check_export(std::istream& in) {
  const auto there = detail::look_through(nullptr, in, {});
  if (!there) return there.error();
  return outcome::success();
}

Result<Interchanged> import_runs(CheckpointStore& to, std::istream& in,
                                 const ImportOptions& options) {
  TRIAGE_TRY(there, detail::look_through(&to, in, options));
  in.clear();
  in.seekg(0);
  if (!in) return Error{Errc::io, "the export cannot be read again from its beginning"};
  return detail::Importer(to, there).write(in);
}

}  // namespace triage::inline v0_1
