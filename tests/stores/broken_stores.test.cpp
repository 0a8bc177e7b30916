// SPDX-License-Identifier: MIT
// The conformance kit against stores that are each broken in one way: it must notice, and say what.
#include "stores/broken_store.hpp"

#include "support/catch.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <set>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

std::set<std::string> failed_with(const Breakage& breakage) {
  const ConformanceReport report = conformance(
      [&](const std::filesystem::path&) -> Result<std::shared_ptr<CheckpointStore>> {
        auto store = std::make_shared<Broken>(MemoryStore::create());
        breakage.breaks(*store);
        return outcome::success(std::shared_ptr<CheckpointStore>(std::move(store)));
      },
      {.name = breakage.name});
  std::set<std::string> failed;
  for (const ClauseResult& clause : report.clauses) {
    if (clause.outcome == ClauseOutcome::failed) failed.insert(clause.name);
  }
  return failed;
}

// Wrong lists: a flag of the query or the order is ignored.
Breakage unlisted(const std::string& what, std::vector<std::string> noticed_by,
                  std::function<void(RunQuery&)> forget, std::size_t at_most = 4) {
  return {what, std::move(noticed_by), at_most, [forget](Broken& store) {
            store.listing = [forget, &store](std::vector<RunInfo>& runs, const RunQuery& query) {
              RunQuery less = query;
              forget(less);
              runs = store.inner().runs(less).value();
            };
          }};
}

std::vector<Breakage> listing_breakages() {
  return {
      unlisted(
          "forgets the agent", {"functional/list-agent", "functional/list-none"},
          [](RunQuery& q) { q.agent.clear(); }, 12),
      unlisted(
          "forgets the label", {"functional/list-label"}, [](RunQuery& q) { q.label.clear(); }, 12),
      unlisted(
          "forgets the parent", {"functional/list-parent"}, [](RunQuery& q) { q.parent.clear(); },
          12),
      unlisted("forgets the status", {"functional/list-status"},
               [](RunQuery& q) { q.status.reset(); }),
      unlisted("forgets since when", {"functional/list-time", "functional/list-several"},
               [](RunQuery& q) { q.started_since.reset(); }),
      unlisted("forgets until when", {"functional/list-time"},
               [](RunQuery& q) { q.started_until.reset(); }),
      unlisted("forgets the limit", {"functional/list-limit"}, [](RunQuery& q) { q.limit = 0; }),
      unlisted(
          "takes limit 0 for none", {"functional/list-no-limit", "size/many-runs"},
          [](RunQuery& q) { q.limit = q.limit == 0 ? 1 : q.limit; }, 20),
      {"lists oldest first",
       {"functional/list-newest-first", "ordering/runs-by-time"},
       25,
       [](Broken& store) {
         store.listing = [](auto& runs, const auto&) { std::reverse(runs.begin(), runs.end()); };
       }},
      {"lists by id",
       {"ordering/runs-by-time"},
       8,
       [](Broken& store) {
         store.listing = [](auto& runs, const auto&) {
           std::sort(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.id > b.id; });
         };
       }},
      {"lists another status than it tells",
       {"functional/list-like-run"},
       9,  // Retention leaves a run that is not as it was listed.
       [](Broken& store) {
         store.listing = [](auto& runs, const auto&) {
           for (RunInfo& run : runs) run.updated += std::chrono::milliseconds(1);
         };
         store.pruning = [](Retention& rule) {
           if (rule.keep_since) *rule.keep_since += std::chrono::milliseconds(1);
         };
       }},
  };
}

std::vector<Breakage> telling_breakages() {
  const auto tells = [](std::string what, std::vector<std::string> noticed, std::size_t most,
                        std::function<void(RunInfo&)> wrong) {
    return Breakage{std::move(what), std::move(noticed), most,
                    [wrong](Broken& store) { store.describing = wrong; }};
  };
  return {
      tells("forgets the label of a run", {"functional/start-keeps-info", "size/long-names"}, 5,
            [](RunInfo& run) { run.label.clear(); }),
      tells("makes up a parent", {"size/no-names"}, 1,
            [](RunInfo& run) {
              if (run.parent.empty()) run.parent = "unknown";
            }),
      tells("shows every run as owned", {"ownership/release"}, 3,
            [](RunInfo& run) { run.owned = true; }),
      tells("shows no run as owned", {"functional/start-gives-lease", "ownership/stale-release"}, 6,
            [](RunInfo& run) { run.owned = false; }),
      tells("knows no time before 1970", {"ordering/runs-by-time"}, 1,
            [](RunInfo& run) { run.started = std::max(run.started, WallTime()); }),
      tells("keeps times as 32 bits", {"ordering/runs-by-time"}, 1,
            [](RunInfo& run) {
              if (run.started.time_since_epoch() > std::chrono::hours(24 * 365 * 130)) {
                run.started = WallTime();
              }
            }),
      tells("takes poisoned for failed", {"functional/every-status"}, 1,
            [](RunInfo& run) {
              if (run.status == RunStatus::poisoned) run.status = RunStatus::failed;
            }),
  };
}

