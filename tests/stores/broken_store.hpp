// SPDX-License-Identifier: MIT
#pragma once
// Stores that are each broken in one way, to test the conformance kit.

#include "triage/compaction.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/orphans.hpp"
#include "triage/testing/conformance.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

using Records = std::span<const Record>;

// Forwards to the store behind it, except for what a test replaces.
struct Broken final : ForwardingStore, ClaimsOrphans, CompactsRuns {
  using ForwardingStore::ForwardingStore;
  ~Broken() override { stop_queue(); }

  std::function<Result<Lease>(Broken&, const RunInfo&, Records)> starting{};
  std::function<Result<Lease>(Broken&, const RunId&)> acquiring{};
  std::function<Result<std::vector<Lease>>(Broken&, std::string_view, std::size_t)> claiming{};
  std::function<Result<void>(Broken&, const Lease&)> renewing{}, releasing{};
  std::function<Result<void>(Broken&, const Lease&, Records, RunStatus)> appending{};
  std::function<void(Broken&, std::span<AppendBatch>)> grouping{};
  std::function<Result<void>(CompactsRuns&, const Lease&, std::span<const SequenceRange>, Records)>
      replacing{};
  std::function<void(JournalReading&)> reading{};
  std::function<void(std::vector<RunInfo>&, const RunQuery&)> listing{};
  std::function<void(RunInfo&)> describing{};
  std::function<Result<void>(Broken&, const RunId&)> erasing{};
  std::function<void(Retention&)> pruning{};
  std::function<Result<std::uint64_t>(Broken&, std::string_view, std::string_view, std::uint64_t,
                                      std::string_view)>
      putting{};
  std::function<Result<void>(Broken&, std::string_view, std::string_view, std::uint64_t)>
      removing{};
  std::function<void(std::vector<std::string>&)> listing_keys{};

  Result<Lease> start(const RunInfo& run, Records records) override {
    return starting ? starting(*this, run, records) : inner().start(run, records);
  }
  Result<Lease> acquire(const RunId& run) override {
    return acquiring ? acquiring(*this, run) : inner().acquire(run);
  }
  Result<std::vector<Lease>> claim_orphans(std::string_view agent, std::size_t most) override {
    return claiming ? claiming(*this, agent, most) : triage::claim_orphans(inner(), agent, most);
  }
  Result<void> renew(const Lease& lease) override {
    return renewing ? renewing(*this, lease) : inner().renew(lease);
  }
  Result<void> release(const Lease& lease) override {
    return releasing ? releasing(*this, lease) : inner().release(lease);
  }
  Result<void> append(const Lease& lease, Records records, RunStatus status) override {
    return appending ? appending(*this, lease, records, status)
                     : inner().append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    if (grouping) return grouping(*this, batches);
    if (appending) return CheckpointStore::append_group(batches);
    inner().append_group(batches);
  }
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       Records instead) override {
    auto& compacts = dynamic_cast<CompactsRuns&>(inner());
    return replacing ? replacing(compacts, lease, ranges, instead)
                     : compacts.replace(lease, ranges, instead);
  }
  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    auto all = inner().read(run, range);
    if (all && reading) reading(all.value());
    return all;
  }
  // Derived from the broken read().
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
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override {
    auto all = inner().runs(query);
    if (all && listing) listing(all.value(), query);
    return all;
  }
  Result<RunInfo> run(const RunId& id) override {
    auto one = inner().run(id);
    if (one && describing) describing(one.value());
    return one;
  }
  Result<void> erase(const RunId& run) override {
    return erasing ? erasing(*this, run) : inner().erase(run);
  }
  Result<std::size_t> prune(const Retention& retention) override {
    Retention rule = retention;
    if (pruning) pruning(rule);
    return CheckpointStore::prune(rule);
  }
  Result<std::size_t> erase_all(std::span<const RunId> runs) override {
    return CheckpointStore::erase_all(runs);
  }
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    return putting ? putting(*this, space, key, expected, bytes)
                   : inner().put_if(space, key, expected, bytes);
  }
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override {
    return removing ? removing(*this, space, key, expected)
                    : inner().erase_if(space, key, expected);
  }
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override {
    auto keys = inner().list(space, prefix);
    if (keys && listing_keys) listing_keys(keys.value());
    return keys;
  }
};

// One way to be broken, the clauses that must notice, and the maximum number that may.
struct Breakage {
  std::string name{};
  std::vector<std::string> noticed_by{};
  std::size_t at_most = 3;
  std::function<void(Broken&)> breaks{};
};

[[nodiscard]] std::vector<Breakage> journal_breakages();
[[nodiscard]] std::vector<Breakage> lease_breakages();

}  // namespace triage::test
