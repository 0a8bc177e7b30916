// SPDX-License-Identifier: MIT
// Stores that are broken in appending or in admitting owners.
#include "stores/broken_store.hpp"

namespace triage::test {

std::vector<Breakage> journal_breakages() {
  const auto reads = [](std::string what, std::vector<std::string> noticed, std::size_t most,
                        std::function<void(JournalReading&)> wrong) {
    return Breakage{std::move(what), std::move(noticed), most,
                    [wrong](Broken& store) { store.reading = wrong; }};
  };
  return {
      reads("loses the records behind the 5,000th", {"size/long-run"}, 1,
            [](JournalReading& all) {
              if (all.records.size() > 5'000) all.records.resize(5'000);
            }),
      reads("loses signals", {"functional/every-kind"}, 1,
            [](JournalReading& all) {
              std::erase_if(all.records, [](const Record& record) {
                return record.kind() == RecordKind::signal_received;
              });
            }),
      reads("says another status in a reading", {"functional/reading-knows-run"}, 1,
            [](JournalReading& all) { all.info.agent += "?"; }),
      {"keeps what a lost append left",
       {"functional/conflict-harmless"},
       2,
       [](Broken& store) {
         store.appending = [](Broken& self, const Lease& lease, Records records, RunStatus status) {
           const auto done = self.inner().append(lease, records, status);
           if (!done && done.error().code == Errc::conflict) {
             static_cast<void>(self.inner().append(lease, {}, status));
           }
           return done;
         };
       }},
      {"appends a batch record by record",
       {"functional/conflict-harmless"},
       8,
       [](Broken& store) {
         store.appending = [](Broken& self, const Lease& lease, Records records,
                              RunStatus status) -> Result<void> {
           for (std::size_t i = 0; i < records.size(); ++i) {
             auto done = self.inner().append(lease, records.subspan(i, 1), status);
             if (!done) return done;
           }
           return records.empty() ? self.inner().append(lease, {}, status) : outcome::success();
         };
       }},
      {"calls every repeated append a conflict",
       {"functional/append-again", "concurrency/repeats"},
       8,
       [](Broken& store) {
         store.appending = [](Broken& self, const Lease& lease, Records records,
                              RunStatus status) -> Result<void> {
           const auto run = self.inner().run(lease.run);
           if (run && !records.empty() && records.front().seq() <= run.value().last) {
             return Error{Errc::conflict, "stored already"};
           }
           return self.inner().append(lease, records, status);
         };
       }},
      {"forgets a status without records",
       {"functional/status-alone", "functional/group-status"},
       40,
       [](Broken& store) {
         store.appending = [](Broken& self, const Lease& lease, Records records,
                              RunStatus status) -> Result<void> {
           if (records.empty()) return outcome::success();
           return self.inner().append(lease, records, status);
         };
       }},
      {"takes large batches in part",
       {"size/large-batch"},
       3,
       [](Broken& store) {
         store.appending = [](Broken& self, const Lease& lease, Records records, RunStatus status) {
           return self.inner().append(
               lease, records.first(std::min<std::size_t>(records.size(), 1'000)), status);
         };
       }},
      {"gives the first error of a group to all",
       {"functional/group-outcomes", "isolation/batches"},
       2,
       [](Broken& store) {
         store.grouping = [](Broken& self, std::span<AppendBatch> batches) {
           for (AppendBatch& batch : batches) {
             batch.outcome = self.inner().append(batch.lease, batch.records, batch.status);
             if (batch.outcome) continue;
             const Error first = batch.outcome.error();
             for (AppendBatch& all : batches) all.outcome = first;
             return;
           }
         };
       }},
      {"starts a run twice",
       {"functional/start-once", "concurrency/one-start"},
       8,
       [](Broken& store) {
         store.starting = [](Broken& self, const RunInfo& run, Records records) -> Result<Lease> {
           auto lease = self.inner().start(run, records);
           if (lease || lease.error().code != Errc::conflict) return lease;
           return Lease{.run = run.id, .epoch = 1};
         };
       }},
      {"refuses a start that comes again",
       {"functional/start-again"},
       1,
       [](Broken& store) {
         store.starting = [](Broken& self, const RunInfo& run, Records records) -> Result<Lease> {
           if (self.inner().run(run.id)) return Error{Errc::conflict, "exists"};
           return self.inner().start(run, records);
         };
       }},
  };
}

std::vector<Breakage> lease_breakages() {
  return {
      {"lets two own a run",
       {"ownership/one-owner", "ownership/acquired-is-owned"},
       24,
       [](Broken& store) {
         store.acquiring = [](Broken&, const RunId& run) -> Result<Lease> {
           return Lease{.run = run, .epoch = 99};
         };
       }},
      {"renews a stale lease",
       {"ownership/fenced-renewal", "ownership/no-renewal-after-release"},
       2,
       [](Broken& store) {
         store.renewing = [](Broken&, const Lease&) { return Result<void>(outcome::success()); };
       }},
      {"frees nothing",
       {"ownership/fenced-after-release", "ownership/fenced-append"},
       60,
       [](Broken& store) {
         store.releasing = [](Broken&, const Lease&) { return Result<void>(outcome::success()); };
       }},
      {"minds a release that comes again",
       {"ownership/release-twice"},
       2,
       [](Broken& store) {
         store.releasing = [](Broken& self, const Lease& lease) -> Result<void> {
           if (!self.inner().renew(lease)) return Error{Errc::fenced, "stale"};
           return self.inner().release(lease);
         };
       }},
      {"lets a stale owner repeat",
       {"ownership/fenced-repeat"},
       3,
       [](Broken& store) {
         store.appending = [](Broken& self, const Lease& lease, Records records,
                              RunStatus status) -> Result<void> {
           const auto run = self.inner().run(lease.run);
           if (run && !records.empty() && records.back().seq() <= run.value().last &&
               !self.inner().renew(lease)) {
             return outcome::success();
           }
           return self.inner().append(lease, records, status);
         };
       }},
      {"stores a record when it is acquired",
       {"ownership/acquire-stores-nothing"},
       14,
       [](Broken& store) {
         store.acquiring = [](Broken& self, const RunId& run) -> Result<Lease> {
           auto lease = self.inner().acquire(run);
           if (!lease) return lease;
           const Record mark(self.inner().run(run).value().last + 1, RecordKind::usage, WallTime(),
                             std::make_shared<const Json>(Json{{"calls", 1}}));
           static_cast<void>(self.inner().append(lease.value(), {&mark, 1}, RunStatus::running));
           return lease;
         };
       }},
      {"erases what is owned",
       {"retention/owned-stays"},
       10,
       [](Broken& store) {
         store.erasing = [](Broken& self, const RunId& run) -> Result<void> {
           auto gone = self.inner().erase(run);
           if (!gone && gone.error().code == Errc::busy) return outcome::success();
           return gone;
         };
       }},
  };
}

}  // namespace triage::test
