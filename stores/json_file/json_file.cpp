// SPDX-License-Identifier: MIT
#include "triage/stores/json_file.hpp"

#include "json_file_store.hpp"
#include "left_over.hpp"
#include "storage/run_query.hpp"
#include "triage/detail/try.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr std::uint64_t format = 1;
constexpr std::string_view identity = "{\"triage\":\"json_file\",\"format\":1}\n";
constexpr std::string_view ending = ".jsonl";

Result<void> check_options(const std::string& path, const JsonFileOptions& options) {
  const auto refuse = [](const std::string& why) { return Error{Errc::invalid_argument, why}; };
  using std::chrono::hours;
  using std::chrono::seconds;
  if (path.empty()) return refuse("the folder of a JSON-file store has no name");
  if (options.busy_timeout.count() < 0 || options.busy_timeout > hours(1)) {
    return refuse("busy_timeout: allowed are 0 to 1 hour");
  }
  if (options.lease_timeout < seconds(1) || options.lease_timeout > hours(24)) {
    return refuse("lease_timeout: allowed are 1 s to 1 day");
  }
  if (options.segment_bytes < 4096) return refuse("segment_bytes: allowed are 4096 and above");
  return outcome::success();
}

Result<void> check_identity(const std::string& path) {
  TRIAGE_TRY(text, read_whole(path));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("triage", Json()) != "json_file") {
    return Error{Errc::corrupt, path + " does not say that this is a JSON-file store"};
  }
  const auto found = json.find("format");
  if (found == json.end() || !found->is_number_unsigned()) {
    return Error{Errc::corrupt, path + " does not say which format this is"};
  }
  if (found->get<std::uint64_t>() > format) {
    return Error{Errc::unsupported, path + " has format " + show(*found) +
                                        "; this version reads format " + std::to_string(format)};
  }
  return outcome::success();
}

// Turns a new or empty folder into a store.
Result<void> prepare(const std::string& folder, const JsonFileOptions& options) {
  const std::string mark = folder + "/store.json";
  if (!options.read_only) {
    TRIAGE_TRYV(make_folder(folder));
  }
  if (!exists(mark)) {
    TRIAGE_TRY(names, names_in(folder));
    const bool foreign = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name != "store.json" && !name.starts_with("new-");  // Another process is opening it.
    });
    if (foreign && !exists(mark)) {
      return Error{Errc::unsupported, folder + " is not empty, and no JSON-file store"};
    }
    if (options.read_only) return Error{Errc::not_found, folder + " holds no JSON-file store"};
    // Not taken back where the folder cannot be synced: another process may have it open by now.
    const auto made = link_whole(folder, mark, identity, options.durability == Durability::power);
    if (!made && made.error().code != Errc::conflict) return made.error();
  }
  TRIAGE_TRYV(check_identity(mark));
  if (options.read_only) return outcome::success();
  for (const char* inner : {"/runs", "/locks", "/tmp"}) {
    TRIAGE_TRYV(make_folder(folder + inner));
  }
  remove_left_over(folder, real_clock()->wall_now());
  // At each opening: whoever made them may have failed to.
  if (options.durability == Durability::power) return sync_folder(folder);
  return outcome::success();
}

// The runs with a first segment in the folder.
Result<std::vector<RunId>> ids_in(const std::string& folder) {
  auto names = names_in(folder);
  if (!names && names.error().code == Errc::not_found) {
    return outcome::success(std::vector<RunId>());
  }
  if (!names) return names.error();
  std::vector<RunId> ids;
  for (std::string& name : names.value()) {
    if (!name.ends_with(ending)) continue;
    struct stat status {};
    const bool other = ::stat((folder + "/" + name).c_str(), &status) == 0 &&
                       !S_ISREG(status.st_mode);  // A folder or a pipe is no run.
    if (other) continue;
    name.resize(name.size() - ending.size());
    if (check_run_id(name)) ids.push_back(std::move(name));
  }
  return outcome::success(std::move(ids));
}

}  // namespace

JsonFileJournals::JsonFileJournals(std::string folder, const JsonFileOptions& options)
    : folder_(std::move(folder)),
      options_(options),
      mark_(real_random()->next(), !options.read_only),
      keys_(folder_, options.durability == Durability::power, options.busy_timeout,
            options.read_only) {}

StoreCapabilities JsonFileJournals::capabilities() const noexcept {
  return {.durability = std::max(options_.durability, Durability::process),
          .shared_by_processes = true,
          .renew_every = options_.lease_timeout / 3};
}

Result<void> JsonFileJournals::usable() const { return process_.check("JSON-file"); }

Result<void> JsonFileJournals::writable() const {
  TRIAGE_TRYV(usable());
  if (!options_.read_only) return outcome::success();
  return Error{Errc::unsupported, folder_ + " was opened for reading only"};
}

RunInfo JsonFileJournals::info_of(const RunGlance& seen) {
  RunInfo info = seen.head.info;
  info.status = seen.stand.status;
  info.last = seen.stand.last;
  info.updated = seen.stand.updated;
  info.damaged = seen.damaged;
  const std::scoped_lock here(mutex_);
  info.owned = owned(seen.stand, seen.head.birth, seen.unseen_ms);
  return info;
}

