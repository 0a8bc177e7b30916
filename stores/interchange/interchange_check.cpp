// SPDX-License-Identifier: MIT
#include "interchange_check.hpp"

#include "storage/half_import.hpp"
#include "triage/detail/same_record.hpp"
#include "triage/detail/try.hpp"

#include <istream>
#include <optional>
#include <set>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

bool body_fits_in_memory(const Record& record) {
  std::string body;
  record.encode_body(body);
  return fits_in_memory(body);
}

// A run of the file against what the store has under its id.
class Comparison {
 public:
  explicit Comparison(JournalReading stored) : stored_(std::move(stored)) {}
  void meet(const Record& record) {
    same_ = same_ && next_ < stored_.records.size() &&
            detail::same_record(stored_.records[next_], record);
    ++next_;
  }
  // Empty if it is the same run, perhaps without its end: an import that was interrupted before
  // such runs were marked left it running.
  [[nodiscard]] std::string difference(const RunInfo& given) const {
    const RunInfo& there = stored_.info;
    if (!same_ || next_ != stored_.records.size() || !stored_.damaged.empty()) {
      return ", with other records";
    }
    if (there.agent != given.agent || there.label != given.label || there.parent != given.parent) {
      return ", with another agent, label or parent";
    }
    if (there.status == given.status || there.status == RunStatus::running) return {};
    return ", and is " + std::string(to_string(there.status)) + ", not " +
           std::string(to_string(given.status));
  }

 private:
  JournalReading stored_;
  std::size_t next_ = 0;
  bool same_ = true;
};

class Look {
 public:
  Look(CheckpointStore* to, const ImportOptions& options) : to_(to), options_(options) {}

  Result<ImportPlans> through(std::istream& in) {
    ExportReader reader(in);
    while (true) {
      TRIAGE_TRY(line, reader.next());
      if (line.run || line.end) {
        TRIAGE_TRYV(finish());
      }
      if (line.end) break;
      if (line.run) {
        TRIAGE_TRYV(begin(*line.run));
      } else if (line.record) {
        TRIAGE_TRYV(take(*line.record));
      } else if (line.key) {
        TRIAGE_TRYV(check_key(*line.key));
      }
    }
    TRIAGE_TRYV(judge());
    return outcome::success(std::move(plans_));
  }

 private:
  Result<void> begin(const RunInfo& run) {
    run_ = run;
    tickets_.clear();
    if (!plans_.try_emplace(run.id).second) {
      return Error{Errc::corrupt, "the export has run \"" + run.id + "\" twice"};
    }
    if (to_ == nullptr) return outcome::success();
    auto stored = to_->read(run.id, {});
    if (!stored && stored.error().code == Errc::not_found) return outcome::success();
    if (!stored) return stored.error();
    TRIAGE_TRY(half, is_half_imported(*to_, stored.value().info));
    plans_[run.id].is_half = half;
    if (!half) comparison_.emplace(std::move(stored).value());
    return outcome::success();
  }

  Result<void> take(const Record& record) {
    if (run_.id.empty() || record.seq() <= plans_[run_.id].last || !body_fits_in_memory(record)) {
      return Error{Errc::corrupt, "record " + std::to_string(record.seq()) +
                                      " of the export has no place in a journal"};
    }
    plans_[run_.id].last = record.seq();
    if (auto ticket = ticket_of(record); !ticket.empty()) tickets_.insert(std::move(ticket));
    if (comparison_) comparison_->meet(record);
    return outcome::success();
  }

  // A key that is not the run's would be written into a run that the file does not hold.
  [[nodiscard]] bool belongs_here(const ExportedKey& key) const {
    const RunKeys own = keys_of(run_);
    switch (key.space) {
      case OwnSpace::suspensions: return tickets_.contains(key.key);
      case OwnSpace::signals: return key.key.starts_with(own.signals) && key.key != own.signals;
      case OwnSpace::forks:
        return !own.label.empty() && key.key == own.label && key.bytes == run_.id;
      default: return false;
    }
  }

  Result<void> check_key(const ExportedKey& key) {
    if (run_.id.empty() || !belongs_here(key)) {
      return Error{Errc::corrupt, "key \"" + printable(key.key) +
                                      "\" of the export does not belong to the run before it"};
    }
    if (to_ == nullptr || key.space != OwnSpace::forks) return outcome::success();
    TRIAGE_TRY(holder, to_->get(own_space(OwnSpace::forks), key.key));
    if (!holder || holder->bytes == run_.id) return outcome::success();
    const auto branch = to_->run(holder->bytes);
    if (!branch && branch.error().code != Errc::not_found) return branch.error();
    if (!branch || branch.value().label != run_.label) return outcome::success();
    return Error{Errc::conflict, "run \"" + branch.value().id + "\" in the store has the label \"" +
                                     printable(run_.label) + "\" of run \"" + run_.id +
                                     "\"; nothing was imported"};
  }

  Result<void> finish() {
    if (run_.id.empty()) return outcome::success();
    ImportPlan& plan = plans_[run_.id];
    if (plan.last > run_.last) {
      return Error{Errc::corrupt,
                   "the export has more records of run \"" + run_.id + "\" than it says"};
    }
    if (!comparison_) return outcome::success();
    const std::string other = comparison_->difference(run_);
    comparison_.reset();
    plan.is_there = true;
    if (!other.empty() || refused_.empty())
      refused_ = "run \"" + run_.id + "\" is in the store already" + other;
    any_other_ = any_other_ || !other.empty();
    return outcome::success();
  }

  // Where one run of the file is half imported, those before it are of the same import.
  [[nodiscard]] Result<void> judge() const {
    bool goes_on = options_.leave_same;
    for (const auto& [run, plan] : plans_) goes_on = goes_on || plan.is_half;
    if (refused_.empty() || (goes_on && !any_other_)) return outcome::success();
    return Error{Errc::conflict, refused_ + "; nothing was imported"};
  }

  CheckpointStore* to_;
  const ImportOptions& options_;
  ImportPlans plans_{};
  RunInfo run_{};  // The one that is being read.
  std::set<std::string> tickets_{};
  std::optional<Comparison> comparison_{};
  std::string refused_{};   // Why the import would conflict if existing runs may not be kept.
  bool any_other_ = false;  // A run is there that is not the file's.
};

}  // namespace

Result<ImportPlans> look_through(CheckpointStore* to, std::istream& in,
                                 const ImportOptions& options) {
  return Look(to, options).through(in);
}

}  // namespace triage::inline v0_1::detail
