// SPDX-License-Identifier: MIT
// Imports runs as parts that cannot be continued until the whole file is stored.
#include "interchange_check.hpp"
#include "storage/half_import.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <istream>
#include <optional>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace detail {
namespace {

// The most of an append: a server takes no statement of a gigabyte.
constexpr std::size_t most_records = 500;
constexpr std::size_t most_bytes = std::size_t{16} << 20U;

std::size_t size_of_body(const Record& record) {
  const Record::Bytes* const bytes = record.bytes();
  return bytes != nullptr && *bytes != nullptr ? (*bytes)->size() : 0;  // As read from a file.
}

// The second pass: writes what the first pass has checked.
class Importer {
 public:
  Importer(CheckpointStore& to, const ImportPlans& plans) : to_(to), plans_(plans) {}

  Result<Interchanged> write(std::istream& in) {
    const Result<void> written = write_all(in);
    if (written) return outcome::success(std::move(done_));
    return take_back(written.error());
  }

 private:
  // What a run gets once the whole file is in the store.
  struct Ending {
    RunId run{};
    RunStatus status{};
  };

  Result<void> write_all(std::istream& in) {
    ExportReader reader(in);
    while (true) {
      TRIAGE_TRY(line, reader.next());
      if (line.run || line.end) {
        TRIAGE_TRYV(finish());
      }
      if (line.end) return give_endings();
      const bool is_of_run = line.run || line.record || line.key;
      if (is_of_run && !plans_.contains(line.run ? line.run->id : run_.id)) {
        return Error{Errc::corrupt, "the export has changed while it was read"};
      }
      if (line.run) {
        TRIAGE_TRYV(begin(*std::move(line.run)));
      } else if (line.record && !plan().is_there) {
        TRIAGE_TRYV(add(*std::move(line.record)));
      } else if (line.key) {
        TRIAGE_TRYV(put(*line.key));
      }
    }
  }

  [[nodiscard]] const ImportPlan& plan() const { return plans_.at(run_.id); }

  Result<void> begin(RunInfo run) {
    run_ = std::move(run);
    if (plan().is_there) {
      ++done_.left_out;
      return outcome::success();
    }
    if (plan().is_half) {
      TRIAGE_TRYV(to_.erase(run_.id));
    }
    return mark_import(to_, run_, plan().last);
  }

  Result<void> add(Record record) {
    bytes_ += size_of_body(record);
    records_.push_back(std::move(record));
    if (records_.size() < most_records && bytes_ < most_bytes) return outcome::success();
    return append();
  }

  // Starts the run with the first records and appends the rest.
  Result<void> append() {
    done_.records += records_.size();
    if (lease_) {
      TRIAGE_TRYV(to_.append(*lease_, records_, importing));
    } else {
      RunInfo info = run_;
      info.status = importing;
      auto lease = to_.start(info, records_);
      // Perhaps only the reply was lost: starting a run again in the same way returns its lease.
      if (!lease && lease.error().code != Errc::conflict) lease = to_.start(info, records_);
      if (!lease) return lease.error();
      lease_ = std::move(lease).value();
      done_.runs.push_back(info.id);
    }
    records_.clear();
    bytes_ = 0;
    return outcome::success();
  }

  // An existing run may have used its keys since; only missing ones are written.
  Result<void> put(const ExportedKey& key) {
    if (!plan().is_there && (!lease_ || !records_.empty())) {
      TRIAGE_TRYV(append());
    }
    const std::string_view space = own_space(key.space);
    TRIAGE_TRY(stored, to_.get(space, key.key));
    if (stored && (plan().is_there || stored->bytes == key.bytes)) return outcome::success();
    TRIAGE_TRYV(to_.put_if(space, key.key, stored ? stored->version : 0, key.bytes));
    return outcome::success();
  }

  Result<void> finish() {
    if (run_.id.empty()) return outcome::success();
    if (!plan().is_there && (!lease_ || !records_.empty())) {
      TRIAGE_TRYV(append());
    }
    endings_.push_back({run_.id, run_.status});
    if (!lease_) return outcome::success();
    TRIAGE_TRYV(to_.release(*lease_));
    lease_.reset();
    return outcome::success();
  }

  Result<void> give_endings() {
    for (const Ending& ending : endings_) {
      TRIAGE_TRY(stored, to_.run(ending.run));
      if (stored.status == ending.status) {
        TRIAGE_TRYV(unmark_import(to_, ending.run));
        continue;
      }
      TRIAGE_TRY(lease, to_.acquire(ending.run));
      lease_ = lease;
      TRIAGE_TRYV(to_.append(lease, {}, ending.status));
      TRIAGE_TRYV(to_.release(lease));
      lease_.reset();
      TRIAGE_TRYV(unmark_import(to_, ending.run));
    }
    return outcome::success();
  }

  // Erases what was written; nobody can have used a half-imported run.
  Error take_back(Error why) {
    if (lease_) static_cast<void>(to_.release(*lease_));
    std::string left;
    for (const RunId& run : done_.runs) {
      const auto gone = to_.erase(run);
      if (gone || gone.error().code == Errc::not_found) continue;
      // The mark may have gone, with the keys, before the run that stays.
      if (const auto there = to_.run(run); there && there.value().status == importing) {
        static_cast<void>(mark_import(to_, there.value(), plans_.at(run).last));
      }
      left += (left.empty() ? "" : ", ") + run;
    }
    if (plans_.contains(run_.id) && !plan().is_there) static_cast<void>(unmark(run_.id));
    if (!left.empty()) why.detail += "; these runs stay until the file is imported again: " + left;
    return why;
  }

  // Of a run that could not be started. The mark of one that is there stays: it is a part.
  Result<void> unmark(const RunId& run) {
    const auto there = to_.run(run);
    if (there || there.error().code != Errc::not_found) return outcome::success();
    return unmark_import(to_, run);
  }

  CheckpointStore& to_;
  const ImportPlans& plans_;
  Interchanged done_{};
  RunInfo run_{};  // The one that is being read.
  std::optional<Lease> lease_{};
  std::vector<Record> records_{};
  std::size_t bytes_ = 0;  // Of their bodies.
  std::vector<Ending> endings_{};
};

}  // namespace
}  // namespace detail

Result<void> check_export(std::istream& in) {
  const auto plans = detail::look_through(nullptr, in, {});
  if (!plans) return plans.error();
  return outcome::success();
}

Result<Interchanged> import_runs(CheckpointStore& to, std::istream& in,
                                 const ImportOptions& options) {
  TRIAGE_TRY(plans, detail::look_through(&to, in, options));
  in.clear();
  in.seekg(0);
  if (!in) return Error{Errc::io, "the export cannot be read again from its beginning"};
  return detail::Importer(to, plans).write(in);
}

}  // namespace triage::inline v0_1
