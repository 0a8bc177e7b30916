// SPDX-License-Identifier: MIT
#include "triage/testing/conformance.hpp"

#include "orphans.hpp"
#include "triage/compaction.hpp"
#include "triage/detail/store_extension.hpp"
#include "trial.hpp"

#include <stdlib.h>

#include <exception>
#include <system_error>

namespace triage::inline v0_1::testing {
namespace {

using kit::Broken;
using kit::Clause;
using kit::Trial;

constexpr const char* group_names[] = {"functional", "ordering",  "isolation",  "concurrency",
                                       "ownership",  "crash",     "corruption", "size",
                                       "upgrade",    "retention", "key_space",  "security"};

// A temporary folder for one clause.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "triage-conformance-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Broken{"no temporary folder can be made"};
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_{};
};

// Runs `check` and returns the problem; empty if there is none.
template <class F>
std::string wrong_with(F check) {
  try {
    check();
    return {};
  } catch (const Broken& broken) {
    return broken.what.empty() ? "broken" : broken.what;
  } catch (const std::exception& e) {
    return std::string("it throws: ") + e.what();
  } catch (...) {
    return "it throws something that is not a std::exception";
  }
}

unsigned claims_of(const StoreCapabilities& capabilities, const ConformanceOptions& options) {
  unsigned claims = kit::nothing;
  if (options.erases) claims |= kit::erasing;
  if (options.keeps_keys) claims |= kit::keys;
  if (options.keeps_every_record) claims |= kit::whole;
  if (capabilities.durability >= Durability::process) claims |= kit::reopening;
  if (capabilities.shared_by_processes) claims |= kit::processes;
  if (options.damage) claims |= kit::damaging;
  if (options.make_newer) claims |= kit::newer;
  return claims;
}

std::string missing(unsigned needs) {
  std::string all;
  const auto say = [&](kit::Need need, const char* what) {
    if ((needs & need) != 0) all += (all.empty() ? "" : ", ") + std::string(what);
  };
  say(kit::erasing, "it removes nothing");
  say(kit::keys, "it keeps no keys");
  say(kit::reopening, "it keeps nothing beyond its process");
  say(kit::processes, "it is not shared by processes");
  say(kit::whole, "it does not keep every record");
  say(kit::damaging, "no way to damage a record was given");
  say(kit::replacing, "it is no CompactsRuns");
  say(kit::newer, "no way to make it newer was given");
  return all;
}

ClauseResult run_clause(const Clause& clause, unsigned claims, const StoreFactory& factory,
                        const ConformanceOptions& options) {
  ClauseResult result{.group = clause.group,
                      .name = std::string(to_string(clause.group)) + "/" + clause.name,
                      .sentence = clause.sentence};
  if (const unsigned lacking = clause.needs & ~claims; lacking != 0) {
    result.detail = missing(lacking);
    return result;
  }
  result.detail = wrong_with([&] {
    const Folder folder;
    Trial trial(factory, options, folder.path());
    clause.check(trial);
  });
  result.outcome = result.detail.empty() ? ClauseOutcome::passed : ClauseOutcome::failed;
  return result;
}

}  // namespace

std::string_view to_string(ClauseGroup group) noexcept {
  return group_names[static_cast<std::size_t>(group)];
}

namespace kit {

Clauses all_clauses() {
  Clauses all;
  for (const auto& part :
       {starting_clauses(), appending_clauses(), reading_clauses(), listing_clauses(),
        ordering_clauses(), isolation_clauses(), concurrency_clauses(), ownership_clauses(),
        orphan_clauses(), crash_clauses(), corruption_clauses(), size_clauses(), upgrade_clauses(),
        retention_clauses(), replacing_clauses(), key_space_clauses(), security_clauses()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace kit

ConformanceReport conformance(const StoreFactory& factory, const ConformanceOptions& options) {
  ConformanceReport report{.store = options.name};
  bool replaces = false;
  const std::string unusable = wrong_with([&] {
    const Folder folder;
    Trial trial(factory, options, folder.path());
    report.capabilities = trial.store().capabilities();
    replaces = detail::extension_of<CompactsRuns>(trial.store()) != nullptr;
  });
  const unsigned claims =
      claims_of(report.capabilities, options) | (replaces ? kit::replacing : kit::nothing);
  for (const Clause& clause : kit::all_clauses()) {
    const std::string name = std::string(to_string(clause.group)) + "/" + clause.name;
    if (!name.starts_with(options.only)) continue;
    if (unusable.empty()) {
      report.clauses.push_back(run_clause(clause, claims, factory, options));
    } else {
      report.clauses.push_back({clause.group, name, clause.sentence, ClauseOutcome::failed,
                                "the store cannot be opened: " + unusable});
    }
  }
  return report;
}

}  // namespace triage::inline v0_1::testing
