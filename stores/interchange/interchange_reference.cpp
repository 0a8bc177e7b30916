// SPDX-License-Identifier: MIT
#include "triage/stores/interchange_reference.hpp"

#include "exported_runs.hpp"
#include "interchange_lines.hpp"
#include "reference_runs.hpp"
#include "triage/detail/try.hpp"

#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace triage::inline v0_1 {

// Through the lines of an export: so it is all or nothing, and holds what is there against them.
Result<Interchanged> import_reference(CheckpointStore& to, ReferenceStore& from,
                                      const ReferenceImportOptions& options) {
  std::map<RunId, detail::ReferenceRun> runs;
  std::vector<RunId> order;
  std::set<std::string> ids;
  std::uint64_t damaged = 0;
  TRIAGE_TRYV(from.visit([&](Result<ReferenceCheckpoint> read) -> Result<void> {
    if (read) {
      const auto fits = detail::check_reference(read.value());
      if (!fits) read = fits.error();
    }
    if (!read) {
      if (!options.leave_out_damaged || read.error().code != Errc::corrupt) return read.error();
      ++damaged;
      return outcome::success();
    }
    if (!ids.insert(read.value().id).second) return outcome::success();  // In two indexes.
    const RunId run = detail::run_of_reference(read.value());
    const auto [at, fresh] =
        runs.try_emplace(run, run, read.value().run, options.agent, options.task);
    if (fresh) order.push_back(run);
    at->second.add(std::move(read).value());
    return outcome::success();
  }));
  std::stringstream lines;
  detail::ExportWriter writer(lines);
  writer.head();
  for (const RunId& run : order) {
    detail::ReferenceRun& made = runs.at(run);
    made.end();
    writer.run(made.info());
    for (const Record& record : made.records()) writer.record(record);
  }
  TRIAGE_TRYV(writer.end());
  runs.clear();
  TRIAGE_TRY(done, import_runs(to, lines, {.leave_same = options.leave_same}));
  done.damaged = damaged;
  done.left_out += damaged;
  return outcome::success(std::move(done));
}

Result<Interchanged> export_reference(CheckpointStore& from, std::span<const RunId> runs,
                                      ReferenceStore& to, const ReferenceExportOptions& options) {
  Interchanged done;
  TRIAGE_TRY(wanted, detail::runs_to_export(from, runs));
  for (const RunInfo& listed : wanted) {
    auto read = from.read(listed.id, {});
    if (!read) return detail::why_unreadable(listed, read.error()).value_or(read.error());
    const JournalReading reading = std::move(read).value();
    if (const auto damaged = detail::damage_of(reading); damaged != 0) {
      return detail::is_damaged(listed.id, damaged);
    }
    done.runs.push_back(listed.id);
    TRIAGE_TRY(checkpoints, detail::reference_of_run(
                                reading, options.newest,
                                [&](const ReferenceCheckpoint& one) { return to.add(one); }));
    done.records += checkpoints;
  }
  TRIAGE_TRYV(to.finish());
  return outcome::success(std::move(done));
}

}  // namespace triage::inline v0_1
