// SPDX-License-Identifier: MIT
#include "triage/stores/interchange.hpp"

#include "exported_runs.hpp"
#include "interchange_lines.hpp"
#include "storage/half_import.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {
namespace detail {
namespace {

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
    if (key == import_mark_key(reading.info.id)) continue;  // Left over: the run is whole.
    TRIAGE_TRYV(put(OwnSpace::signals, key));
  }
  if (names.label.empty()) return outcome::success();
  TRIAGE_TRY(holder, from.get(own_space(OwnSpace::forks), names.label));
  if (!holder || holder->bytes != reading.info.id) return outcome::success();
  return put(OwnSpace::forks, names.label);
}

}  // namespace
}  // namespace detail

Result<Interchanged> export_runs(CheckpointStore& from, std::span<const RunId> runs,
                                 std::ostream& out, const ExportOptions& options) {
  Interchanged done;
  TRIAGE_TRY(wanted, detail::runs_to_export(from, runs));
  detail::ExportWriter writer(out);
  writer.head();
  for (const RunInfo& listed : wanted) {
    const RunId& run = listed.id;
    auto read = from.read(run, {});
    if (!read) {
      auto why = detail::why_unreadable(listed, read.error());
      if (!why || !options.leave_out_damaged) return why.value_or(read.error());
      ++done.damaged;
      done.unread.push_back(*std::move(why));
      continue;
    }
    const JournalReading reading = std::move(read).value();
    TRIAGE_TRYV(detail::check_imported(from, reading.info));
    const std::size_t damaged = detail::damage_of(reading);
    if (damaged != 0 && !options.leave_out_damaged) return detail::is_damaged(run, damaged);
    done.damaged += damaged;
    if (reading.info.damaged && reading.records.empty()) continue;  // Nothing of it is intact.
    writer.run(reading.info);
    for (const Record& record : reading.records) writer.record(record);
    TRIAGE_TRYV(detail::export_keys(from, reading, writer));
    done.runs.push_back(run);
  }
  TRIAGE_TRYV(writer.end());
  done.records = writer.sums().records;
  done.left_out = done.damaged;
  return outcome::success(std::move(done));
}

}  // namespace triage::inline v0_1