std::vector<Breakage> claim_breakages() {
  const auto claims =
      [](std::string what, std::vector<std::string> noticed, std::size_t most,
         std::function<Result<std::vector<Lease>>(Broken&, std::string_view, std::size_t)> wrong) {
        return Breakage{std::move(what), std::move(noticed), most,
                        [wrong](Broken& store) { store.claiming = wrong; }};
      };
  return {
      claims("claims for any agent", {"ownership/claim-agent"}, 1,
             [](Broken& self, std::string_view, std::size_t most) {
               return claim_orphans(self.inner(), {}, most);
             }),
      claims("claims as many as there are", {"ownership/claim-number"}, 1,
             [](Broken& self, std::string_view agent, std::size_t) {
               return claim_orphans(self.inner(), agent, 1'000);
             }),
      claims("claims nothing", {"ownership/claim", "concurrency/claims"}, 5,
             [](Broken&, std::string_view, std::size_t) {
               return Result<std::vector<Lease>>(std::vector<Lease>());
             }),
      claims("claims what has ended", {"ownership/claim-running"}, 1,
             [](Broken& self, std::string_view agent, std::size_t most) {
               std::vector<Lease> all;
               const RunQuery query{.agent = std::string(agent), .limit = 0};
               const std::vector<RunInfo> runs = self.inner().runs(query).value();
               for (const RunInfo& run : runs) {
                 if (all.size() == most) break;
                 auto lease = self.inner().acquire(run.id);
                 if (lease) all.push_back(lease.value());
               }
               return Result<std::vector<Lease>>(all);
             }),
      claims("names runs that it does not own", {"ownership/claim", "ownership/claim-owns"}, 6,
             [](Broken& self, std::string_view agent, std::size_t most) {
               auto all = claim_orphans(self.inner(), agent, most);
               for (const Lease& lease : all.value()) {
                 static_cast<void>(self.inner().release(lease));
               }
               return all;
             }),
  };
}

std::vector<Breakage> key_breakages() {
  return {
      {"writes over any version",
       {"key_space/as-read", "key_space/taken", "key_space/absent"},
       8,
       [](Broken& store) {
         store.putting = [](Broken& self, std::string_view space, std::string_view key,
                            std::uint64_t, std::string_view bytes) -> Result<std::uint64_t> {
           const auto seen = self.inner().get(space, key).value();
           return self.inner().put_if(space, key, seen ? seen->version : 0, bytes);
         };
       }},
      {"lets anybody into the library's spaces",
       {"security/library-spaces"},
       1,
       [](Broken& store) {
         store.putting = [](Broken& self, std::string_view space, std::string_view key,
                            std::uint64_t expected,
                            std::string_view bytes) -> Result<std::uint64_t> {
           auto put = self.inner().put_if(space, key, expected, bytes);
           if (!put && put.error().code == Errc::invalid_argument) return outcome::success(1U);
           return put;
         };
       }},
      {"removes any version",
       {"key_space/removed-as-read"},
       2,
       [](Broken& store) {
         store.removing = [](Broken& self, std::string_view space, std::string_view key,
                             std::uint64_t) -> Result<void> {
           const auto seen = self.inner().get(space, key).value();
           return self.inner().erase_if(space, key, seen ? seen->version : 0);
         };
       }},
      {"minds what is gone",
       {"key_space/removed-twice"},
       1,
       [](Broken& store) {
         store.removing = [](Broken& self, std::string_view space, std::string_view key,
                             std::uint64_t expected) -> Result<void> {
           if (!self.inner().get(space, key).value()) return Error{Errc::not_found, "gone"};
           return self.inner().erase_if(space, key, expected);
         };
       }},
      {"lists keys as they come",
       {"key_space/list-order"},
       6,
       [](Broken& store) {
         store.listing_keys = [](auto& keys) { std::reverse(keys.begin(), keys.end()); };
       }},
      {"cuts long keys",
       {"size/long-keys"},
       1,
       [](Broken& store) {
         store.putting = [](Broken& self, std::string_view space, std::string_view key,
                            std::uint64_t expected, std::string_view bytes) {
           return self.inner().put_if(space, key.substr(0, 500), expected, bytes);
         };
       }},
      {"cuts values at a zero byte",
       {"key_space/any-value", "size/large-value"},
       2,
       [](Broken& store) {
         store.putting = [](Broken& self, std::string_view space, std::string_view key,
                            std::uint64_t expected, std::string_view bytes) {
           return self.inner().put_if(space, key, expected,
                                      bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
         };
       }},
  };
}

std::vector<Breakage> retention_breakages() {
  const auto prunes = [](std::string what, std::vector<std::string> noticed, std::size_t most,
                         std::function<void(Retention&)> wrong) {
    return Breakage{std::move(what), std::move(noticed), most,
                    [wrong](Broken& store) { store.pruning = wrong; }};
  };
  return {
      prunes("prunes what has not ended", {"retention/suspended-stays", "retention/running-stays"},
             2, [](Retention& rule) { rule.only_ended = false; }),
      prunes("ignores the age", {"retention/by-age"}, 2,
             [](Retention& rule) { rule.keep_since.reset(); }),
      prunes("ignores the number", {"retention/by-number", "retention/keep-none"}, 9,
             [](Retention& rule) { rule.keep_newest.reset(); }),
      prunes("prunes without a rule", {"retention/by-no-rule"}, 1,
             [](Retention& rule) {
               if (!rule.keep_since && !rule.keep_newest) rule.keep_newest = 0;
             }),
      {"replaces nothing, and says it did",
       {"retention/replaced", "retention/replaced-ranges", "retention/replaced-alone"},
       8,
       [](Broken& store) {
         store.replacing = [](CompactsRuns&, const Lease&, auto, Records) {
           return Result<void>(outcome::success());
         };
       }},
      {"removes records, and puts none in their place",
       {"retention/replaced", "retention/replaced-goes-on"},
       8,
       [](Broken& store) {
         store.replacing = [](CompactsRuns& inner, const Lease& lease, auto ranges, Records) {
           return inner.replace(lease, ranges, {});
         };
       }},
      {"replaces the first range only",
       {"retention/replaced-ranges", "retention/replaced-long"},
       2,
       [](Broken& store) {
         store.replacing = [](CompactsRuns& inner, const Lease& lease, auto ranges,
                              Records instead) -> Result<void> {
           if (auto fits = check_replacement(ranges, instead); !fits) return fits;
           return inner.replace(lease, ranges.first(1), instead.first(1));
         };
       }},
      {"takes a record that takes the place of none",
       {"retention/replaced-outside"},
       1,
       [](Broken& store) {
         store.replacing = [](CompactsRuns& inner, const Lease& lease, auto ranges,
                              Records instead) -> Result<void> {
           if (check_replacement(ranges, instead)) return inner.replace(lease, ranges, instead);
           return outcome::success();
         };
       }},
      {"replaces under any lease that was ever held",
       {"retention/replaced-fenced"},
       1,
       [](Broken& store) {
         store.replacing = [](CompactsRuns& inner, const Lease& lease, auto ranges,
                              Records instead) -> Result<void> {
           auto done = inner.replace(lease, ranges, instead);
           if (!done && done.error().code == Errc::fenced) return outcome::success();
           return done;
         };
       }},
      {"erases nothing, and says it did",
       {"retention/erased", "retention/name-is-free"},
       30,
       [](Broken& store) {
         store.erasing = [](Broken&, const RunId&) { return Result<void>(outcome::success()); };
       }},
  };
}

std::vector<Breakage> all_breakages() {
  std::vector<Breakage> all;
  for (const auto& part :
       {listing_breakages(), telling_breakages(), journal_breakages(), lease_breakages(),
        claim_breakages(), key_breakages(), retention_breakages()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("a store that is broken in one way fails the clauses about it, and few others",
          "[testing][conformance]") {
  std::set<std::string> noticed;
  for (const Breakage& breakage : all_breakages()) {
    const auto failed = failed_with(breakage);
    std::string list;
    for (const std::string& name : failed) list += "\n  " + name;
    INFO("a store that " << breakage.name << " fails:" << list);
    for (const std::string& clause : breakage.noticed_by) CHECK(failed.contains(clause));
    CHECK(failed.size() <= breakage.at_most);
    noticed.insert(failed.begin(), failed.end());
  }
  INFO(noticed.size() << " clauses were failed by some store");
  CHECK(noticed.size() >= 90);
}