Result<RunInfo> JsonFileJournals::run(const RunId& id) {
  TRIAGE_TRYV(usable());
  TRIAGE_TRYV(check_run_id(id));
  TRIAGE_TRY(seen, glance_at_run(runs_folder(), id));
  return outcome::success(info_of(seen));
}

Result<std::vector<RunInfo>> JsonFileJournals::runs(const RunQuery& query) {
  TRIAGE_TRYV(usable());
  TRIAGE_TRY(ids, ids_in(runs_folder()));
  std::vector<RunInfo> found;
  for (const RunId& id : ids) {
    auto info = run(id);
    if (!info && info.error().code == Errc::not_found) continue;  // Erased meanwhile.
    // Of a newer format, or a file that cannot be read: its facts are unknown, as those of a
    // damaged run. The others are as they were.
    if (!info && (info.error().code == Errc::unsupported || info.error().code == Errc::io)) {
      info = RunInfo{.id = id, .status = RunStatus::failed, .damaged = true};
    }
    if (!info) return info.error();
    if (fits(info.value(), query)) found.push_back(std::move(info).value());
  }
  return outcome::success(newest_first(std::move(found), query.limit));
}

Result<JournalReading> JsonFileJournals::read(const RunId& run, SequenceRange range) {
  TRIAGE_TRYV(usable());
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRY(seen, glance_at_run(runs_folder(), run));
  TRIAGE_TRY(scan, scan_run(runs_folder(), run));
  if ((!scan.damaged.empty() || !scan.head_intact) && !options_.read_only) {
    // A new owner may have just truncated a torn end: read again while nobody can write.
    auto locked = lock(run, true);
    if (!locked) return locked.error();
    TRIAGE_TRY(again, scan_run(runs_folder(), run));
    scan = std::move(again);
  }
  seen.stand = scan.stand;  // Consistent with the records.
  JournalReading reading{.info = info_of(seen)};
  const auto within = [&](Sequence seq) { return seq >= range.first && seq <= range.last; };
  for (Record& record : scan.records) {
    if (within(record.seq())) reading.records.push_back(std::move(record));
  }
  for (DamagedRecord& damage : scan.damaged) {
    if (within(damage.seq)) reading.damaged.push_back(std::move(damage));
  }
  return outcome::success(std::move(reading));
}

Result<std::vector<std::string>> JsonFileJournals::check() {
  TRIAGE_TRYV(usable());
  TRIAGE_TRY(ids, ids_in(runs_folder()));
  std::vector<std::string> wrong;
  for (const RunId& id : ids) {
    const auto scan = scan_run(runs_folder(), id);
    if (!scan) continue;  // Reading the run says so.
    if (scan.value().torn > 0) {
      wrong.push_back("run \"" + id + "\" ends with " + std::to_string(scan.value().torn) +
                      " bytes of an append that was cut off; the next owner removes them");
    }
    if (!scan.value().head_intact)
      wrong.push_back("the first line of run \"" + id + "\" is damaged");
  }
  TRIAGE_TRYV(name_left_over(folder_, real_clock()->wall_now(), wrong));
  TRIAGE_TRY(keys, keys_.check());
  wrong.insert(wrong.end(), keys.begin(), keys.end());
  return outcome::success(std::move(wrong));
}

Result<std::vector<std::string>> JsonFileJournals::repair() {
  TRIAGE_TRYV(writable());
  return keys_.set_damage_aside();
}

Result<std::optional<VersionedValue>> JsonFileJournals::get(std::string_view space,
                                                            std::string_view key) {
  TRIAGE_TRYV(usable());
  return keys_.get(space, key);
}
Result<std::uint64_t> JsonFileJournals::put_if(std::string_view space, std::string_view key,
                                               std::uint64_t expected, std::string_view bytes) {
  TRIAGE_TRYV(check_space(space));
  TRIAGE_TRYV(writable());
  return keys_.put_if(space, key, expected, bytes);
}
Result<void> JsonFileJournals::erase_if(std::string_view space, std::string_view key,
                                        std::uint64_t expected) {
  TRIAGE_TRYV(check_space(space));
  TRIAGE_TRYV(writable());
  return keys_.erase_if(space, key, expected);
}
Result<std::vector<std::string>> JsonFileJournals::list(std::string_view space,
                                                        std::string_view prefix) {
  TRIAGE_TRYV(usable());
  return keys_.list(space, prefix);
}

std::string JsonFileJournals::take_warning() {
  if (!usable()) return {};
  const std::scoped_lock here(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace detail

Result<std::shared_ptr<JsonFileStore>> JsonFileStore::open(const std::string& path,
                                                           const JsonFileOptions& options) {
  std::string folder = path.starts_with("file:") ? path.substr(5) : path;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  TRIAGE_TRYV(detail::check_options(folder, options));
  std::error_code failed;
  // The program may go to another folder.
  folder = std::filesystem::absolute(folder, failed).string();
  if (failed) return Error{Errc::io, "the folder of this process: " + failed.message()};
  TRIAGE_TRYV(detail::prepare(folder, options));
  return outcome::success(std::shared_ptr<JsonFileStore>(
      std::make_shared<detail::JsonFileJournals>(std::move(folder), options)));
}

}  // namespace triage::inline v0_1
